"""Says on a terminal that a command is still at work, from the first second on; nothing anywhere else."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final, TextIO

from manager.cli.conventions.terminal import screen_of
from manager.cli.display.fitting import shortened

_PATIENCE: Final = 1.0
_INTERVAL: Final = 0.2
_TURNS: Final = "|/-\\"
_ERASE: Final = "\r\x1b[K"


@contextmanager
def working(what: str, stream: TextIO | None = None) -> Iterator[None]:
    """Show what takes long during the enclosed block, with the seconds that it has taken; `what` is our own text."""
    to = stream or sys.stderr
    screen = screen_of(to)
    if screen.height is None:
        yield
        return
    is_over = threading.Event()

    def show() -> None:
        for line in frames(what, is_over.wait):
            to.write(f"{_ERASE}{shortened(line, (screen.width or 80) - 1)}" if line else _ERASE)
            to.flush()

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def frames(what: str, is_over: Callable[[float], bool]) -> Iterator[str]:
    """Yield the line to show from moment to moment, and an empty one at the end if there was any.

    `is_over` waits for so many seconds at most, and tells whether the work is done.
    """
    if is_over(_PATIENCE):
        return
    for turn in count():
        yield f"{_TURNS[turn % len(_TURNS)]} {what} ({int(_PATIENCE + turn * _INTERVAL)} s)"
        if is_over(_INTERVAL):
            break
    yield ""
