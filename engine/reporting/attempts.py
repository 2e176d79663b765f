"""What was tried for each pod set of a workload, flavor by flavor: the text of an event, and the reason of a refusal.

Kueue keeps this record beside an assignment. It is made only for those that need it: an admission that did not take the
first flavor within its own quota, and a refusal while the gate UnadmittedWorkloadsObservability is on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.specs import ClusterQueueSpec
from engine.reporting.status import UnadmittedReason
from engine.search.flavor_grading import Grade, Possibility, is_preferred
from engine.search.nomination import NominationSearch
from engine.versions.switches import Switches
from engine.vocabulary.assignment import Assignment, AssignmentMode
from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import exceeds_capacity, exceeds_unused_quota

_SEVERITY: Final = {
    None: 0,
    UnadmittedReason.TOPOLOGY_PLACEMENT_FAILED: 1,
    UnadmittedReason.WAITING_FOR_QUOTA: 2,
    UnadmittedReason.EXCEEDS_MAX_QUOTA: 3,
    UnadmittedReason.NO_MATCHING_FLAVOR: 4,
}
_POSSIBILITY_NAME: Final = {
    Possibility.NO_CANDIDATES: "NoCandidates",
    Possibility.PREEMPT: "Preempt",
    Possibility.RECLAIM: "Reclaim",
}


@dataclass(slots=True)
class FlavorAttempt:
    """How one flavor served one pod set, at worst over its resources."""

    flavor: str
    grade: Grade = field(default_factory=lambda: Grade(Possibility.FIT, 0))
    borrow_level: int = 0
    reasons: set[str] = field(default_factory=set)
    cause: UnadmittedReason | None = None

    @property
    def is_worth_telling(self) -> bool:
        """Return whether the flavor was not simply taken."""
        return self.grade.possibility is not Possibility.FIT or self.borrow_level > 0

    def __str__(self) -> str:
        """Write the attempt as Kueue's events do."""
        possibility = self.grade.possibility
        name = _POSSIBILITY_NAME.get(possibility)
        parts = [str(possibility.mode) if name is None else f"preemptionMode={name}"]
        if self.borrow_level > 0:
            parts.append(f"borrow={self.borrow_level}")
        return f"{self.flavor}({';'.join((*parts, *sorted(self.reasons)))})"


class AttemptRecorder:
    """Notes what flavor assignment tries, by pod set."""

    def __init__(self, queue: ClusterQueue, spec: ClusterQueueSpec, switches: Switches) -> None:
        self._queue = queue
        self._spec = spec
        self._switches = switches
        self.by_pod_set: dict[str, dict[str, FlavorAttempt]] = {}

    def unsuitable(self, pod_sets: Sequence[str], flavor: str, reason: str) -> None:
        """Take note of a flavor that does not suit the pods."""
        for attempt in self._attempts(pod_sets, flavor):
            attempt.grade = Grade(Possibility.NO_FIT, 0)
            attempt.reasons.add(reason)
            attempt.cause = UnadmittedReason.NO_MATCHING_FLAVOR

    def considered(
        self, pod_sets: Sequence[str], fr: FlavorResource, assumed: int, requested: int, grade: Grade
    ) -> None:
        """Take note of how one resource of a flavor was graded."""
        cell = self._queue.cell(fr)
        needed = assumed + requested
        reason, cause = None, None
        if needed > cell.potential:
            capacity = cell.potential
            reason = exceeds_capacity(fr.resource, fr.flavor, assumed=assumed, request=requested, capacity=capacity)
            cause = UnadmittedReason.EXCEEDS_MAX_QUOTA
        elif grade.possibility is not Possibility.FIT:
            reason = exceeds_unused_quota(fr.resource, fr.flavor, needed - max(0, cell.available()))
            cause = UnadmittedReason.WAITING_FOR_QUOTA if grade.possibility is Possibility.NO_FIT else None
        for attempt in self._attempts(pod_sets, fr.flavor):
            if is_preferred(attempt.grade, grade, self._spec.fungibility.preference, self._switches):
                attempt.grade = grade
            attempt.borrow_level = max(attempt.borrow_level, grade.borrow_level)
            attempt.cause = _more_severe(attempt.cause, cause)
            if reason is not None:
                attempt.reasons.add(reason)

    def _attempts(self, pod_sets: Sequence[str], flavor: str) -> list[FlavorAttempt]:
        return [self.by_pod_set.setdefault(name, {}).setdefault(flavor, FlavorAttempt(flavor)) for name in pod_sets]


def considered_flavors(nomination: NominationSearch, assignment: Assignment) -> str:
    """Return the part of the reservation's event that lists what else was tried; empty if there is nothing."""
    if assignment.borrowing == 0 and _takes_first_flavors(assignment, nomination.spec):
        return ""
    recorder = AttemptRecorder(nomination.queue, nomination.spec, nomination.model.configuration.profile.switches)
    nomination.retrace(assignment, recorder)
    tried = []
    for pod_set in assignment.pod_sets:
        attempts = recorder.by_pod_set.get(pod_set.name, {})
        worth_telling = [str(attempts[flavor]) for flavor in sorted(attempts) if attempts[flavor].is_worth_telling]
        if worth_telling:
            tried.append(f"{pod_set.name}: {', '.join(worth_telling)}")
    return " | ".join(tried)


def no_fit_reason(nomination: NominationSearch, assignment: Assignment) -> UnadmittedReason | None:
    """Return why nothing fits: the least severe cause among alternatives, the most severe among what is needed."""
    recorder = AttemptRecorder(nomination.queue, nomination.spec, nomination.model.configuration.profile.switches)
    nomination.retrace(assignment, recorder)
    overall: UnadmittedReason | None = None
    for pod_set in assignment.pod_sets:
        if pod_set.mode is not AssignmentMode.NO_FIT:
            continue
        attempts = recorder.by_pod_set.get(pod_set.name, {})
        cause = _cause_of(attempts, nomination.spec) if attempts else UnadmittedReason.NO_MATCHING_FLAVOR
        overall = _more_severe(overall, cause)
    return overall


def _cause_of(attempts: dict[str, FlavorAttempt], spec: ClusterQueueSpec) -> UnadmittedReason | None:
    worst: UnadmittedReason | None = None
    for group in spec.resource_groups:
        causes = [
            attempts[flavor].cause
            for flavor in group.flavors
            if flavor in attempts and attempts[flavor].grade.possibility is Possibility.NO_FIT
        ]
        if causes:
            worst = _more_severe(worst, min(causes, key=_SEVERITY.__getitem__))
    return worst


def _takes_first_flavors(assignment: Assignment, spec: ClusterQueueSpec) -> bool:
    first = {group.flavors[0] for group in spec.resource_groups if group.flavors}
    return all(choice.flavor in first for pod_set in assignment.pod_sets for choice in pod_set.flavors.values())


def _more_severe(a: UnadmittedReason | None, b: UnadmittedReason | None) -> UnadmittedReason | None:
    return a if _SEVERITY[a] >= _SEVERITY[b] else b
