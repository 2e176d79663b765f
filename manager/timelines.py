"""Reads what happened to one Workload: from the journal, and from what the hub's object says."""

from pathlib import Path
from typing import Any

from config.api.meta import format_microtime
from gates.records import HubRecord
from gates.timeline import Event, Recorded, timeline
from manager.journal import DECISION, JournaledDecision, JournaledRules
from manager.journal_file import JournalError, read_entries

Obj = dict[str, Any]


def recorded_decisions(journal: Path, workload: str) -> list[Recorded]:
    """Return the decisions about a Workload, oldest first; raises `JournalError`."""
    return [
        Recorded(entry.at_ns, entry.body.group, entry.body.decision, _settings_of(journal, entry.rules))
        for entry in read_entries(journal, DECISION, JournaledDecision, JournaledRules, workload)
    ]


def timeline_document(namespace: str, name: str, hub: HubRecord | None, journal: Path | None) -> Obj:
    """Return what happened to a Workload; a journal of no use costs its part, and the document says so."""
    decisions, problem = [], "no journal is kept"
    if journal is not None:
        try:
            decisions, problem = recorded_decisions(journal, f"{namespace}/{name}"), ""
        except JournalError as error:
            problem = str(error)
    events = [_event(event) for event in timeline(hub, decisions)]
    return {"namespace": namespace, "name": name, "journalProblem": problem, "events": events}


def _settings_of(journal: Path, rules: JournaledRules | None) -> Any:
    if rules is None:
        raise JournalError(f"{journal}: the journal is damaged: a decision has lost its rules")
    return rules.settings


def _event(event: Event) -> Obj:
    return {
        "time": format_microtime(event.at_ns),
        "event": str(event.what),
        "worker": event.cluster,
        "message": event.message,
    }
