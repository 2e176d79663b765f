"""Reads from the journal who was preempted for whom since a moment, in pieces between which the reader can stop."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.api.meta import Obj
from gates.reports.victims import VictimFilter, VictimHistory
from manager.journal.reader import scan_latest
from manager.journal.schema import JournalError
from manager.journal.timelines import do_nothing, recorded_of
from manager.journal.writer import DECISION, JournaledDecision, JournaledRules

MOST_SCANNED: Final = 5_000
"""How many decisions are looked through for one answer."""


@dataclass(frozen=True, slots=True)
class VictimQuery:
    """Which victims are wanted."""

    wanted: VictimFilter
    since_ns: int
    before_id: int | None = None
    """Where the last answer ended, as its `continue` says."""


def victims_document(
    journal: Path | None,
    query: VictimQuery,
    *,
    most: int = MOST_SCANNED,
    step: Callable[[], None] = do_nothing,
) -> Obj:
    """Return the victims of the newest decisions before a place; `continue` says where to go on, if any are left.

    Two answers may hold the same victim: the later one knows better when it was preempted. An unusable journal is said
    in the document. Whatever `step`, which is called before each piece, raises ends the reading.
    """
    if journal is None:
        return {"victims": [], "continue": "", "journalProblem": "no journal is kept: journal.path is null"}
    history, last, scanned = VictimHistory(query.wanted), query.before_id, 0
    try:
        while scanned < most:
            step()
            piece = scan_latest(
                journal,
                DECISION,
                JournaledDecision,
                JournaledRules,
                contains=VictimHistory.EVIDENCE,
                since_ns=query.since_ns,
                before_id=last,
            )
            for entry in piece.entries:
                history.add(recorded_of(journal, entry))
            last, scanned = piece.last_id, scanned + piece.scanned
            if last is None:
                break
    except JournalError as error:
        return {"victims": [], "continue": "", "journalProblem": str(error)}
    victims = [victim.document() for victim in history.victims()]
    return {"victims": victims, "continue": "" if last is None else str(last), "journalProblem": ""}
