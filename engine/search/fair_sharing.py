"""The target search of Kueue with fair sharing: take from the queue that borrows most, as long as that makes it fairer.

ClusterQueues are visited by their dominant resource share, which changes with every victim. Shares are kept on the
nodes of the quota tree until their usage changes, so a step costs a comparison per sibling and not a computation.

Kueue breaks ties between sibling cohorts of equal share by the order of a Go map. Each such tie is handed to the
preemptor's `choose`, which lets the caller follow every branch.
"""

from typing import Final

from engine.cluster.candidates import Eligible
from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.configuration import DEFAULT_STRATEGIES, PreemptionStrategy
from engine.objects.specs import PreemptionPolicy
from engine.objects.usage import Usage
from engine.objects.workloads import AdmittedWorkload, OrderKey
from engine.quota.quota_tree import CohortNode, QuotaNode
from engine.quota.shares import Share, share_of
from engine.search.search import PreemptionTarget, Preemptor, TargetSearch
from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import PreemptionReason

_STEPS: Final = 3
"""How much more it takes to try a candidate here: all that it uses is moved, and the preemptor's own usage twice."""


def fair_targets(preemptor: Preemptor, frs_need: frozenset[FlavorResource], usage: Usage) -> list[PreemptionTarget]:
    """Return which workloads to preempt so that `usage` fits; none if that is impossible."""
    search = _FairSearch(preemptor, frs_need, usage)
    try:
        return search.run()
    finally:
        search.undo()


class _FairSearch(TargetSearch):
    def run(self) -> list[PreemptionTarget]:
        candidates = self._candidates()
        if not candidates or not self.could_fit(candidates.items(), allow_borrowing=True):
            return []
        self._targets: list[PreemptionTarget] = []
        self._retry: dict[ClusterQueue, list[AdmittedWorkload]] = {}
        self._add_preemptor()
        fair_sharing = self.preemptor.configuration.fair_sharing
        strategies = fair_sharing.strategies if fair_sharing else DEFAULT_STRATEGIES
        order = {queue: [*eligible.evicted, *eligible.running] for queue, eligible in candidates.items()}
        found = self._first_pass(order, strategies[0]) or (len(strategies) > 1 and self._second_pass())
        self._remove_preemptor()
        return self.fill_back(self._targets, allow_borrowing=True) if found else []

    def _candidates(self) -> dict[ClusterQueue, Eligible]:
        """Return the eligible workloads of the own ClusterQueue and of every one in the tree that borrows."""
        candidates: dict[ClusterQueue, Eligible] = {}
        own = self.own_candidates()
        if own is not None:
            candidates[self.queue] = own
        ancestors = self.queue.ancestors()
        if ancestors and self.preemption.reclaim_within_cohort is not PreemptionPolicy.NEVER:
            self._collect(ancestors[-1], candidates)
        return candidates

    def _collect(self, cohort: CohortNode, candidates: dict[ClusterQueue, Eligible]) -> None:
        self.spend(len(cohort.child_cohorts) + len(cohort.active_queues))
        for queue in cohort.active_queues:
            if queue is not self.queue and not queue.is_within_nominal(self.frs_need):
                eligible = self.eligible(self.reclaim_rule, queue)
                if eligible:
                    candidates[queue] = eligible
        for child in cohort.child_cohorts:
            self._collect(child, candidates)

    def _add_preemptor(self) -> None:
        for fr, amount in self.usage:
            self.changes.add(self.queue.cell(fr), amount)

    def _remove_preemptor(self) -> None:
        for fr, amount in self.usage:
            self.changes.remove(self.queue.cell(fr), amount)

    def _fits_without_preemptor(self) -> bool:
        """Return whether there is room; the preemptor's usage, counted for shares, must not count against it."""
        self._remove_preemptor()
        fits = self.fits(allow_borrowing=True)
        self._add_preemptor()
        return fits

    def _take(self, workload: AdmittedWorkload, queue: ClusterQueue, reason: PreemptionReason) -> bool:
        """Make the workload a target and return whether that is enough."""
        self.spend(_STEPS * self.steps)
        self.remove(workload, queue)
        self._targets.append(PreemptionTarget(workload, queue, reason))
        return self._fits_without_preemptor()

    def _first_pass(self, candidates: dict[ClusterQueue, list[AdmittedWorkload]], strategy: PreemptionStrategy) -> bool:
        gates = self.preemptor.configuration.gates
        takes_nominal = gates.fair_sharing_preempt_within_nominal and self.queue.is_within_nominal(self.frs_need)
        order = _TargetOrder(self.queue, candidates, self.preemptor)
        while (queue := order.next()) is not None:
            if queue is self.queue:
                workload = order.pop(queue)
                if self._take(workload, queue, self.own_reason(workload)):
                    return True
            elif takes_nominal:
                if self._take(order.pop(queue), queue, PreemptionReason.IN_COHORT_RECLAMATION):
                    return True
            elif self._take_fairest(queue, order, strategy):
                return True
        return False

    def _take_fairest(self, queue: ClusterQueue, order: "_TargetOrder", strategy: PreemptionStrategy) -> bool:
        """Take the first workload of the ClusterQueue that the strategy allows; the others wait for the second pass."""
        mine, theirs = order.below_common_ancestor(queue)
        my_share, their_share = share_of(mine), share_of(theirs)
        verdicts: dict[Usage, bool] = {}  # equal usages have equal effect, and there are few different ones
        while order.has_candidates(queue):
            self.spend(1)
            workload = order.pop(queue)
            allowed = verdicts.get(workload.usage)
            if allowed is None:
                if strategy is PreemptionStrategy.LESS_THAN_INITIAL_SHARE:
                    allowed = my_share < their_share
                else:
                    allowed = my_share <= self._share_without(workload, queue, theirs)
                verdicts[workload.usage] = allowed
            if allowed:
                return self._take(workload, queue, PreemptionReason.IN_COHORT_FAIR_SHARING)
            self._retry.setdefault(queue, []).append(workload)
        return False

    def _share_without(self, workload: AdmittedWorkload, queue: ClusterQueue, node: QuotaNode) -> Share:
        self.release_quota(workload, queue)
        share = share_of(node)
        self.take_quota(workload, queue)
        return share

    def _second_pass(self) -> bool:
        order = _TargetOrder(self.queue, self._retry, self.preemptor)
        while (queue := order.next()) is not None:
            mine, theirs = order.below_common_ancestor(queue)
            is_fairer = share_of(mine) < share_of(theirs)
            workload = order.pop(queue)
            if is_fairer and self._take(workload, queue, PreemptionReason.IN_COHORT_FAIR_SHARING):
                return True
            order.drop(queue)
        return False


