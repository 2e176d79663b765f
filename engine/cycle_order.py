"""In which order the entries of one tree are processed in a cycle.

Classical: those that borrow least first, then by priority and age. With fair sharing a tournament is held before every
step, because what was processed so far changes the shares. Where entries are equal in all of this, Kueue leaves it to
chance, and so it is asked of `Choices`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from engine.assignment import Assignment
from engine.cluster_queue import ClusterQueue
from engine.features import FeatureGates
from engine.forest import root_of
from engine.nomination import Choices
from engine.quota_tree import CohortNode, FlavorResource, QuotaNode, UsageChanges
from engine.shares import Share, share_of
from engine.workloads import PendingWorkload


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


E = TypeVar("E", bound=OrderedEntry)


def classical_order(entries: Sequence[E], gates: FeatureGates, choices: Choices) -> Iterator[E]:
    """Yield the entries in the order in which they are processed without fair sharing."""

    def rank(entry: E) -> tuple[int, int, int]:
        return entry.assignment.borrowing, *_seniority(entry.workload, gates)

    remaining = list(entries)
    while remaining:
        first = min(map(rank, remaining))
        equals = [entry for entry in remaining if rank(entry) == first]
        chosen = equals[choices(len(equals)) if len(equals) > 1 else 0]
        remaining.remove(chosen)
        yield chosen


def tournament_order(entries: Sequence[E], gates: FeatureGates, choices: Choices) -> Iterator[E]:
    """Yield the entries in the order in which they are processed with fair sharing."""
    remaining = {entry.queue: entry for entry in entries}
    while remaining:
        queue = next(iter(remaining))
        root = root_of(queue)
        winner = remaining[queue]
        if isinstance(root, CohortNode):
            found = _Tournament(remaining, gates, choices).winner_of(root)
            if found is not None:
                winner = found
        del remaining[winner.queue]
        yield winner


def _seniority(workload: PendingWorkload, gates: FeatureGates) -> tuple[int, int]:
    priority = workload.priority if gates.priority_sorting_within_cohort else 0
    return -priority, workload.queue_time_ns


@dataclass(frozen=True, slots=True)
class _Standing:
    """How a node would stand if the entry's workload were admitted."""

    share: Share
    borrows: bool
    """Anything that the entry asks for."""


class _Tournament(Generic[E]):
    """One round: every cohort sends its best entry up."""

    def __init__(self, entries: Mapping[ClusterQueue, E], gates: FeatureGates, choices: Choices) -> None:
        self._entries = entries
        self._gates = gates
        self._choices = choices
        self._standings: dict[tuple[CohortNode, ClusterQueue], _Standing] = {}
        for entry in entries.values():
            self._note_standings(entry)

    def winner_of(self, cohort: CohortNode) -> E | None:
        """Return the entry that a cohort sends up, None if it has none left."""
        from_cohorts = [winner for child in cohort.child_cohorts if (winner := self.winner_of(child)) is not None]
        from_queues = [self._entries[queue] for queue in cohort.active_queues if queue in self._entries]
        ranked = [(self._rank(cohort, entry), entry) for entry in (*from_cohorts, *from_queues)]
        if not ranked:
            return None
        best = min(rank for rank, _ in ranked)
        # Kueue looks at the cohorts first and changes its mind only for a better entry.
        equals = [entry for rank, entry in ranked[: len(from_cohorts)] if rank == best]
        equals = equals or [entry for rank, entry in ranked if rank == best]
        return equals[self._choices(len(equals)) if len(equals) > 1 else 0]

    def _rank(self, cohort: CohortNode, entry: E) -> tuple[bool, Share, int, int]:
        standing = self._standings[cohort, entry.queue]
        borrows = standing.borrows and self._gates.fair_sharing_prioritize_non_borrowing
        return borrows, standing.share, *_seniority(entry.workload, self._gates)

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
