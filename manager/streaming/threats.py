"""Forecasts turned round: which running workloads would be preempted, on which worker, and for whom."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj, ObjectKey

MOST_AT_RISK: Final = 2_000
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Threat:
    """A workload that runs on a worker and that a forecast names as a victim."""

    worker: str
    victim: Obj
    is_open: bool
    """Whether the gate is open for which it would be preempted."""

    @property
    def key(self) -> str:
        """Name the victim among those of all workers."""
        return f"{self.worker}/{self.victim['workload']}"


class Threats:
    """Knows for each victim which Workloads it would have to make room for; bounded."""

    def __init__(self) -> None:
        self._by_victim: dict[str, dict[ObjectKey, Threat]] = {}
        self._by_workload: dict[ObjectKey, set[str]] = {}

    def replace(self, workload: ObjectKey, threats: Iterable[Threat]) -> set[str]:
        """Take all victims of a Workload in place of those before; returns the victims whose row may have changed."""
        before = self._by_workload.pop(workload, set())
        for key in before:
            of_victim = self._by_victim[key]
            del of_victim[workload]
            if not of_victim:
                del self._by_victim[key]
        after = {threat.key: threat for threat in threats}
        kept = {key for key in after if key in self._by_victim or len(self._by_victim) + len(after) <= MOST_AT_RISK}
        for key in kept:
            self._by_victim.setdefault(key, {})[workload] = after[key]
        if kept:
            self._by_workload[workload] = kept
        return before | kept

    def row(self, key: str) -> Obj | None:
        """Return what is shown of a victim; None if no forecast names it any more."""
        of_victim = self._by_victim.get(key)
        if not of_victim:
            return None
        first = sorted(of_victim.items(), key=lambda item: (not item[1].is_open, item[0]))
        return {
            "worker": first[0][1].worker,
            **first[0][1].victim,
            "open": first[0][1].is_open,
            "for": [str(workload) for workload, _ in first[:_MOST_NAMED]],
            "more": max(0, len(first) - _MOST_NAMED),
        }
