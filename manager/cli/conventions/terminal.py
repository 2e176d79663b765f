"""What reaches a terminal: no foreign control characters; colours and cut lines only on terminals."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TextIO

_RESET: Final = "\x1b[0m"


class Tone(StrEnum):
    """What a colour says; the value is how ANSI terminals select it."""

    GOOD = "\x1b[32m"
    DOUBTFUL = "\x1b[33m"
    BAD = "\x1b[31m"
    STRONG = "\x1b[1m"


@dataclass(frozen=True, slots=True)
class TerminalScreen:
    """Where the output goes."""

    is_terminal: bool = False
    has_colours: bool = False
    width: int | None = None
    """Into which lines have to fit; None limits nothing."""
    height: int | None = None
    """How many lines can be drawn again in place; None where the cursor cannot be moved."""

    def paint(self, text: str, tone: Tone | None) -> str:
        """Colour a text, where there are colours."""
        return f"{tone}{text}{_RESET}" if tone is not None and self.has_colours and text else text


def screen_of(stream: TextIO | None = None, environment: Mapping[str, str] | None = None) -> TerminalScreen:
    """Describe a stream, standard output if none is given."""
    variables = os.environ if environment is None else environment
    if not (stream or sys.stdout).isatty():
        return TerminalScreen()
    is_dumb = variables.get("TERM") == "dumb"
    has_colours = not variables.get("NO_COLOR") and not is_dumb
    size = shutil.get_terminal_size()
    return TerminalScreen(
        is_terminal=True, has_colours=has_colours, width=size.columns, height=None if is_dumb else size.lines
    )
