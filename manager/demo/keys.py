"""Keys on a terminal: each is passed on as it is pressed, and the terminal is given back as it was."""

import asyncio
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

_CHUNK = 64


@contextmanager
def keys_read(actions: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """Call the action of each key during the enclosed block; keys without one are ignored, Ctrl-C stays a signal."""
    if not sys.stdin.isatty():
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            pressed = os.read(descriptor, _CHUNK)
        except OSError:
            pressed = b""
        if not pressed:  # the terminal is gone
            loop.remove_reader(descriptor)
        for key in pressed.decode(errors="replace").lower():
            if key in actions:
                actions[key]()

    def take_over() -> None:
        tty.setcbreak(descriptor, termios.TCSANOW)

    take_over()
    loop.add_reader(descriptor, read)
    loop.add_signal_handler(signal.SIGCONT, take_over)  # a shell sets its own mode while the demo is stopped
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        loop.remove_signal_handler(signal.SIGCONT)
        termios.tcsetattr(descriptor, termios.TCSANOW, before)
