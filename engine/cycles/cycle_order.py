"""In which order the entries of one tree are processed in a cycle.

Classical: those that borrow least first, then by priority and age. With fair sharing a tournament is held before every
step, because what was processed so far changes the shares. Where entries are equal in all of this, Kueue leaves it to
chance, and so it is asked of `Choices`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.forest import root_of
from engine.objects.workloads import AdmittedWorkload, PendingWorkload
from engine.quota.quota_tree import CohortNode, QuotaNode, UsageChanges
from engine.quota.shares import Share, share_of
from engine.search.ties import Choices
from engine.vocabulary.assignment import Assignment
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.flavor_resource import FlavorResource


class OrderedEntry(Protocol):
    """What the order depends on."""

    @property
    def workload(self) -> PendingWorkload:
        """The workload."""
        ...

    @property
    def queue(self) -> ClusterQueue:
        """Its ClusterQueue."""
        ...

    @property
    def assignment(self) -> Assignment:
        """The flavors it is nominated for."""
        ...

    @property
    def is_inert(self) -> bool:
        """Whether it neither influences the other entries nor depends on them."""
        ...


E = TypeVar("E", bound=OrderedEntry)


def classical_order(entries: Sequence[E], gates: FeatureGates, choices: Choices) -> Iterator[E]:
    """Yield the entries in the order in which they are processed without fair sharing."""

    def rank(entry: E) -> tuple[int, int, int]:
        return entry.assignment.borrowing, *seniority(entry.workload, gates)

    remaining = list(entries)
    while remaining:
        first = min(map(rank, remaining))
        chosen = _pick([entry for entry in remaining if rank(entry) == first], choices)
        remaining.remove(chosen)
        yield chosen


def tournament_order(entries: Sequence[E], gates: FeatureGates, choices: Choices) -> Iterator[E]:
    """Yield the entries in the order in which they are processed with fair sharing.

    Those of several trees are processed in any order; trees come together only where they share nodes.
    """
    tournament = _Tournament(entries, gates, choices)
    while tournament.remaining:
        winner = tournament.pop()
        yield winner
        tournament.usage_changed(winner.queue)


def _pick(equals: Sequence[E], choices: Choices) -> E:
    """Pick one of equals; one that changes nothing goes first, so that only what makes a difference is chance."""
    inert = next((entry for entry in equals if entry.is_inert), None)
    if inert is not None:
        return inert
    return equals[choices(len(equals)) if len(equals) > 1 else 0]


def seniority(workload: PendingWorkload | AdmittedWorkload, gates: FeatureGates) -> tuple[int, int]:
    """Return what decides between workloads that borrow alike; the smaller goes first."""
    priority = workload.priority if gates.priority_sorting_within_cohort else 0
    return -priority, workload.queue_time_ns


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a node would stand if the entry's workload were admitted."""

    share: Share
    borrows: bool
    """Anything that the entry asks for."""


class _Tournament(Generic[E]):
    """In every round each cohort sends its best entry up; the one that the root gets is next."""

    def __init__(self, entries: Sequence[E], gates: FeatureGates, choices: Choices) -> None:
        self.remaining = {entry.queue: entry for entry in entries}
        self._gates = gates
        self._choices = choices
        self._standings: dict[tuple[CohortNode, ClusterQueue], _Standing] = {}
        for entry in entries:
            self._note_standings(entry)

    def pop(self) -> E:
        """Take out the winner."""
        roots = list(dict.fromkeys(map(root_of, self.remaining)))
        root = roots[self._choices(len(roots)) if len(roots) > 1 else 0]
        winner = self.winner_of(root) if isinstance(root, CohortNode) else None
        if winner is not None:
            return self.remaining.pop(winner.queue)
        return self.remaining.pop(next(queue for queue in self.remaining if root_of(queue) is root))

    def usage_changed(self, queue: ClusterQueue) -> None:
        """Compute again the entries whose standing depends on usage that this ClusterQueue has a part in."""
        below_root = {cohort for cohort in queue.ancestors() if cohort.parent is not None}
        for other, entry in self.remaining.items():
            if not below_root.isdisjoint(other.ancestors()):
                self._note_standings(entry)

    def winner_of(self, cohort: CohortNode) -> E | None:
        """Return the entry that a cohort sends up, None if it has none left."""
        from_cohorts = [winner for child in cohort.child_cohorts if (winner := self.winner_of(child)) is not None]
        from_queues = [self.remaining[queue] for queue in cohort.active_queues if queue in self.remaining]
        ranked = [(self._rank(cohort, entry), entry) for entry in (*from_cohorts, *from_queues)]
        if not ranked:
            return None
        best = min(rank for rank, _ in ranked)
        # Kueue looks at the cohorts first and changes its mind only for a better entry.
        equals = [entry for rank, entry in ranked[: len(from_cohorts)] if rank == best]
        equals = equals or [entry for rank, entry in ranked if rank == best]
        if cohort.parent is None:
            return _pick(equals, self._choices)
        return equals[self._choices(len(equals)) if len(equals) > 1 else 0]

    def _rank(self, cohort: CohortNode, entry: E) -> tuple[bool, Share, int, int]:
        standing = self._standings[cohort, entry.queue]
        borrows = standing.borrows and self._gates.fair_sharing_prioritize_non_borrowing
        return borrows, standing.share, *seniority(entry.workload, self._gates)

    def _note_standings(self, entry: E) -> None:
        usage = entry.assignment.usage
        changes = UsageChanges()
        for fr, amount in usage.items():
            changes.add(entry.queue.cell(fr), amount)
        node: QuotaNode = entry.queue
        for cohort in entry.queue.ancestors():
            self._standings[cohort, entry.queue] = _Standing(share_of(node), _borrows(node, usage))
            node = cohort
        changes.undo()


def _borrows(node: QuotaNode, usage: Mapping[FlavorResource, int]) -> bool:
    for fr, amount in usage.items():
        cell = node.cells.get(fr)
        if amount > 0 and cell is not None and cell.is_known and cell.usage > cell.subtree_quota:
            return True
    return False
