"""The target searches written down the slow, obvious way: collect everybody, sort, walk.

Property tests compare the engine with this. It shares the quota arithmetic with the engine, and nothing else: no kept
order, no prefixes, no bounds, no streams that end early, no remembered shares or verdicts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.workloads import AdmittedWorkload
from engine.quota.quota_tree import CohortNode, QuotaNode, UsageChanges
from engine.quota.shares import Share, share_of
from engine.search.search import Preemptor
from engine.vocabulary.flavor_resource import FlavorResource

Frs = frozenset[FlavorResource]
Usage = dict[FlavorResource, int]
Victims = set[tuple[str, str]]


@dataclass(eq=False)
class Candidate:
    """A workload that might be preempted."""

    workload: AdmittedWorkload
    queue: ClusterQueue
    variant: str
    common_ancestor: CohortNode | None = None


class PlainSearch:
    """One search."""

    def __init__(self, preemptor: Preemptor, frs_need: Frs, usage: Usage) -> None:
        self.preemptor, self.own = preemptor, preemptor.queue
        self.policies = self.own.existing_spec.preemption
        self.gates = preemptor.configuration.gates
        self.frs_need, self.usage = frs_need, usage
        self.changes = UsageChanges()

    # -- who may be preempted ------------------------------------------------------------------------------------

    def expired(self, workload: AdmittedWorkload) -> bool:
        minimum = self.own.existing_spec.min_admit_duration_ns
        if not self.gates.time_based_same_priority_preemption or minimum is None:
            return False
        is_equal_of_own = workload.cluster_queue == self.own.name and workload.priority == self.preemptor.priority
        allows_equal = self.policies.within_cluster_queue == "LowerOrNewerEqualPriority"
        return is_equal_of_own and allows_equal and self.preemptor.now_ns - workload.reserved_at_ns > minimum

    def satisfies(self, policy: str, workload: AdmittedWorkload) -> bool:
        if policy == "Any":
            return True
        if policy == "Never":
            return False
        lower = self.preemptor.priority > workload.priority
        if policy == "LowerPriority" or lower or self.preemptor.priority != workload.priority:
            return lower
        newer_by = workload.queue_time_ns - self.preemptor.queue_time_ns
        buffer = 300 * 10**9 if self.gates.scheduler_timestamp_preemption_buffer else 0
        return newer_by > buffer or self.expired(workload)

    def eligible(self, queue: ClusterQueue) -> list[AdmittedWorkload]:
        is_own = queue is self.own
        policy = self.policies.within_cluster_queue if is_own else self.policies.reclaim_within_cohort
        return [w for w in queue.candidates if w.uses & self.frs_need and self.satisfies(policy, w)]

    def order(self, candidate: Candidate) -> object:
        workload = candidate.workload
        expired = self.expired(workload)
        reserved = workload.reserved_at_ns
        by_time = (0, reserved) if expired else (1, -reserved)
        is_own = candidate.queue is self.own
        return not workload.is_evicted, is_own, workload.order.priority, by_time, workload.uid

    def own_candidates(self) -> list[Candidate]:
        reason = "InClusterQueueTimeBased"
        return [
            Candidate(w, self.own, reason if self.expired(w) else "InClusterQueue") for w in self.eligible(self.own)
        ]

    # -- quota ---------------------------------------------------------------------------------------------------

    def remove(self, candidate: Candidate) -> None:
        for fr, amount in candidate.workload.usage:
            self.changes.remove(candidate.queue.cell(fr), amount)

    def add(self, candidate: Candidate) -> None:
        for fr, amount in candidate.workload.usage:
            self.changes.add(candidate.queue.cell(fr), amount)

    def fits(self, *, borrow: bool) -> bool:
        cells = [(self.own.cell(fr), amount) for fr, amount in self.usage.items()]
        if not borrow and any(cell.borrows_with(amount) for cell, amount in cells):
            return False
        return all(amount <= max(0, cell.available()) for cell, amount in cells)

    def within_nominal(self, node: QuotaNode) -> bool:
        return all(node.cell(fr).subtree_quota >= node.cell(fr).usage for fr in self.frs_need)

    def fill_back(self, targets: list[Candidate], *, borrow: bool) -> list[Candidate]:
        for i in range(len(targets) - 2, -1, -1):
            self.add(targets[i])
            if self.fits(borrow=borrow):
                targets[i] = targets[-1]
                targets.pop()
            else:
                self.remove(targets[i])
        return targets


def classical(preemptor: Preemptor, frs_need: Frs, usage: Usage) -> Victims:
    """Return names and reasons of the victims without fair sharing."""
    search = PlainSearch(preemptor, frs_need, usage)
    hierarchy, others = _reclaimable(search)
    own = search.own_candidates() if search.policies.within_cluster_queue != "Never" else []
    sequence = [
        candidate
        for evicted in (True, False)
        for part in (hierarchy, others, own)
        for candidate in sorted(part, key=search.order)  # type: ignore[arg-type]
        if candidate.workload.is_evicted is evicted
    ]
    forbidden = search.policies.borrow_within_cohort == "Never"
    under = all(search.own.cell(fr).nominal > search.own.cell(fr).usage for fr in frs_need)
    if not (hierarchy or others) or (forbidden and not under):
        attempts = [True]
    else:
        attempts = [False, True] if forbidden and not hierarchy else [True, False]
    for borrow in attempts:
        targets: list[Candidate] = []
        for candidate in sequence:
            if not _is_valid(search, candidate, borrow=borrow):
                continue
            search.remove(candidate)
            targets.append(candidate)
            if search.fits(borrow=borrow):
                found = search.fill_back(targets, borrow=borrow)
                search.changes.undo()
                return {(c.workload.key.name, _reason(c)) for c in found}
        search.changes.undo()
    return set()


def _reason(candidate: Candidate) -> str:
    reclaim = {"Hierarchical": "InCohortReclamation", "WithoutBorrowing": "InCohortReclamation"}
    return reclaim.get(candidate.variant, candidate.variant)


def _is_valid(search: PlainSearch, candidate: Candidate, *, borrow: bool) -> bool:
    if candidate.queue is search.own:
        return True
    if borrow and candidate.variant == "WithoutBorrowing":
        return False
    node: QuotaNode | None = candidate.queue
    while node is not None and node is not candidate.common_ancestor:
        if search.within_nominal(node):
            return False
        node = node.parent
    return True


def _reclaimable(search: PlainSearch) -> tuple[list[Candidate], list[Candidate]]:
    hierarchy: list[Candidate] = []
    others: list[Candidate] = []
    if search.policies.reclaim_within_cohort == "Never":
        return hierarchy, others
    remaining = dict(search.usage)
    advantage = _fits_and_reduce(search.own, remaining)
    done: CohortNode | None = None
    for root in search.own.ancestors():
        for queue in _borrowers(search, root, done):
            for workload in search.eligible(queue):
                variant = "Hierarchical" if advantage else _priority_variant(search, workload)
                (hierarchy if advantage else others).append(Candidate(workload, queue, variant, root))
        fits = _fits_and_reduce(root, remaining)
        advantage = advantage or fits
        done = root
    return hierarchy, others


def _fits_and_reduce(node: QuotaNode, requests: Usage) -> bool:
    fits = all(node.cell(fr).subtree_quota >= node.cell(fr).usage + amount for fr, amount in requests.items())
    for fr in requests:
        requests[fr] = max(0, requests[fr] - node.cell(fr).local_available())
    return fits


def _borrowers(search: PlainSearch, cohort: CohortNode, done: CohortNode | None) -> Iterator[ClusterQueue]:
    for child in cohort.child_cohorts:
        if child is not done and not search.within_nominal(child):
            yield from _borrowers(search, child, done)
    for queue in cohort.active_queues:
        if queue is not search.own and not search.within_nominal(queue):
            yield queue


def _priority_variant(search: PlainSearch, workload: AdmittedWorkload) -> str:
    threshold = search.policies.max_priority_threshold
    too_high = workload.priority >= search.preemptor.priority
    if search.policies.borrow_within_cohort == "Never" or too_high:
        return "WithoutBorrowing"
    if threshold is not None and workload.priority > threshold:
        return "WithoutBorrowing"
    return "InCohortReclaimWhileBorrowing"


# -- fair sharing ------------------------------------------------------------------------------------------------


def fair(preemptor: Preemptor, frs_need: Frs, usage: Usage) -> Victims:
    """Return names and reasons of the victims with fair sharing and both strategies; ties go to the first by name."""
    search = PlainSearch(preemptor, frs_need, usage)
    candidates = search.own_candidates() if search.policies.within_cluster_queue != "Never" else []
    ancestors = search.own.ancestors()
    if ancestors and search.policies.reclaim_within_cohort != "Never":
        for queue in _all_queues(ancestors[-1]):
            if queue is not search.own and not search.within_nominal(queue):
                candidates += [Candidate(w, queue, "") for w in search.eligible(queue)]
    candidates.sort(key=search.order)  # type: ignore[arg-type]
    for fr, amount in usage.items():
        search.changes.add(search.own.cell(fr), amount)
    walk = _FairWalk(search)
    found = bool(candidates) and (walk.first(candidates) or walk.second())
    for fr, amount in usage.items():
        search.changes.remove(search.own.cell(fr), amount)
    targets = search.fill_back(walk.targets, borrow=True) if found else []
    search.changes.undo()
    return {(c.workload.key.name, c.variant) for c in targets}


def _all_queues(cohort: CohortNode) -> Iterator[ClusterQueue]:
    yield from cohort.active_queues
    for child in cohort.child_cohorts:
        yield from _all_queues(child)


class _FairWalk:
    def __init__(self, search: PlainSearch) -> None:
        self.search = search
        self.targets: list[Candidate] = []
        self.retry: list[Candidate] = []

    def take(self, candidate: Candidate, reason: str) -> bool:
        search = self.search
        search.remove(candidate)
        candidate.variant = reason
        self.targets.append(candidate)
        for fr, amount in search.usage.items():
            search.changes.remove(search.own.cell(fr), amount)
        fits = search.fits(borrow=True)
        for fr, amount in search.usage.items():
            search.changes.add(search.own.cell(fr), amount)
        return fits

    def shares(self, queue: ClusterQueue) -> tuple[Share, Share]:
        mine, theirs = self.below_ancestor(queue)
        return _fresh(mine), _fresh(theirs)

    def below_ancestor(self, queue: ClusterQueue) -> tuple[QuotaNode, QuotaNode]:
        ancestors = self.search.own.ancestors()
        mine: QuotaNode = self.search.own
        theirs: QuotaNode = queue
        while theirs.parent not in ancestors:
            assert theirs.parent is not None
            theirs = theirs.parent
        while mine.parent is not theirs.parent:
            assert mine.parent is not None
            mine = mine.parent
        return mine, theirs

    def first(self, candidates: list[Candidate]) -> bool:
        search = self.search
        within = search.gates.fair_sharing_preempt_within_nominal and search.within_nominal(search.own)
        left = list(candidates)
        for queue in self.order(left, set()):
            if queue is search.own:
                candidate = _pop(left, queue)
                if self.take(candidate, candidate.variant):
                    return True
            elif within:
                if self.take(_pop(left, queue), "InCohortReclamation"):
                    return True
            elif self.first_fair(left, queue):
                return True
        return False

    def first_fair(self, left: list[Candidate], queue: ClusterQueue) -> bool:
        my_share, _ = self.shares(queue)
        while any(c.queue is queue for c in left):
            candidate = _pop(left, queue)
            self.search.remove(candidate)
            after = _fresh(self.below_ancestor(queue)[1])
            self.search.add(candidate)
            if my_share <= after:
                return self.take(candidate, "InCohortFairSharing")
            self.retry.append(candidate)
        return False

    def second(self) -> bool:
        dropped: set[QuotaNode] = set()
        left = list(self.retry)
        for queue in self.order(left, dropped):
            my_share, their_share = self.shares(queue)
            candidate = _pop(left, queue)
            if my_share < their_share and self.take(candidate, "InCohortFairSharing"):
                return True
            dropped.add(queue)
        return False

    def order(self, left: list[Candidate], pruned: set[QuotaNode]) -> Iterator[ClusterQueue]:
        ancestors = self.search.own.ancestors()
        if not ancestors:
            while self.search.own not in pruned and left:
                yield self.search.own
            return
        while ancestors[-1] not in pruned:
            queue = self.next(ancestors[-1], left, pruned)
            if queue is not None:
                yield queue

    def next(self, cohort: CohortNode, left: list[Candidate], pruned: set[QuotaNode]) -> ClusterQueue | None:
        own, ancestors = self.search.own, self.search.own.ancestors()
        best_queue: tuple[Share, ClusterQueue] | None = None
        for queue in cohort.active_queues:
            share = _fresh(queue)
            if queue in pruned:
                continue
            if (not queue.is_borrowing and queue is not own) or not any(c.queue is queue for c in left):
                pruned.add(queue)
            elif best_queue is None or share > best_queue[0]:
                best_queue = share, queue
            elif share == best_queue[0]:
                new, old = self.search.order(_first(left, queue)), self.search.order(_first(left, best_queue[1]))
                if new < old:  # type: ignore[operator]
                    best_queue = share, queue
        best_cohort: tuple[Share, CohortNode] | None = None
        for child in sorted(cohort.child_cohorts, key=lambda node: node.name):
            share = _fresh(child)
            if child in pruned:
                continue
            if not child.is_borrowing and child not in ancestors:
                pruned.add(child)
            elif best_cohort is None or share > best_cohort[0]:
                best_cohort = share, child
        if best_cohort is not None and (best_queue is None or best_cohort[0] >= best_queue[0]):
            return self.next(best_cohort[1], left, pruned)
        if best_queue is None:
            pruned.add(cohort)
            return None
        return best_queue[1]


def _first(left: list[Candidate], queue: ClusterQueue) -> Candidate:
    return next(c for c in left if c.queue is queue)


def _pop(left: list[Candidate], queue: ClusterQueue) -> Candidate:
    candidate = _first(left, queue)
    left.remove(candidate)
    return candidate


def _fresh(node: QuotaNode) -> Share:
    node.share = None
    return share_of(node)
