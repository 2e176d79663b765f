"""Shows the demo as plain lines, for logs, pipes and small terminals."""

import textwrap
from collections.abc import Sequence
from typing import Final, TextIO

from manager.demo.playbill import LogLine, Playbill, Sort
from manager.demo.script import ACTS

_INDENT: Final = " " * 10
_WIDTH: Final = 79


class Lines:
    """Prints each line as it comes."""

    def __init__(self, playbill: Playbill, out: TextIO) -> None:
        self._playbill = playbill
        self._out = out
        self._printed = 0

    async def run(self) -> None:
        """Print what is new, until cancelled."""
        while True:
            self._playbill.news.clear()
            self.flush()
            await self._playbill.news.wait()

    def flush(self, *, facts_only: bool = False) -> None:
        """Print what has not been printed yet, all of it or the acts and what they came to."""
        fresh = self._playbill.lines[self._printed :]
        self._printed += len(fresh)
        shown = [line for line in fresh if not (facts_only and line.sort is Sort.SEEN)]
        self.print([text for line in shown for text in format_line(line)])

    def print(self, lines: Sequence[str]) -> None:
        """Print lines that belong to no act."""
        if lines:
            self._out.write("".join(f"{line}\n" for line in lines))
            self._out.flush()


def format_line(line: LogLine) -> list[str]:
    """Return a line as it is printed; an act gets a heading."""
    if line.act is not None:
        explanation = textwrap.wrap(line.act.explanation, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        return ["", f"ACT {line.act.number} of {len(ACTS)}  {line.act.title}", *explanation]
    mark = "=> " if line.sort is Sort.FACT else ""
    place = f"{line.cluster:<10}" if line.cluster or line.sort is Sort.SEEN else ""
    return wrapped(f"{line.seconds:7.1f}s  {place}{mark}{line.text}", _INDENT + " " * (len(place) + len(mark)))


def wrapped(text: str, indent: str) -> list[str]:
    """Break a line between words where a narrow terminal would break it within one."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
