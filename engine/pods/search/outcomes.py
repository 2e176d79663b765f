"""Outcomes from units and placements, and the collection of all that may happen."""

from collections.abc import Iterable, Mapping, Sequence

from config.api.meta import ObjectKey
from engine.pods.search.budgets import Violations
from engine.pods.search.placement_rules import Placement
from engine.pods.search.units import Unit
from engine.pods.state.snapshot import NodeSnapshot
from engine.pods.values.answer import EvictedUnit, PodCycleOutcome, PodCycleResult, Reason, ReasonCode
from engine.pods.values.values import PendingPod


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


def evicting(units: Iterable[Unit], violations: Violations, nominated: Mapping[ObjectKey, str]) -> PodCycleOutcome:
    """Return the outcome of evicting these units; when all their pods are on their way out, only nominations change."""
    chosen = evicted(units, violations)
    if any(set(unit.pods) - set(unit.terminating) for unit in chosen):
        return PodCycleOutcome(PodCycleResult.PREEMPTING, chosen, nominated)
    reason = Reason(ReasonCode.ONGOING_PREEMPTION, "the pods that make room are terminating already")
    return PodCycleOutcome(
        PodCycleResult.WAITING if nominated else PodCycleResult.UNSCHEDULABLE, chosen, nominated, reason=reason
    )


def nothing(reason: Reason, kept_nominations: Mapping[ObjectKey, str] | None = None) -> PodCycleOutcome:
    """Return the outcome of evicting nothing; a nomination that stays means that its pod goes on waiting."""
    kept = kept_nominations or {}
    return PodCycleOutcome(
        PodCycleResult.WAITING if kept else PodCycleResult.UNSCHEDULABLE, nominated=kept, reason=reason
    )


def places_by_pod(snapshot: NodeSnapshot, members: Sequence[PendingPod], way: Placement) -> dict[ObjectKey, str]:
    """Return the nodes of the members that found room."""
    return {pod.key: snapshot.nodes[place].name for pod, place in zip(members, way, strict=True) if place is not None}


class Possibilities:
    """Distinct outcomes in the order in which they were found."""

    def __init__(self) -> None:
        """Start with none."""
        self._found: dict[object, PodCycleOutcome] = {}
        self.is_complete = True

    def add(self, outcome: PodCycleOutcome) -> None:
        """Take an outcome unless an equal one is there."""
        self._found.setdefault(outcome.identity, outcome)

    def note(self, *, is_complete: bool) -> None:
        """Remember that not everything was followed."""
        self.is_complete &= is_complete

    @property
    def outcomes(self) -> tuple[PodCycleOutcome, ...]:
        """Return the outcomes, the likeliest first."""
        return tuple(self._found.values())
