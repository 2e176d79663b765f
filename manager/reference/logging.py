"""The tables of all log events, for the docs: `python -m manager.reference.logging docs/logging.md`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from manager.logging.events import EVENTS, LogEvent
from manager.reference.blocks import with_block

EVENTS_BEGIN: Final = "<!-- events:begin -->"
EVENTS_END: Final = "<!-- events:end -->"


def markdown_tables() -> str:
    """Return every event as markdown, with a table for each subject."""
    return "\n".join(_lines()).strip()


def with_tables(markdown: str) -> str:
    """Return a document with the tables between its markers replaced; raise ValueError if a marker is missing."""
    return with_block(markdown, EVENTS_BEGIN, EVENTS_END, markdown_tables())


def _lines() -> Iterator[str]:
    for subject, events in EVENTS.items():
        yield from ("", f"### {subject}", "", "| Event | Level | Meaning | Fields |", "|---|---|---|---|")
        yield from map(_row, events)


def _row(event: LogEvent) -> str:
    fields = ", ".join(f"`{field}`" for field in event.fields)
    return f"| `{event.name}` | {event.level} | {event.meaning} | {fields} |"


if __name__ == "__main__":
    for document in map(Path, sys.argv[1:]):
        document.write_text(with_tables(document.read_text()))