class _TargetOrder:
    """Says which ClusterQueue gives the next victim, on usage as it is at that moment."""

    def __init__(
        self, own: ClusterQueue, candidates: dict[ClusterQueue, list[AdmittedWorkload]], preemptor: Preemptor
    ) -> None:
        self._own = own
        self._ancestors = own.ancestors()
        self._candidates = candidates
        self._position = dict.fromkeys(candidates, 0)
        self._choose = preemptor.choose
        self._spend = preemptor.effort.spend
        self._open_queues: dict[CohortNode, list[ClusterQueue]] = {}
        self._open_cohorts: dict[CohortNode, list[CohortNode]] = {}
        self._pruned: set[QuotaNode] = set()

    def has_candidates(self, queue: ClusterQueue) -> bool:
        """Return whether any workload of the ClusterQueue is left."""
        return queue in self._position and self._position[queue] < len(self._candidates[queue])

    def pop(self, queue: ClusterQueue) -> AdmittedWorkload:
        """Return the next candidate of the ClusterQueue."""
        position = self._position[queue]
        self._position[queue] = position + 1
        return self._candidates[queue][position]

    def drop(self, queue: ClusterQueue) -> None:
        """Never return to this ClusterQueue."""
        self._pruned.add(queue)

    def below_common_ancestor(self, queue: ClusterQueue) -> tuple[QuotaNode, QuotaNode]:
        """Return the subtrees of the preemptor and of the ClusterQueue that meet at their lowest common ancestor."""
        theirs: QuotaNode = queue
        while theirs.parent is not None and theirs.parent not in self._ancestors:
            theirs = theirs.parent
        position = self._ancestors.index(theirs.parent) if theirs.parent is not None else 0
        return (self._ancestors[position - 1] if position else self._own), theirs

    def next(self) -> ClusterQueue | None:
        """Return the ClusterQueue to take from, or None when there is nothing left to take."""
        if not self._ancestors:
            return self._own if self._own not in self._pruned and self.has_candidates(self._own) else None
        root = self._ancestors[-1]
        while root not in self._pruned:
            queue = self._descend(root)
            if queue is not None:
                return queue
        return None

    def _descend(self, cohort: CohortNode) -> ClusterQueue | None:
        """Follow the highest shares downwards; None if that only showed that a subtree has nothing to give."""
        while True:
            self._spend(len(cohort.active_queues) + len(cohort.child_cohorts))
            queue, queue_share = self._highest_queue(cohort)
            child, child_share = self._highest_cohort(cohort)
            if queue is None and child is None:
                self._pruned.add(cohort)
                return None
            if child is not None and (queue is None or child_share >= queue_share):
                cohort = child
            else:
                return queue

    def _highest_queue(self, cohort: CohortNode) -> tuple[ClusterQueue | None, Share]:
        best: ClusterQueue | None = None
        best_share: Share = (-1, 0.0)
        still_open = []
        queues = self._open_queues.get(cohort)
        for queue in cohort.active_queues if queues is None else queues:
            share = share_of(queue)
            if queue in self._pruned or not self.has_candidates(queue):
                continue
            if not queue.is_borrowing and queue is not self._own:
                continue
            still_open.append(queue)
            if share > best_share or (share == best_share and best and self._first(queue) < self._first(best)):
                best, best_share = queue, share
        self._open_queues[cohort] = still_open
        return best, best_share

    def _first(self, queue: ClusterQueue) -> tuple[bool, bool, OrderKey]:
        """Return the place of the ClusterQueue's next candidate in the order of all candidates."""
        workload = self._candidates[queue][self._position[queue]]
        return not workload.is_evicted, queue is self._own, workload.order

    def _highest_cohort(self, cohort: CohortNode) -> tuple[CohortNode | None, Share]:
        best: list[CohortNode] = []
        best_share: Share = (-1, 0.0)
        still_open = []
        cohorts = self._open_cohorts.get(cohort)
        for child in cohort.child_cohorts if cohorts is None else cohorts:
            if child in self._pruned:
                continue
            share = share_of(child)
            if not child.is_borrowing and child not in self._ancestors:
                continue
            still_open.append(child)
            if share > best_share:
                best, best_share = [child], share
            elif share == best_share:
                best.append(child)
        self._open_cohorts[cohort] = still_open
        if not best:
            return None, best_share
        if len(best) == 1:
            return best[0], best_share
        best.sort(key=lambda tied: tied.name)
        return best[self._choose(len(best))], best_share
