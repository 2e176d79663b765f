"""Journals for tests: looks to write, and a journal that is written and closed."""

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from gates.decision.decide import decide
from gates.model.settings import Settings
from gates.model.view import WorkloadView
from manager.journal.writer import Journal, JournalLimits
from manager.reconcile.reconciliation import Reconciliation
from tests.unit.gates.groups import NOW, group, hub, signalled, worker

LIMITS = JournalLimits(timedelta(days=7), 256 << 20)
_PATIENCE_SECONDS = 300.0


def look(
    name: str = "wl", *, now_ns: int = NOW, settings: Settings | None = None, state: WorkloadView | None = None
) -> Reconciliation:
    """Return a decision that opens a gate."""
    rules = settings or Settings()
    seen = state or group(hub(name=name), worker("w1", signalled("w1", at=now_ns)))
    return Reconciliation(seen, now_ns, rules, {}, decide(seen, now_ns, rules, {}))


_LOOK = look()


def named(name: str, state: WorkloadView | None = None) -> Reconciliation:
    """Return the same decision about another Workload, quickly."""
    seen = state or _LOOK.group
    return replace(_LOOK, group=replace(seen, workload=replace(seen.workload, name=name)))


def journal(path: Path, limits: JournalLimits = LIMITS, **more: Any) -> Journal:
    """Return a journal that begins to write."""
    made = Journal(path, limits, more.get("now_ns", lambda: NOW), more.get("monotonic", lambda: 0.0), lambda: 1.0)
    made.start()
    return made


def written(made: Journal) -> None:
    """Wait until all that a journal took is in its file or counted as dropped."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while made.waiting:
        assert time.monotonic() < deadline, f"{made.waiting} entries still wait"
        time.sleep(0.0005)


def write(path: Path, *looks: Reconciliation, limits: JournalLimits = LIMITS) -> Journal:
    """Write these decisions to a journal and close it."""
    made = journal(path, limits)
    for each in looks:
        made.note_reconciliation(each)
    written(made)  # closing waits for some seconds only
    made.close()
    return made
