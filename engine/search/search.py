"""What both target searches share: the question, the simulated removal of workloads, and filling back.

A search changes usage in place and leaves no trace: everything it touched is put back when it ends, whatever the
outcome.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from engine.cluster.candidates import EligibilityRule, Eligible, ExpiryRule
from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.configuration import KueueConfiguration
from engine.objects.specs import PreemptionPolicy
from engine.objects.usage import Usage
from engine.objects.workloads import AdmittedWorkload
from engine.quota.quota_tree import QuotaCell, UsageChanges
from engine.vocabulary.decision import Victim
from engine.vocabulary.effort import Effort
from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import PreemptionReason

_SAFE_SUM: Final = 2**61
"""Below this, amounts add up without saturating, so that removing one by one equals removing the sum."""
_LISTED_IN_A_STEP: Final = 16
"""How many workloads are examined in the time that it takes to try one."""


class PreemptionTarget(NamedTuple):
    """A workload to preempt."""

    workload: AdmittedWorkload
    queue: ClusterQueue
    reason: PreemptionReason

    def as_victim(self) -> Victim:
        """Return the target as predictions name it."""
        return Victim(self.workload.key, self.queue.name, self.reason, self.workload.preemption_cost)


class PlacementTest(Protocol):
    """Says whether the pods find a place on nodes while workloads come and go."""

    def remove(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a workload is gone."""
        ...

    def put_back(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a removed workload is back."""
        ...

    def fits(self) -> bool:
        """Return whether the pods find a place now."""
        ...

    def undo(self) -> None:
        """Put back everything that was removed."""
        ...


Choose = Callable[[int], int]
"""Picks one of several ways to go on that Kueue leaves to chance; returns its index."""


@dataclass(frozen=True, slots=True)
class Preemptor:
    """Who needs room, on which terms."""

    queue: ClusterQueue
    priority: int
    queue_time_ns: int
    now_ns: int
    configuration: KueueConfiguration
    choose: Choose
    effort: Effort = field(default_factory=Effort)
    placement: PlacementTest | None = None

    def rule(self, policy: PreemptionPolicy, *, in_own_queue: bool) -> EligibilityRule:
        """Return which candidates a policy lets this workload take."""
        gates = self.configuration.gates
        min_admit_ns = self.queue.existing_spec.min_admit_duration_ns
        expiry = None
        if (
            in_own_queue
            and gates.time_based_same_priority_preemption
            and policy is PreemptionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY
            and min_admit_ns is not None
        ):
            expiry = ExpiryRule(self.now_ns, min_admit_ns)
        return EligibilityRule(
            policy=policy,
            priority=self.priority,
            queue_time_ns=self.queue_time_ns,
            needs_buffer=gates.scheduler_timestamp_preemption_buffer,
            is_ordered_by_priority=not gates.preemption_cost,
            expiry=expiry,
        )


class TargetSearch:
    """One search for workloads whose preemption makes room for `usage`."""

    def __init__(self, preemptor: Preemptor, frs_need: frozenset[FlavorResource], usage: Usage) -> None:
        self.preemptor: Final = preemptor
        self.queue: Final = preemptor.queue
        self.frs_need: Final = frs_need
        self.usage: Final = usage
        self.changes: Final = UsageChanges()
        self.placement: Final = preemptor.placement
        self._needs: Final = tuple((self.queue.cell(fr), amount) for fr, amount in usage)
        self.steps: Final = len(usage) * max(1, len(self.queue.ancestors()))
        """What it takes to try one candidate."""
        self.spend: Final = preemptor.effort.spend
        self._wraps: Final = preemptor.configuration.profile.switches.wraps_large_amounts
        self.preemption: Final = self.queue.existing_spec.preemption
        self.own_rule: Final = preemptor.rule(self.preemption.within_cluster_queue, in_own_queue=True)
        self.reclaim_rule: Final = preemptor.rule(self.preemption.reclaim_within_cohort, in_own_queue=False)

    def own_candidates(self) -> Eligible | None:
        """Return the eligible workloads of the preemptor's own ClusterQueue."""
        if self.preemption.within_cluster_queue is PreemptionPolicy.NEVER:
            return None
        return self.eligible(self.own_rule, self.queue) or None

    def eligible(self, rule: EligibilityRule, queue: ClusterQueue) -> Eligible:
        """Return the workloads of a ClusterQueue that a rule lets the preemptor take."""
        self.spend(1 + queue.candidates.count // _LISTED_IN_A_STEP)
        return rule.select(queue.candidates.using(self.frs_need))

    def own_reason(self, workload: AdmittedWorkload) -> PreemptionReason:
        """Return why a workload of the own ClusterQueue is preempted."""
        if self.own_rule.is_taken_for_time(workload):
            return PreemptionReason.IN_CLUSTER_QUEUE_TIME_BASED
        return PreemptionReason.IN_CLUSTER_QUEUE

    def remove(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a workload is gone, with its quota and its places on nodes."""
        self.release_quota(workload, queue)
        if self.placement is not None:
            self.placement.remove(workload, queue)

    def put_back(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a removed workload is back."""
        self.take_quota(workload, queue)
        if self.placement is not None:
            self.placement.put_back(workload, queue)

    def undo(self) -> None:
        """Leave everything as it was found."""
        self.changes.undo()
        if self.placement is not None:
            self.placement.undo()

    def release_quota(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that the quota of a workload is free."""
        cells, remove = queue.cells, self.changes.remove
        for fr, amount in workload.usage:
            remove(cells[fr], amount)

    def take_quota(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that the quota of a workload is taken again."""
        cells, add = queue.cells, self.changes.add
        for fr, amount in workload.usage:
            add(cells[fr], amount)

    def fits(self, *, allow_borrowing: bool) -> bool:
        """Return whether there is room now, in the quota and on nodes."""
        return self.fits_quota(allow_borrowing=allow_borrowing) and (self.placement is None or self.placement.fits())

    def fits_quota(self, *, allow_borrowing: bool) -> bool:
        """Return whether the quota has room now."""
        for cell, amount in self._needs:
            if not allow_borrowing and cell.borrows_with(amount):
                return False
            if amount > max(0, cell.available()):
                return False
        return True

    def could_fit(self, sources: Iterable[tuple[ClusterQueue, Eligible]], *, allow_borrowing: bool) -> bool:
        """Return whether removing all of these would make room; if not, no order of removing some of them will."""
        attempt = UsageChanges()
        for queue, eligible in sources:
            cells = queue.cells
            for fr, _ in self.usage:
                total = eligible.usage_of(fr)
                if total == 0:
                    continue
                cell = cells[fr]
                if total > _SAFE_SUM or cell.usage > _SAFE_SUM or not self._counts_plainly(cell):
                    attempt.undo()
                    return True
                attempt.remove(cell, total)
        fits = self.fits_quota(allow_borrowing=allow_borrowing)
        attempt.undo()
        return fits

    def _counts_plainly(self, cell: QuotaCell) -> bool:
        """Return whether less usage always means more room; not so where sums wrap around."""
        return not self._wraps or all(each.is_ordinary for each in cell.lineage)

    def fill_back(self, targets: list[PreemptionTarget], *, allow_borrowing: bool) -> list[PreemptionTarget]:
        """Give back, latest first, every target that is not needed after all; the last one always is."""
        for index in range(len(targets) - 2, -1, -1):
            target = targets[index]
            self.spend(self.steps)
            self.put_back(target.workload, target.queue)
            if self.fits(allow_borrowing=allow_borrowing):
                targets[index] = targets[-1]
                targets.pop()
            else:
                self.remove(target.workload, target.queue)
        return targets
