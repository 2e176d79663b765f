"""Outcomes from units and placements, and the collection of all that may happen."""

from collections.abc import Iterable, Mapping, Sequence

from config.api.meta import ObjectKey
from engine.pods.answer import EvictedUnit, Outcome, Reason, ReasonCode, Result
from engine.pods.budgets import Violations
from engine.pods.placement_rules import Placement
from engine.pods.snapshot import Snapshot
from engine.pods.units import Unit
from engine.pods.values import PendingPod


def evicted(units: Iterable[Unit], violations: Violations) -> tuple[EvictedUnit, ...]:
    """Return the units as the answer names them."""
    return tuple(
        EvictedUnit(
            kind=unit.kind,
            key=unit.key,
            priority=unit.priority,
            pods=tuple(sorted(pod.key for pod in unit.pods)),
            is_violating=unit.identity in violations,
            terminating=tuple(sorted(pod.key for pod in unit.pods if pod.is_terminating)),
        )
        for unit in units
    )


def evicting(units: Iterable[Unit], violations: Violations, nominated: Mapping[ObjectKey, str]) -> Outcome:
    """Return the outcome of evicting these units; when all their pods are on their way out, only nominations change."""
    chosen = evicted(units, violations)
    if any(set(unit.pods) - set(unit.terminating) for unit in chosen):
        return Outcome(Result.PREEMPTING, chosen, nominated)
    reason = Reason(ReasonCode.ONGOING_PREEMPTION, "the pods that make room are terminating already")
    return Outcome(Result.WAITING if nominated else Result.UNSCHEDULABLE, chosen, nominated, reason=reason)


def nothing(reason: Reason, kept_nominations: Mapping[ObjectKey, str] | None = None) -> Outcome:
    """Return the outcome of evicting nobody; a nomination that stays means that its pod goes on waiting."""
    kept = kept_nominations or {}
    return Outcome(Result.WAITING if kept else Result.UNSCHEDULABLE, nominated=kept, reason=reason)


def places_by_pod(snapshot: Snapshot, members: Sequence[PendingPod], way: Placement) -> dict[ObjectKey, str]:
    """Return the nodes of the members that found room."""
    return {pod.key: snapshot.nodes[place].name for pod, place in zip(members, way, strict=True) if place is not None}


class Possibilities:
    """Distinct outcomes in the order in which they were found."""

    def __init__(self) -> None:
        """Start with none."""
        self._found: dict[object, Outcome] = {}
        self.is_complete = True

    def add(self, outcome: Outcome) -> None:
        """Take an outcome unless an equal one is there."""
        self._found.setdefault(outcome.identity, outcome)

    def note(self, *, is_complete: bool) -> None:
        """Remember that not everything was followed."""
        self.is_complete &= is_complete

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcomes, the likeliest first."""
        return tuple(self._found.values())
