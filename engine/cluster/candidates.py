"""Who may be preempted, in total order, without sorting the cluster at prediction time.

Every ClusterQueue keeps its workloads sorted in candidate order all the time. A search asks for the part of that order
that its policy allows, which is a prefix by priority plus, at most, some workloads of equal priority. Invariant: the
order inside one ClusterQueue is (evicted first, priority, latest reservation first, uid).
"""

from bisect import bisect_left, insort_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from config.api.meta import NANOSECONDS
from engine.objects.specs import PreemptionPolicy
from engine.objects.time_based import is_expired
from engine.objects.workloads import AdmittedWorkload
from engine.vocabulary.flavor_resource import FlavorResource

_TIMESTAMP_BUFFER_NS: Final = 5 * 60 * NANOSECONDS
_FEW: Final = 16
_CROWD: Final = 2048
_in_order: Final = attrgetter("order")


class CandidateList:
    """The workloads of one ClusterQueue that use certain flavors and resources, in order; evicted ones apart."""

    __slots__ = ("_prefix_sums", "evicted", "running")

    def __init__(self, evicted: list[AdmittedWorkload], running: list[AdmittedWorkload]) -> None:
        self.evicted = evicted
        self.running = running
        self._prefix_sums: dict[FlavorResource, list[int]] = {}

    def count_below(self, priority: int) -> int:
        """Return how many of the running ones come before everything of this priority."""
        return bisect_left(self.running, (priority,), key=_in_order)

    def usage_of_first(self, count: int, fr: FlavorResource) -> int:
        """Return what the first `count` of the running ones use together."""
        sums = self._prefix_sums.get(fr)
        if sums is None:
            total = 0
            sums = self._prefix_sums[fr] = [0]
            for workload in self.running:
                total += _usage_of(workload, fr)
                sums.append(total)
        return sums[count]


class CandidateIndex:
    """All workloads of one ClusterQueue, kept in candidate order.

    New candidates are kept apart until they are asked for, or until they are so many that sorting them in would take
    long: a few are put in their places one by one, a crowd, as when the model is filled, is sorted in at once.
    """

    __slots__ = ("_evicted", "_lists", "_newcomers", "_running")

    def __init__(self) -> None:
        self._evicted: list[AdmittedWorkload] = []
        self._running: list[AdmittedWorkload] = []
        self._newcomers: list[AdmittedWorkload] = []
        self._lists: dict[frozenset[FlavorResource], CandidateList] = {}

    def __iter__(self) -> Iterator[AdmittedWorkload]:
        self._settle()
        yield from self._evicted
        yield from self._running

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self._evicted) + len(self._running) + len(self._newcomers)

    def add(self, workload: AdmittedWorkload) -> None:
        """Take a workload in."""
        self._newcomers.append(workload)
        if len(self._newcomers) >= _CROWD:
            self._settle()

    def discard(self, workload: AdmittedWorkload) -> None:
        """Take a workload out."""
        self._settle()
        self._lists.clear()
        part = self._part(workload)
        position = bisect_left(part, workload.order, key=_in_order)
        while part[position] is not workload:
            position += 1
        del part[position]

    def using(self, frs: frozenset[FlavorResource]) -> CandidateList:
        """Return the workloads that were assigned at least one of these, in order."""
        self._settle()
        found = self._lists.get(frs)
        if found is None:
            found = self._lists[frs] = CandidateList(
                [workload for workload in self._evicted if not frs.isdisjoint(workload.uses)],
                [workload for workload in self._running if not frs.isdisjoint(workload.uses)],
            )
        return found

    def _part(self, workload: AdmittedWorkload) -> list[AdmittedWorkload]:
        return self._evicted if workload.is_evicted else self._running

    def _settle(self) -> None:
        newcomers = self._newcomers
        if not newcomers:
            return
        self._lists.clear()
        if len(newcomers) <= _FEW:
            for workload in newcomers:
                insort_left(self._part(workload), workload, key=_in_order)
        else:
            for workload in newcomers:
                self._part(workload).append(workload)
            self._evicted.sort(key=_in_order)
            self._running.sort(key=_in_order)
        newcomers.clear()


@dataclass(frozen=True, slots=True)
class Eligible:
    """The candidates of one ClusterQueue that a policy allows to preempt, in order."""

    candidates: CandidateList
    evicted: Sequence[AdmittedWorkload]
    running: Sequence[AdmittedWorkload]
    prefix: int
    """How many of the running ones are simply the first of the whole list."""

    def __bool__(self) -> bool:
        return bool(self.evicted or self.running)

    def usage_of(self, fr: FlavorResource) -> int:
        """Return what all of them use together."""
        total = self.candidates.usage_of_first(self.prefix, fr)
        for workload in self.running[self.prefix :]:
            total += _usage_of(workload, fr)
        for workload in self.evicted:
            total += _usage_of(workload, fr)
        return total


