"""Standard streams as they may be found: closed, on a full disk, or unable to show a character."""

import io
import os
import sys
from typing import Any, Final

_CLOSED: Final = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}
"""How a closed stream is opened: reading standard input and writing standard output then fail, as they should."""


class OutputError(Exception):
    """Standard output cannot be written; no `OSError`, because typer would take a closed pipe for its own affair."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.strerror or type(cause).__name__)
        self.is_closed_pipe = isinstance(cause, BrokenPipeError)


class _OutputFile(io.FileIO):
    """Tells a failure of the output from one of any other file."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OutputError(error) from error


def prepare_streams() -> None:
    """Make all three streams usable.

    A closed one gets a descriptor, so that no file or socket that is opened later is taken for it. A character that a
    terminal lacks is written as an escape.
    """
    for number, flags in _CLOSED.items():
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # the lowest free descriptor, which is this one
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open as long as the process is
    sys.stderr = sys.stderr or _text(io.FileIO(2, "w", closefd=False), "utf-8", is_terminal=False)
    encoding = sys.stdout.encoding if sys.stdout is not None else "utf-8"
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    sys.stdout = _text(_OutputFile(1, "w", closefd=False), encoding, is_terminal=is_terminal)


def discard_output() -> None:
    """Let what is still to be written to standard output go nowhere, for the interpreter's last flush."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):  # the output of a test
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _text(raw: io.FileIO, encoding: str, *, is_terminal: bool) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=is_terminal
    )
