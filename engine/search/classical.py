"""The target search of Kueue without fair sharing.

Candidates come in three classes: those over which the preemptor's place in the tree gives it an advantage, other ones
in the cohort, and those of its own ClusterQueue. They are removed in order while their ClusterQueue still borrows,
until the preemptor fits; then as many as possible are given back.

Kueue collects and sorts all candidates for each search. Here each ClusterQueue contributes a sorted stream, the streams
are merged as far as the search gets, and a stream ends for good once its ClusterQueue (or a cohort on the way to the
common ancestor) no longer borrows: usage only shrinks during an attempt, so what is within its quota stays so.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from engine.cluster.candidates import Eligible
from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.specs import BorrowWithinCohortPolicy, PreemptionPolicy
from engine.objects.usage import Usage
from engine.objects.workloads import AdmittedWorkload
from engine.quota.quota_tree import CohortNode, QuotaNode
from engine.search.search import PreemptionTarget, Preemptor, TargetSearch
from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import PreemptionReason


def classical_targets(
    preemptor: Preemptor, frs_need: frozenset[FlavorResource], usage: Usage
) -> list[PreemptionTarget]:
    """Return which workloads to preempt so that `usage` fits; none if that is impossible."""
    search = _ClassicalSearch(preemptor, frs_need, usage)
    try:
        return search.run()
    finally:
        search.undo()


class _Source:
    """The candidates of another ClusterQueue."""

    __slots__ = ("eligible", "has_advantage", "queue", "way_up")

    def __init__(
        self,
        queue: ClusterQueue,
        way_up: tuple[QuotaNode, ...],
        eligible: Eligible,
        has_advantage: bool,
    ) -> None:
        self.queue = queue
        self.way_up = way_up  # the ClusterQueue and the cohorts above it, up to the ancestor shared with the preemptor
        self.eligible = eligible
        self.has_advantage = has_advantage


class _ClassicalSearch(TargetSearch):
    def __init__(self, preemptor: Preemptor, frs_need: frozenset[FlavorResource], usage: Usage) -> None:
        super().__init__(preemptor, frs_need, usage)
        # Nothing else is ever compared, so nothing else is moved when a workload is removed.
        self._concerned = frs_need.union(fr for fr, _ in usage)

    def release_quota(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that the quota of a workload is free, as far as this search is concerned."""
        for fr, amount in workload.usage:
            if fr in self._concerned:
                self.changes.remove(queue.cells[fr], amount)

    def take_quota(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that the quota of a workload is taken again."""
        for fr, amount in workload.usage:
            if fr in self._concerned:
                self.changes.add(queue.cells[fr], amount)

    def run(self) -> list[PreemptionTarget]:
        """Return which workloads to preempt; none if that does not help."""
        self._own = self.own_candidates()
        self._sources = self._reclaim_sources()
        if self._own is None and not self._sources:
            return []
        for allow_borrowing in self._attempts():
            targets = self._attempt(allow_borrowing=allow_borrowing)
            if targets:
                return self.fill_back(targets, allow_borrowing=allow_borrowing)
            self.undo()
        return []

    @property
    def _borrowing_forbids_reclaim(self) -> bool:
        return self.preemption.borrow_within_cohort is BorrowWithinCohortPolicy.NEVER

    def _attempts(self) -> Sequence[bool]:
        """Return whether the preemptor may borrow, for each attempt in turn."""
        if not self._sources or (self._borrowing_forbids_reclaim and not self._is_under_nominal()):
            return (True,)
        has_hierarchy = any(source.has_advantage for source in self._sources)
        if self._borrowing_forbids_reclaim and not has_hierarchy:
            return (False, True)
        return (True, False)

    def _is_under_nominal(self) -> bool:
        cells = (self.queue.cell(fr) for fr in self.frs_need)
        return all(cell.nominal > cell.usage for cell in cells)

    def _attempt(self, *, allow_borrowing: bool) -> list[PreemptionTarget]:
        """Remove candidates until the preemptor fits; none if it never does."""
        sources = (
            [source for source in map(self._restrict, self._sources) if source] if allow_borrowing else self._sources
        )
        everyone = [(source.queue, source.eligible) for source in sources]
        if self._own is not None:
            everyone.append((self.queue, self._own))
        if not self.could_fit(everyone, allow_borrowing=allow_borrowing):
            return []
        targets: list[PreemptionTarget] = []
        for target in self._in_order(sources):
            self.spend(self.steps)
            self.remove(target.workload, target.queue)
            targets.append(target)
            if self.fits(allow_borrowing=allow_borrowing):
                return targets
        return []

    def _restrict(self, source: _Source) -> _Source | None:
        """Keep the candidates that may go while the preemptor borrows."""
        if source.has_advantage:
            return source
        if self._borrowing_forbids_reclaim:
            return None
        ceiling = self.preemptor.priority
        threshold = self.preemption.max_priority_threshold
        if threshold is not None:
            ceiling = min(ceiling, threshold + 1)
        eligible = self.reclaim_rule.below(source.eligible, ceiling)
        return _Source(source.queue, source.way_up, eligible, has_advantage=False) if eligible else None

    def _in_order(self, sources: Sequence[_Source]) -> Iterator[PreemptionTarget]:
        """Yield the candidates; validity is checked as late as possible, on usage as it then is."""
        hierarchy = [source for source in sources if source.has_advantage]
        others = [source for source in sources if not source.has_advantage]
        for is_evicted in (True, False):
            for group in (hierarchy, others):
                yield from self._merged(group, is_evicted=is_evicted)
            if self._own is not None:
                for workload in self._own.evicted if is_evicted else self._own.running:
                    yield PreemptionTarget(workload, self.queue, self.own_reason(workload))

    def _merged(self, sources: Sequence[_Source], *, is_evicted: bool) -> Iterator[PreemptionTarget]:
        streams = [source.eligible.evicted if is_evicted else source.eligible.running for source in sources]
        heap = [(stream[0].order, index, 0) for index, stream in enumerate(streams) if stream]
        heapify(heap)
        while heap:
            _, index, position = heap[0]
            source = sources[index]
            if self._is_protected(source):
                heappop(heap)
                continue
            stream = streams[index]
            workload = stream[position]
            position += 1
            if position < len(stream):
                heapreplace(heap, (stream[position].order, index, position))
            else:
                heappop(heap)
            yield PreemptionTarget(workload, source.queue, self._reclaim_reason(source, workload))

    def _is_protected(self, source: _Source) -> bool:
        frs_need = self.frs_need
        return any(node.is_within_nominal(frs_need) for node in source.way_up)

    def _reclaim_reason(self, source: _Source, workload: AdmittedWorkload) -> PreemptionReason:
        if source.has_advantage or self._borrowing_forbids_reclaim:
            return PreemptionReason.IN_COHORT_RECLAMATION
        threshold = self.preemption.max_priority_threshold
        if workload.priority >= self.preemptor.priority or (threshold is not None and workload.priority > threshold):
            return PreemptionReason.IN_COHORT_RECLAMATION
        return PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING

    def _reclaim_sources(self) -> list[_Source]:
        """Collect who borrows in the cohort tree, nearest subtree first."""
        if self.preemption.reclaim_within_cohort is PreemptionPolicy.NEVER:
            return []
        sources: list[_Source] = []
        has_advantage, remaining = self._fits_in_quota(self.queue, self.usage)
        done: CohortNode | None = None
        for subtree in self.queue.ancestors():
            self._collect(subtree, done, (), sources, has_advantage=has_advantage)
            fits, remaining = self._fits_in_quota(subtree, remaining)
            has_advantage = has_advantage or fits
            done = subtree
        return sources

    def _fits_in_quota(self, node: QuotaNode, requests: Usage) -> tuple[bool, Usage]:
        """Return whether the node's own quota suffices, and what is left to ask of its parent."""
        fits = True
        remaining = []
        for fr, amount in requests:
            cell = node.cell(fr)
            fits = fits and not cell.borrows_with(amount)
            remaining.append((fr, max(0, cell.sub(amount, cell.local_available()))))
        return fits, tuple(remaining)

    def _collect(
        self,
        cohort: CohortNode,
        skipped: CohortNode | None,
        way_up: tuple[QuotaNode, ...],
        sources: list[_Source],
        *,
        has_advantage: bool,
    ) -> None:
        frs_need = self.frs_need
        for child in cohort.child_cohorts:
            if child is not skipped and not child.is_within_nominal(frs_need):
                self._collect(child, skipped, (child, *way_up), sources, has_advantage=has_advantage)
        self.spend(len(cohort.child_cohorts) + len(cohort.active_queues))
        for queue in cohort.active_queues:
            if queue is self.queue or queue.is_within_nominal(frs_need):
                continue
            eligible = self.eligible(self.reclaim_rule, queue)
            if eligible:
                sources.append(_Source(queue, (queue, *way_up), eligible, has_advantage))