@dataclass(frozen=True, slots=True)
class ExpiryRule:
    """KEP-8522: equal priority protects a workload of the same ClusterQueue only for a while."""

    now_ns: int
    min_admit_ns: int

    def has_expired(self, workload: AdmittedWorkload) -> bool:
        """Return whether the workload has held its quota longer than it is entitled to."""
        return is_expired(self.now_ns, workload.reserved_at_ns, self.min_admit_ns)


@dataclass(frozen=True, slots=True)
class EligibilityRule:
    """Which candidates one preemptor may take from a ClusterQueue."""

    policy: PreemptionPolicy
    priority: int
    queue_time_ns: int
    needs_buffer: bool
    """Equal priority counts only when the candidate is newer by minutes."""
    is_ordered_by_priority: bool
    """Whether the candidate order follows the priority itself, so that eligibility is a prefix."""
    expiry: ExpiryRule | None = None

    def select(self, candidates: CandidateList) -> Eligible:
        """Return the eligible ones, in the order in which they are preempted."""
        if self.policy is PreemptionPolicy.ANY:
            return Eligible(candidates, candidates.evicted, candidates.running, len(candidates.running))
        evicted = [workload for workload in candidates.evicted if self.allows(workload)]
        if not self.is_ordered_by_priority:
            running, prefix = [workload for workload in candidates.running if self.allows(workload)], 0
        elif self.policy is PreemptionPolicy.LOWER_PRIORITY:
            prefix = candidates.count_below(self.priority)
            running = candidates.running[:prefix]
        else:
            prefix = candidates.count_below(self.priority)
            end = candidates.count_below(self.priority + 1)
            equal = [workload for workload in candidates.running[prefix:end] if self._allows_equal(workload)]
            running = [*candidates.running[:prefix], *equal]
        if self.expiry is not None:
            evicted.sort(key=self._expiry_order)
            running.sort(key=self._expiry_order)
        return Eligible(candidates, evicted, running, prefix)

    def below(self, eligible: Eligible, ceiling: int) -> Eligible:
        """Keep those whose priority is lower than `ceiling`, which is not above the preemptor's own."""
        evicted = [workload for workload in eligible.evicted if workload.priority < ceiling]
        if not self.is_ordered_by_priority:
            running = [workload for workload in eligible.running if workload.priority < ceiling]
            return Eligible(eligible.candidates, evicted, running, 0)
        prefix = min(eligible.prefix, eligible.candidates.count_below(ceiling))
        return Eligible(eligible.candidates, evicted, eligible.running[:prefix], prefix)

    def allows(self, candidate: AdmittedWorkload) -> bool:
        """Return whether the policy lets the preemptor take this candidate."""
        if self.policy is PreemptionPolicy.ANY:
            return True
        if self.policy is PreemptionPolicy.NEVER:
            return False
        if self.priority > candidate.priority:
            return True
        is_equal = self.priority == candidate.priority
        return is_equal and self.policy is not PreemptionPolicy.LOWER_PRIORITY and self._allows_equal(candidate)

    def _allows_equal(self, candidate: AdmittedWorkload) -> bool:
        newer_by = candidate.queue_time_ns - self.queue_time_ns
        if newer_by > (_TIMESTAMP_BUFFER_NS if self.needs_buffer else 0):
            return True
        return self.expiry is not None and self.expiry.has_expired(candidate)

    def is_taken_for_time(self, candidate: AdmittedWorkload) -> bool:
        """Return whether the candidate's time being up is what makes it a victim."""
        if self.expiry is None or candidate.priority != self.priority:
            return False
        return self.expiry.has_expired(candidate)

    def _expiry_order(self, candidate: AdmittedWorkload) -> tuple[int, int, int, str]:
        """Order equal priorities by how long they ran, expired ones first; leave all others as they were."""
        order = candidate.order
        if self.is_taken_for_time(candidate):
            return order.priority, 0, candidate.reserved_at_ns, order.uid
        return order.priority, 1, order.newest_first, order.uid


def _usage_of(workload: AdmittedWorkload, fr: FlavorResource) -> int:
    for used, amount in workload.usage:
        if used is fr:
            return amount
    return 0
