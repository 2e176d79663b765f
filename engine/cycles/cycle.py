"""One scheduling cycle of one tree of cohorts: nominate every head on the state at its start, then process in order.

What is processed uses up room and victims for those that come later. The model is changed while the cycle is thought
through and put back exactly: a cycle only says what should be done. Trees that share nodes are handed in together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from config.api.meta import ObjectKey
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.cycles.cycle_order import classical_order, tournament_order
from engine.cycles.outcomes import Outcomes, explore
from engine.cycles.pending_queue import RequeueReason
from engine.cycles.verdicts import Head, HeadVerdict
from engine.objects.specs import PreemptionPolicy
from engine.objects.workloads import PendingWorkload
from engine.quota.quota_tree import UsageChanges
from engine.reporting.attempts import considered_flavors, no_fit_reason
from engine.reporting.status import UnadmittedReason
from engine.search.gating import has_closed_gate
from engine.search.nomination import MAX_TIES_FOLLOWED, NominationSearch, TargetTies, explore_targets, fits_after
from engine.search.scan_memory import ScanRecord
from engine.search.search import PreemptionTarget
from engine.search.simulated_leaves import ReleasedLeaves, TakenLeaves
from engine.search.ties import Choices
from engine.search.topology_step import topology_step
from engine.vocabulary.assignment import Assignment, AssignmentMode
from engine.vocabulary.decision import Outcome
from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import (
    FITS_AFTER_PREEMPTIONS,
    NO_LONGER_FITS,
    OVERLAPPING_TARGETS,
    PREEMPTION_GATED,
    with_pending_preemption,
)
from engine.vocabulary.topology import FitCheck

_SAMPLED_ORDERS: Final = 8
"""Where there are too many orders to follow all, so many are."""


@dataclass(slots=True, eq=False)
class _Nominee:
    """A head with the assignment that it was nominated for."""

    head: Head
    assignment: Assignment
    targets: Sequence[PreemptionTarget]
    memory: ScanRecord | None
    cause: UnadmittedReason | None = None
    considered: str = ""
    is_inert: bool = False
    """It neither influences the others nor depends on them."""
    waits_for_others: bool = False
    """It fits, but only once the victims of others are gone."""

    @property
    def workload(self) -> PendingWorkload:
        """The workload."""
        return self.head.entry.workload

    @property
    def queue(self) -> ClusterQueue:
        """Its ClusterQueue."""
        return self.head.entry.queue

    def verdict(
        self,
        outcome: Outcome,
        message: str | None = None,
        *,
        requeue: RequeueReason = RequeueReason.GENERIC,
        cause: UnadmittedReason | None = None,
        forget_scan: bool = False,
    ) -> HeadVerdict:
        """Return what was decided."""
        return HeadVerdict(
            head=self.head,
            outcome=outcome,
            message=self.assignment.message if message is None else message,
            requeue=requeue,
            cause=cause,
            assignment=self.assignment,
            targets=tuple(sorted(self.targets, key=lambda target: target.workload.key)),
            memory=None if forget_scan else self.memory,
            considered=self.considered if outcome is Outcome.ADMIT else "",
        )


@dataclass(slots=True)
class TreeCycle:
    """A cycle of the heads of one tree."""

    model: ClusterModel
    heads: Sequence[Head]
    number: int
    now_ns: int
    choices: Choices
    ties: Mapping[ObjectKey, TargetTies]
    """Of each head, what its searches could answer at the start of the cycle."""
    _changes: UsageChanges = field(default_factory=UsageChanges)
    _preempted: dict[ObjectKey, PreemptionTarget] = field(default_factory=dict)
    _leaves: TakenLeaves = field(init=False)

    def __post_init__(self) -> None:
        """Start with nothing taken."""
        self._leaves = TakenLeaves(self.model)

    def nominate(self) -> list[_Nominee]:
        """Return the heads with their assignments, all on the state at the start of the cycle."""
        return [self._nominate(head) for head in self.heads]

    def process(self, nominees: Sequence[_Nominee]) -> tuple[HeadVerdict, ...]:
        """Return what is decided about each head, sorted by key."""
        configuration = self.model.configuration
        order = classical_order if configuration.fair_sharing is None else tournament_order
        try:
            processed = enumerate(order(nominees, configuration.gates, self.choices))
            verdicts = [replace(self._process(nominee), position=position) for position, nominee in processed]
        finally:
            self._changes.undo()
            self._leaves.undo()
        return tuple(sorted(verdicts, key=lambda verdict: verdict.head.key))

    def _nominate(self, head: Head) -> _Nominee:
        memory = head.item.memory
        generation = head.entry.queue.generation
        gates = self.model.configuration.gates
        if memory is not None and memory.is_outdated(generation, self.number, head.item.shape, gates):
            memory = None
        nomination = self._nomination(head)
        nomination.ties = self.ties[head.key]
        nomination.memory = () if memory is None else memory.tried
        assignment, targets = nomination.run()
        nominee = _Nominee(head, assignment, targets, self._record(head, assignment))
        if assignment.mode is AssignmentMode.FIT:
            nominee.considered = considered_flavors(nomination, assignment)
        elif assignment.mode is AssignmentMode.NO_FIT and gates.unadmitted_workloads_observability:
            nominee.cause = no_fit_reason(nomination, assignment)
        nominee.is_inert = self._is_inert(nominee)
        return nominee

    def _is_inert(self, nominee: _Nominee) -> bool:
        gates = self.model.configuration.gates
        mode = nominee.assignment.mode
        if mode is not AssignmentMode.PREEMPT:
            return mode is AssignmentMode.NO_FIT
        if any(pod_set.topology is not None for pod_set in nominee.assignment.pod_sets):
            return False  # what others take of its nodes changes at least what is said
        if not nominee.targets:
            return nominee.head.entry.spec.preemption.reclaim_within_cohort is PreemptionPolicy.ANY
        is_final = not gates.recompute_assignment_upon_preemption_targets_overlap
        return is_final and has_closed_gate(nominee.workload.raw, self.model.configuration)

    def _nomination(self, head: Head) -> NominationSearch:
        entry = head.entry
        return NominationSearch(
            self.model, entry.workload, entry.queue, entry.spec, entry.demands, self.now_ns, choices=self.choices
        )

    def _record(self, head: Head, assignment: Assignment) -> ScanRecord:
        return ScanRecord(assignment.scan_memory, head.entry.queue.generation, self.number, head.item.shape)

    def _process(self, nominee: _Nominee) -> HeadVerdict:
        if self._overlaps(nominee):
            self._nominate_again(nominee)
        gates = self.model.configuration.gates
        fits = FitCheck.OK if nominee.assignment.mode is AssignmentMode.NO_FIT else self._fits(nominee)
        if fits is FitCheck.NO_TOPOLOGY and gates.tas_recompute_assignment_within_scheduling_cycle:
            self._run_pinned(nominee)
            fits = self._fits(nominee)
        mode = nominee.assignment.mode
        if mode is AssignmentMode.NO_FIT:
            return nominee.verdict(Outcome.NO_FIT, requeue=RequeueReason.NO_FIT, cause=nominee.cause)
        if mode is AssignmentMode.PREEMPT:
            if not nominee.targets:
                return self._without_candidates(nominee)
            if has_closed_gate(nominee.workload.raw, self.model.configuration):
                return nominee.verdict(
                    Outcome.GATED,
                    PREEMPTION_GATED,
                    requeue=RequeueReason.PREEMPTION_GATED,
                    cause=UnadmittedReason.ADMISSION_GATED,
                    forget_scan=True,
                )
        if nominee.waits_for_others:
            self._use(nominee, nominee.assignment.usage)
            return self._pending(nominee, Outcome.SKIPPED, FITS_AFTER_PREEMPTIONS)
        if self._overlaps(nominee, ignoring_gate=True):
            return self._skip(nominee, OVERLAPPING_TARGETS)
        if fits is not FitCheck.OK:
            return self._skip(nominee, NO_LONGER_FITS)
        self._preempted.update((target.workload.key, target) for target in nominee.targets)
        self._use(nominee, nominee.assignment.usage)
        if mode is AssignmentMode.PREEMPT:
            message = with_pending_preemption(nominee.assignment.message, len(nominee.targets))
            return self._pending(nominee, Outcome.PREEMPT, message)
        return nominee.verdict(Outcome.ADMIT)

    def _overlaps(self, nominee: _Nominee, *, ignoring_gate: bool = False) -> bool:
        gates = self.model.configuration.gates
        if not ignoring_gate and not gates.recompute_assignment_upon_preemption_targets_overlap:
            return False
        return any(target.workload.key in self._preempted for target in nominee.targets)

    def _nominate_again(self, nominee: _Nominee) -> None:
        """Try the nominated flavors again as if everything preempted so far were gone."""
        gone = list(self._preempted.values())
        for target in gone:
            target.queue.remove_workload(target.workload)
        leaves = ReleasedLeaves(self.model)
        for target in gone:
            leaves.remove(target.workload, target.queue)
        try:
            self._run_pinned(nominee)
        finally:
            leaves.undo()
            for target in gone:
                target.queue.add_workload(target.workload)
        nominee.waits_for_others = nominee.assignment.mode is AssignmentMode.FIT

    def _run_pinned(self, nominee: _Nominee) -> None:
        """Nominate again on what the cycle has left, with the flavors that were nominated first and no others."""
        nomination = self._nomination(nominee.head)
        nomination.pinned = {
            pod_set.name: {resource: choice.flavor for resource, choice in pod_set.flavors.items()}
            for pod_set in nominee.assignment.pod_sets
        }
        nominee.assignment, nominee.targets = nomination.run()
        nominee.memory = self._record(nominee.head, nominee.assignment)
        observes = self.model.configuration.gates.unadmitted_workloads_observability
        if nominee.assignment.mode is AssignmentMode.FIT:
            nominee.considered = considered_flavors(nomination, nominee.assignment)
        elif nominee.assignment.mode is AssignmentMode.NO_FIT and observes:
            nominee.cause = no_fit_reason(nomination, nominee.assignment)

    def _without_candidates(self, nominee: _Nominee) -> HeadVerdict:
        """Preempting is not possible now: keep what is free for the workload, unless it can always be reclaimed."""
        if nominee.head.entry.spec.preemption.reclaim_within_cohort is not PreemptionPolicy.ANY:
            self._use(nominee, _to_reserve(nominee))
        return nominee.verdict(
            Outcome.PREEMPT_NO_CANDIDATES,
            requeue=RequeueReason.PREEMPTION_NO_CANDIDATES,
            cause=UnadmittedReason.WAITING_FOR_QUOTA,
        )

    def _pending(self, nominee: _Nominee, outcome: Outcome, message: str) -> HeadVerdict:
        return nominee.verdict(
            outcome,
            message,
            requeue=RequeueReason.PENDING_PREEMPTION,
            cause=UnadmittedReason.WAITING_FOR_PREEMPTED_WORKLOADS,
            forget_scan=True,
        )

    def _skip(self, nominee: _Nominee, message: str) -> HeadVerdict:
        keeps_scan = self.model.configuration.gates.flavor_fungibility_preserve_scan_progress
        return nominee.verdict(
            Outcome.SKIPPED,
            message,
            requeue=RequeueReason.FAILED_AFTER_NOMINATION,
            cause=UnadmittedReason.WAITING_FOR_QUOTA,
            forget_scan=not keeps_scan,
        )

    def _fits(self, nominee: _Nominee) -> FitCheck:
        gone = list({**self._preempted, **{target.workload.key: target for target in nominee.targets}}.values())
        if not fits_after(gone, nominee.queue, nominee.assignment.usage):
            return FitCheck.NO_QUOTA
        topology = topology_step(self.model, nominee.head.entry)
        if topology is None or topology.fits(nominee.assignment, gone):
            return FitCheck.OK
        return FitCheck.NO_TOPOLOGY

    def _use(self, nominee: _Nominee, usage: Mapping[FlavorResource, int]) -> None:
        """Take quota, and all the room on nodes that the assignment names."""
        for fr, amount in usage.items():
            self._changes.add(nominee.queue.cell(fr), amount)
        self._leaves.take(nominee.head.entry, nominee.assignment)


def tree_outcomes(
    model: ClusterModel, heads: Sequence[Head], number: int, now_ns: int, limit: int
) -> Outcomes[tuple[HeadVerdict, ...]]:
    """Return everything that one cycle may decide about the heads of one tree."""
    first = Choices()
    ties = {head.key: explore_targets(MAX_TIES_FOLLOWED) for head in heads}
    nominees = TreeCycle(model, heads, number, now_ns, first, ties).nominate()

    def attempt(choices: Choices) -> tuple[HeadVerdict, ...]:
        cycle = TreeCycle(model, heads, number, now_ns, choices, ties)
        # Only where nominating met a tie itself is it repeated: it is what costs.
        return cycle.process(cycle.nominate() if first.taken else [replace(nominee) for nominee in nominees])

    outcomes = explore(attempt, limit, sample=_SAMPLED_ORDERS)
    return outcomes if all(each.is_exhaustive for each in ties.values()) else replace(outcomes, is_exhaustive=False)


def _to_reserve(nominee: _Nominee) -> dict[FlavorResource, int]:
    """Return what is kept for a workload that cannot preempt; where too much is used already, it is negative."""
    reserved: dict[FlavorResource, int] = {}
    for fr, usage in nominee.assignment.usage.items():
        cell = nominee.queue.cell(fr)
        if nominee.assignment.borrowing == 0:
            reserved[fr] = max(0, min(usage, cell.sub(cell.nominal, cell.usage)))
        elif cell.borrowing_limit is None:
            reserved[fr] = usage
        else:
            reserved[fr] = min(usage, cell.sub(cell.add(cell.nominal, cell.borrowing_limit), cell.usage))
    return reserved
