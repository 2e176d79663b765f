"""Reads what happened to one Workload: from the journal, and from what the hub's object says.

Decisions are read newest first, in small pages, and of each only what is shown is kept: memory does not grow with how
much happened, and a reader can stop between two pages.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.api.meta import Obj, format_microtime
from gates.reports.timeline import Chronicle
from gates.reports.timeline_events import Recorded, TimelineEvent
from gates.wire.records import HubRecord
from manager.journal.file import JournalEntry
from manager.journal.reader import read_latest
from manager.journal.schema import JournalError
from manager.journal.writer import DECISION, JournaledDecision, JournaledRules

MOST_DECISIONS: Final = 2_000
"""How many are read for one answer."""
_IN_ONE_PIECE: Final = 50
_MOST_ENTRIES: Final = 1 << 63
"""SQLite numbers no more."""


@dataclass(frozen=True, slots=True)
class Before:
    """Where a page of a timeline begins: before an entry of the journal, in the life of one Workload."""

    entry: int
    uid: str

    @classmethod
    def parse(cls, text: str) -> "Before":
        """Read what an answer said under `continue`; raises ValueError."""
        entry, _, uid = text.partition(":")
        if not (entry.isascii() and entry.isdecimal() and len(entry) <= 19 and int(entry) < _MOST_ENTRIES):
            raise ValueError(f"continue {text[:64]!r} is not allowed: must be what an answer said")
        return cls(int(entry), uid)

    def __str__(self) -> str:
        return f"{self.entry}:{self.uid}"


def do_nothing() -> None:
    """Continue unconditionally."""


def timeline_document(
    namespace: str,
    name: str,
    hub: HubRecord | None,
    journal: Path | None,
    *,
    before: Before | None = None,
    most: int = MOST_DECISIONS,
    step: Callable[[], None] = do_nothing,
) -> Obj:
    """Return what happened to a Workload; an unusable journal is left out, and the document says so.

    At most so many decisions are read, the newest before a place; `continue` says where to go on, if anything is left.
    Whatever `step`, which is called before each page, raises ends the reading.
    """
    chronicle = Chronicle(before.uid if before is not None else hub.uid if hub is not None else "")
    rest, problem = "", "no journal is kept"
    if journal is not None:
        try:
            last = _read(chronicle, journal, f"{namespace}/{name}", before, most, step)
            rest, problem = "" if last is None else str(Before(last, chronicle.uid)), ""
        except JournalError as error:
            problem = str(error)
    return {
        "namespace": namespace,
        "name": name,
        "journalProblem": problem,
        "events": [_event(event) for event in chronicle.events(hub)],
        "continue": rest,
    }


def _read(
    chronicle: Chronicle,
    journal: Path,
    workload: str,
    before: Before | None,
    most: int,
    step: Callable[[], None],
) -> int | None:
    """Read decisions, and return the last that was read if older ones are left."""
    last, count = before.entry if before is not None else None, 0
    while True:
        step()
        wanted = min(_IN_ONE_PIECE, most - count)
        if not wanted:
            left = read_latest(journal, DECISION, JournaledDecision, JournaledRules, workload, 1, last)
            return last if left else None
        page = read_latest(journal, DECISION, JournaledDecision, JournaledRules, workload, wanted, last)
        if not page:
            return None
        for entry in page:
            chronicle.add(recorded_of(journal, entry))
        last, count = page[-1].id, count + len(page)


def recorded_of(journal: Path, entry: JournalEntry) -> Recorded:
    """Return a decision as it was recorded; raises `JournalError` if it is not whole."""
    if entry.rules is None:
        raise JournalError(f"{journal}: the journal is damaged: a decision has lost its rules")
    return Recorded(entry.at_ns, entry.body.group, entry.body.decision, entry.rules.settings)


def _event(event: TimelineEvent) -> Obj:
    return {
        "time": format_microtime(event.at_ns),
        "event": str(event.what),
        "worker": event.cluster,
        "message": event.message,
        "details": event.details,
    }
