"""The nomination of one pending workload: flavors, targets, and fewer pods where that is allowed and needed.

This is the part of a scheduling cycle that concerns a workload alone. It reads the model and leaves it as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.objects.specs import ClusterQueueSpec
from engine.objects.usage import Usage
from engine.objects.workloads import PendingWorkload
from engine.quota.quota_tree import UsageChanges, lowest_fit
from engine.requests.demand import PodSetDemand
from engine.search.classical import classical_targets
from engine.search.fair_sharing import fair_targets
from engine.search.flavor_assignment import FlavorAssigner, FlavorTrace, PinnedFlavors
from engine.search.flavor_grading import Grade, Possibility
from engine.search.search import PlacementTest, PreemptionTarget, Preemptor
from engine.search.ties import Choices, TieExplorer
from engine.search.topology_step import TopologyStep
from engine.vocabulary.assignment import Assignment, AssignmentMode, ScanMemory
from engine.vocabulary.flavor_resource import FlavorResource

_ALLOWED_FLAVORS: Final = "kueue.x-k8s.io/workload-allowed-resource-flavors"

Nominated = tuple[Assignment, list[PreemptionTarget]]
A = TypeVar("A")
TargetTies = TieExplorer[list[PreemptionTarget]]

MAX_TIES_FOLLOWED: Final = 4096
"""How many ties are met, over all ways through the searches, before the answer says that it may lack an outcome."""


@dataclass(slots=True)
class NominationSearch:
    """One pending workload in front of the cluster as it is."""

    model: ClusterModel
    workload: PendingWorkload
    queue: ClusterQueue
    spec: ClusterQueueSpec
    demands: Sequence[PodSetDemand]
    now_ns: int
    memory: ScanMemory = ()
    pinned: PinnedFlavors | None = None
    choices: Choices = field(default_factory=Choices)
    ties: TargetTies | None = None
    """Explores each search on its own, so that `choices` pick among answers, and not at each tie of a search."""
    trace: FlavorTrace | None = None
    holds_quota: bool = False
    """The workload has its quota already and is in its second pass."""
    _found: dict[tuple[frozenset[FlavorResource], Usage], list[PreemptionTarget]] = field(default_factory=dict)

    def run(self) -> Nominated:
        """Return the assignment and what to preempt for it."""
        assignment, targets = self._run()
        topology = self.topology
        return assignment if topology is None else topology.settle(assignment, targets), targets

    def resume(self, admitted: Assignment) -> Nominated:
        """Return the places for a workload that has its quota, and what to preempt for them."""
        topology = self.topology
        if topology is None:
            return admitted, []
        assignment = topology.evaluate(admitted)
        targets = self.targets_for(assignment) if assignment.mode is AssignmentMode.PREEMPT else []
        return topology.settle(assignment, targets), targets

    def _run(self) -> Nominated:
        assigner = self._assigner()
        full = self._assign(assigner)
        if full.mode is AssignmentMode.FIT:
            return full, []
        if full.mode is AssignmentMode.PREEMPT:
            targets = self.targets_for(full)
            if targets:
                return full, targets
        if self.model.configuration.gates.partial_admission:
            reduced = search_counts(self.demands, lambda counts: self._try_counts(assigner, counts))
            if reduced is not None:
                return reduced
        return full, []

    @property
    def topology(self) -> TopologyStep | None:
        """What topology says about the workload; None where nothing is known of topologies."""
        model = self.model
        if not model.follows_topology:
            return None
        return TopologyStep(model, self.spec, self.demands, self.workload.raw, self.holds_quota)

    def _assign(self, assigner: FlavorAssigner, counts: Sequence[int] | None = None) -> Assignment:
        assignment = assigner.assign(counts)
        topology = self.topology
        return assignment if topology is None else topology.evaluate(assignment)

    def retrace(self, assignment: Assignment, trace: FlavorTrace) -> None:
        """Report again what was tried on the way to an assignment; the searches are remembered."""
        counts = (
            None if assignment.mode is AssignmentMode.NO_FIT else [pod_set.count for pod_set in assignment.pod_sets]
        )
        replace(self._assigner(), trace=trace).assign(counts)

    def preemptor(self, placement: PlacementTest | None = None) -> Preemptor:
        """Return the workload as a preemptor, with the test that its pods find nodes if that matters."""
        return Preemptor(
            queue=self.queue,
            priority=self.workload.priority,
            queue_time_ns=self.workload.queue_time_ns,
            now_ns=self.now_ns,
            configuration=self.model.configuration,
            choose=self.choices,
            effort=self.model.effort,
            placement=placement,
        )

    def targets_for(self, assignment: Assignment) -> list[PreemptionTarget]:
        """Return which workloads to preempt so that the assignment can be used; none if that is impossible."""
        table = self.model.table
        frs_need = frozenset(
            table.get(choice.flavor, resource)
            for pod_set in assignment.pod_sets
            for resource, choice in pod_set.flavors.items()
            if choice.mode is AssignmentMode.PREEMPT
        )
        topology = self.topology
        placement = None if topology is None else topology.test(assignment)
        usage = self._requested(assignment)
        if placement is None:
            return self._pick(self._answers(frs_need, usage))
        return self._search(frs_need, usage, self.choices, placement)

    def simulate(self, fr: FlavorResource, amount: int) -> Grade:
        """Return what preempting for one flavor and resource would achieve (the assigner's oracle)."""
        answers = self._answers(frozenset((fr,)), ((fr, amount),))
        return self._pick(list(dict.fromkeys(self._grade(fr, amount, targets) for targets in answers)))

    def _grade(self, fr: FlavorResource, amount: int, targets: Sequence[PreemptionTarget]) -> Grade:
        cell = self.queue.cell(fr)
        if not targets:
            return Grade(Possibility.NO_CANDIDATES, lowest_fit(cell, amount)[0])
        changes = UsageChanges()
        for target in targets:
            for used, usage in target.workload.usage:
                if used is fr:
                    changes.remove(target.queue.cell(fr), usage)
        level, _ = lowest_fit(cell, amount)
        changes.undo()
        takes_own = any(target.queue is self.queue for target in targets)
        return Grade(Possibility.PREEMPT if takes_own else Possibility.RECLAIM, level)

    def _assigner(self) -> FlavorAssigner:
        flavors = {name: flavor for name in self.spec.flavors if (flavor := self.model.flavor(name)) is not None}
        return FlavorAssigner(
            queue=self.queue,
            spec=self.spec,
            demands=self.demands,
            flavors=flavors,
            table=self.model.table,
            configuration=self.model.configuration,
            oracle=self,
            memory=self.memory,
            allowed_flavors=self._allowed_flavors(),
            pinned=self.pinned,
            topology=self.model.topology if self.model.follows_topology else None,
            trace=self.trace,
            effort=self.model.effort,
        )

    def _allowed_flavors(self) -> frozenset[str] | None:
        annotations = self.workload.raw["metadata"].get("annotations") or {}
        if not self.model.configuration.gates.concurrent_admission or _ALLOWED_FLAVORS not in annotations:
            return None
        return frozenset(name.strip() for name in annotations[_ALLOWED_FLAVORS].split(","))

    def _requested(self, assignment: Assignment) -> Usage:
        """Return what the workload itself asks for; whether `pods` is part of it depends on the version."""
        counts_pods = self.model.configuration.profile.switches.counts_pods_in_target_search
        usage: dict[FlavorResource, int] = {}
        for demand, pod_set in zip(self.demands, assignment.pod_sets, strict=True):
            scaled = demand.scaled_to(pod_set.count)
            for resource, amount in (scaled.with_pods() if counts_pods else scaled).requests.items():
                choice = pod_set.flavors.get(resource)
                if amount and choice is not None:
                    fr = self.model.table.get(choice.flavor, resource)
                    usage[fr] = self.queue.amounts.add(usage.get(fr, 0), amount)
        return tuple(usage.items())

    def _pick(self, answers: Sequence[A]) -> A:
        return answers[self.choices(len(answers)) if len(answers) > 1 else 0]

    def _answers(self, frs_need: frozenset[FlavorResource], usage: Usage) -> list[list[PreemptionTarget]]:
        """Search once for each question; a search that met a tie may end otherwise next time, so it is not kept."""
        question = (frs_need, usage)
        if self.ties is not None:
            return self.ties.answers(question, lambda choices: self._search(frs_need, usage, choices))
        known = self._found.get(question)
        if known is not None:
            return [known]
        ties_before = len(self.choices.taken)
        targets = self._search(frs_need, usage, self.choices)
        if len(self.choices.taken) == ties_before:
            self._found[question] = targets
        return [targets]

    def _search(
        self,
        frs_need: frozenset[FlavorResource],
        usage: Usage,
        choices: Choices,
        placement: PlacementTest | None = None,
    ) -> list[PreemptionTarget]:
        self.model.on_search()
        is_fair = self.model.configuration.fair_sharing is not None
        preemptor = replace(self.preemptor(placement), choose=choices)
        return (fair_targets if is_fair else classical_targets)(preemptor, frs_need, usage)

    def _try_counts(self, assigner: FlavorAssigner, counts: Sequence[int]) -> Nominated | None:
        self.model.on_search()
        assignment = self._assign(assigner, counts)
        if assignment.mode is AssignmentMode.FIT:
            return assignment, []
        if assignment.mode is AssignmentMode.PREEMPT:
            targets = self.targets_for(assignment)
            if targets:
                return assignment, targets
        return None


def explore_targets(budget: int) -> TargetTies:
    """Return an explorer for the searches of one nomination; answers with the same victims are the same."""
    return TieExplorer(budget, lambda targets: frozenset(target.as_victim() for target in targets))


def search_counts(
    demands: Sequence[PodSetDemand], attempt: Callable[[Sequence[int]], Nominated | None]
) -> Nominated | None:
    """Find the largest number of pods that works, by the same bisection as Kueue, which may miss one."""
    spare = [
        demand.spec_count - (demand.spec_count if demand.min_count is None else demand.min_count) for demand in demands
    ]
    total = sum(spare)
    if total <= 0:
        return None
    best: Nominated | None = None
    best_step = 0
    low, high = 0, total + 1
    while low < high:
        step = (low + high) // 2
        counts = [demand.spec_count - less * step // total for demand, less in zip(demands, spare, strict=True)]
        found = attempt(counts)
        if found is None:
            low = step + 1
        else:
            best, best_step, high = found, step, step
    return best if low == best_step else None


def fits_after(targets: Sequence[PreemptionTarget], queue: ClusterQueue, usage: Mapping[FlavorResource, int]) -> bool:
    """Return whether an assignment fits once its targets are gone; this, unlike the target search, counts `pods`."""
    changes = UsageChanges()
    for target in targets:
        for fr, amount in target.workload.usage:
            changes.remove(target.queue.cell(fr), amount)
    fits = all(max(0, queue.cell(fr).available()) >= amount for fr, amount in usage.items())
    changes.undo()
    return fits
