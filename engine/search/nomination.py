"""The nomination of one pending workload: flavors, targets, and fewer pods where that is allowed and needed.

This is the part of a scheduling cycle that looks at a workload alone. It reads the model and leaves it as it was.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from config.api.quantity import add
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
from engine.search.search import PreemptionTarget, Preemptor
from engine.vocabulary.assignment import Assignment, AssignmentMode, ScanMemory
from engine.vocabulary.flavor_resource import FlavorResource

_ALLOWED_FLAVORS: Final = "kueue.x-k8s.io/workload-allowed-resource-flavors"

Nominated = tuple[Assignment, list[PreemptionTarget]]


class Choices:
    """Decides what Kueue leaves to chance, following a script first, and remembers what there was to decide."""

    def __init__(self, script: Sequence[int] = ()) -> None:
        self._script: Final = script
        self.taken: list[int] = []
        self.options: list[int] = []

    def __call__(self, options: int) -> int:
        """Pick one of several equally likely ways."""
        position = len(self.taken)
        choice = self._script[position] if position < len(self._script) else 0
        self.taken.append(choice)
        self.options.append(options)
        return choice


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
    trace: FlavorTrace | None = None
    _found: dict[tuple[frozenset[FlavorResource], Usage], list[PreemptionTarget]] = field(default_factory=dict)

    def run(self) -> Nominated:
        """Return the assignment and whom to preempt for it."""
        assigner = self._assigner()
        full = assigner.assign()
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

    def retrace(self, assignment: Assignment, trace: FlavorTrace) -> None:
        """Tell again what was looked at on the way to an assignment; the searches are remembered."""
        counts = (
            None if assignment.mode is AssignmentMode.NO_FIT else [pod_set.count for pod_set in assignment.pod_sets]
        )
        replace(self._assigner(), trace=trace).assign(counts)

    def preemptor(self) -> Preemptor:
        """Return the workload as someone who needs room."""
        return Preemptor(
            queue=self.queue,
            priority=self.workload.priority,
            queue_time_ns=self.workload.queue_time_ns,
            now_ns=self.now_ns,
            configuration=self.model.configuration,
            choose=self.choices,
            effort=self.model.effort,
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
        return self._search(frs_need, self._requested(assignment))

    def simulate(self, fr: FlavorResource, amount: int) -> Grade:
        """Return what preempting for one flavor and resource would achieve (the assigner's oracle)."""
        cell = self.queue.cell(fr)
        targets = self._search(frozenset((fr,)), ((fr, amount),))
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
            trace=self.trace,
            effort=self.model.effort,
        )

    def _allowed_flavors(self) -> frozenset[str] | None:
        annotations = self.workload.raw["metadata"].get("annotations") or {}
        if not self.model.configuration.gates.concurrent_admission or _ALLOWED_FLAVORS not in annotations:
            return None
        return frozenset(name.strip() for name in annotations[_ALLOWED_FLAVORS].split(","))

    def _requested(self, assignment: Assignment) -> Usage:
        """Return what the workload itself asks for. `pods` is not in it: Kueue leaves it out of the target search."""
        usage: dict[FlavorResource, int] = {}
        for demand, pod_set in zip(self.demands, assignment.pod_sets, strict=True):
            for resource, amount in demand.scaled_to(pod_set.count).requests.items():
                choice = pod_set.flavors.get(resource)
                if amount and choice is not None:
                    fr = self.model.table.get(choice.flavor, resource)
                    usage[fr] = add(usage.get(fr, 0), amount)
        return tuple(usage.items())

    def _search(self, frs_need: frozenset[FlavorResource], usage: Usage) -> list[PreemptionTarget]:
        """Search once for each question; a search that met a tie may end otherwise next time, so it is not kept."""
        question = (frs_need, usage)
        known = self._found.get(question)
        if known is not None:
            return known
        self.model.on_search()
        is_fair = self.model.configuration.fair_sharing is not None
        ties_before = len(self.choices.taken)
        targets = (fair_targets if is_fair else classical_targets)(self.preemptor(), frs_need, usage)
        if len(self.choices.taken) == ties_before:
            self._found[question] = targets
        return targets

    def _try_counts(self, assigner: FlavorAssigner, counts: Sequence[int]) -> Nominated | None:
        self.model.on_search()
        assignment = assigner.assign(counts)
        if assignment.mode is AssignmentMode.FIT:
            return assignment, []
        if assignment.mode is AssignmentMode.PREEMPT:
            targets = self.targets_for(assignment)
            if targets:
                return assignment, targets
        return None


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
    """Tell whether an assignment fits once its targets are gone; this, unlike the target search, counts `pods`."""
    changes = UsageChanges()
    for target in targets:
        for fr, amount in target.workload.usage:
            changes.remove(target.queue.cell(fr), amount)
    fits = all(max(0, queue.cell(fr).available()) >= amount for fr, amount in usage.items())
    changes.undo()
    return fits
