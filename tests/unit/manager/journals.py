"""Journals for tests: looks to write, and a journal that is written and closed."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from gates.decide import decide
from gates.settings import Settings
from gates.view import Group
from manager.journal import Journal, JournalLimits
from manager.reconciler import Look
from tests.unit.gates.groups import NOW, group, hub, signalled, worker

LIMITS = JournalLimits(timedelta(days=7), 256 << 20)


def look(name: str = "wl", *, now_ns: int = NOW, settings: Settings | None = None, state: Group | None = None) -> Look:
    """Return a decision that opens a gate."""
    rules = settings or Settings()
    seen = state or group(hub(name=name), worker("w1", signalled("w1", at=now_ns)))
    return Look(seen, now_ns, rules, {}, decide(seen, now_ns, rules, {}))


def journal(path: Path, limits: JournalLimits = LIMITS, **more: Any) -> Journal:
    """Return a journal that begins to write."""
    made = Journal(path, limits, more.get("now_ns", lambda: NOW), more.get("monotonic", lambda: 0.0))
    made.start()
    return made


def write(path: Path, *looks: Look, limits: JournalLimits = LIMITS) -> Journal:
    """Write these decisions to a journal and close it."""
    made = journal(path, limits)
    for each in looks:
        made.note_look(each)
    made.close()
    return made
