"""How many pods fit into every domain of a tree: counted once per question, then kept up to date leaf by leaf.

A leaf holds as many pods as its scarcest resource allows; the numbers of an inner domain are sums over its children.
With a leader, a second set of numbers says how many workers fit once the leader has taken its place in the domain.
After a change of usage on one leaf only the domains above it are touched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from engine.topology.levels import LevelPlan
from engine.topology.matching import LeafMatches, NodeConstraints
from engine.topology.node_inventory import NodeAmounts
from engine.topology.tree import Domain, FlavorTree, LeafDomain

_MAX_PODS: Final = 2**31 - 1
_MAX_KEPT: Final = 32
"""How many questions about one tree are kept up to date; a pending queue asks few different ones."""


@dataclass(frozen=True, slots=True)
class CountQuestion:
    """What is counted: pods of this size under these conditions."""

    single: tuple[tuple[str, int], ...]
    """What one pod takes, sorted by resource, the pod slot included."""
    leader: tuple[tuple[str, int], ...] | None
    constraints: NodeConstraints
    plan: LevelPlan
    need: int
    """So many slices are to be placed."""
    on_empty: bool
    """As if no workload with a topology assignment were there."""


def pods_that_fit(single: tuple[tuple[str, int], ...], left: NodeAmounts) -> int:
    """Return how many pods find room; nothing is asked for means no answer, which is none."""
    if not single:
        return 0
    found = _MAX_PODS
    for resource, amount in single:
        if amount:
            room = left.get(resource, 0)
            found = min(found, room // amount) if room > 0 else 0
    return found


def limiting_resource(single: tuple[tuple[str, int], ...], left: NodeAmounts) -> str:
    """Return the resource that allows the fewest pods, the first by name of several."""
    return min(single, key=lambda item: (pods_that_fit((item,), left), item[0]))[0]


class DomainCounts:
    """The numbers of every domain of a tree for one question, by level and index."""

    def __init__(self, tree: FlavorTree, question: CountQuestion, matches: LeafMatches) -> None:
        self.tree: Final = tree
        self.question: Final = question
        self.matches: Final = matches
        self._has_leader: Final = question.leader is not None
        self._inner: Final = question.plan.inner_sizes
        self._read = 0
        self._epoch = -1
        self.pods: list[list[int]] = []
        self.pods_with_leader: list[list[int]] = []
        self.slices: list[list[int]] = []
        self.slices_with_leader: list[list[int]] = []
        self.leaders: list[list[int]] = []

    def refresh(self) -> None:
        """Take in what changed since the last look."""
        tree = self.tree
        if self._epoch != tree.epoch:
            self._count_all()
        else:
            for index in dict.fromkeys(tree.journal[self._read :]):
                self._recount(tree.leaves[index])
        self._epoch, self._read = tree.epoch, len(tree.journal)

    def left(self, leaf: LeafDomain) -> NodeAmounts:
        """Return what is free on a leaf."""
        on_empty = self.question.on_empty
        if leaf.assumed is None and (on_empty or not leaf.used):
            return leaf.free
        left = dict(leaf.free)
        for taken in (leaf.assumed, None if on_empty else leaf.used):
            if taken:
                for resource, amount in taken.items():
                    left[resource] = left.get(resource, 0) - amount
        return left

    def fits(self) -> bool:
        """Return whether the question can be answered with yes; the placement itself need not be known."""
        plan, need = self.question.plan, self.question.need
        if plan.is_unconstrained:
            return self._fits_spread(plan.level)
        if self._best_domain_holds(plan.level, need):
            return True
        if plan.is_required:
            return False
        return any(self._best_domain_holds(level, need) for level in range(plan.level)) or self._fits_spread(0)

    def _best_domain_holds(self, level: int, need: int) -> bool:
        held = self.slices_with_leader[level]
        if not held:
            return False
        if not self._has_leader:
            return max(held) >= need
        return any(leader and slices >= need for leader, slices in zip(self.leaders[level], held, strict=True))

    def _fits_spread(self, level: int) -> bool:
        need, slices = self.question.need, self.slices[level]
        if not slices:
            return False
        total = sum(slices)
        if not self._has_leader:
            return total >= need
        losses = (
            without - held
            for leader, without, held in zip(self.leaders[level], slices, self.slices_with_leader[level], strict=True)
            if leader
        )
        return any(total - loss >= need for loss in losses)

    def _count_all(self) -> None:
        sizes = [len(domains) for domains in self.tree.domains]
        self.pods = [[0] * size for size in sizes]
        self.slices = [[0] * size for size in sizes]
        if self._has_leader:
            self.pods_with_leader = [[0] * size for size in sizes]
            self.slices_with_leader = [[0] * size for size in sizes]
        else:
            self.pods_with_leader, self.slices_with_leader = self.pods, self.slices
        self.leaders = [[0] * size for size in sizes]
        for leaf in self.tree.leaves:
            self._count_leaf(leaf)
        for domains in reversed(self.tree.domains[:-1]):
            for domain in domains:
                self._count_inner(domain)

    def _recount(self, leaf: LeafDomain) -> None:
        self._count_leaf(leaf)
        domain = leaf.parent
        while domain is not None:
            self._count_inner(domain)
            domain = domain.parent

    def _count_leaf(self, leaf: LeafDomain) -> None:
        level, index = leaf.level, leaf.index
        if index in self.matches.excluded:
            return
        question = self.question
        left = self.left(leaf)
        pods = self.pods[level][index] = pods_that_fit(question.single, left)
        if question.leader is not None:
            has_room = pods_that_fit(question.leader, left) > 0
            self.leaders[level][index] = int(has_room)
            if has_room:
                left = dict(left)
                for resource, amount in question.leader:
                    left[resource] = left.get(resource, 0) - amount
                pods = pods_that_fit(question.single, left)
            self.pods_with_leader[level][index] = pods
        if level == question.plan.slice_level:
            self._cut_into_slices(level, index)

    def _count_inner(self, domain: Domain) -> None:
        level, index, below = domain.level, domain.index, domain.level + 1
        size = self._inner.get(below, 1)
        pods, slices = self.pods[below], self.slices[below]
        children = [child.index for child in domain.children]
        self.pods[level][index] = sum(pods[child] // size * size for child in children)
        self.slices[level][index] = sum(slices[child] for child in children)
        if self._has_leader:
            self._count_with_leader(domain, children, size)
        if level == self.question.plan.slice_level:
            self._cut_into_slices(level, index)

    def _count_with_leader(self, domain: Domain, children: list[int], size: int) -> None:
        level, index, below = domain.level, domain.index, domain.level + 1
        pods, with_leader = self.pods[below], self.pods_with_leader[below]
        slices, slices_with_leader = self.slices[below], self.slices_with_leader[below]
        leaders = self.leaders[below]
        self.leaders[level][index] = max(leaders[child] for child in children)
        able = [child for child in children if leaders[child]]
        if not able:
            self.pods_with_leader[level][index] = self.slices_with_leader[level][index] = 0
            return
        pods_lost = min(pods[child] // size * size - with_leader[child] // size * size for child in able)
        slices_lost = min(slices[child] - slices_with_leader[child] for child in able)
        self.pods_with_leader[level][index] = self.pods[level][index] - pods_lost
        self.slices_with_leader[level][index] = self.slices[level][index] - slices_lost

    def _cut_into_slices(self, level: int, index: int) -> None:
        size = self.question.plan.slice_size
        self.slices[level][index] = self.pods[level][index] // size
        if self._has_leader:
            self.slices_with_leader[level][index] = self.pods_with_leader[level][index] // size


class CountKeeper:
    """Keeps the counts of the questions that were asked last about one tree."""

    def __init__(self, tree: FlavorTree, spend: Callable[[int], None]) -> None:
        self.tree: Final = tree
        self.spend: Final = spend
        """Takes the steps of what is worked out."""
        self._matches: dict[NodeConstraints, LeafMatches] = {}
        self._counts: dict[CountQuestion, DomainCounts] = {}

    def counts(self, question: CountQuestion) -> DomainCounts:
        """Return the numbers for a question as they are now."""
        known = self._counts.pop(question, None)
        if known is None:
            self.spend(len(self.tree.leaves))
            known = DomainCounts(self.tree, question, self._matching(question.constraints))
        self._counts[question] = known
        if len(self._counts) > _MAX_KEPT:
            del self._counts[next(iter(self._counts))]
        known.refresh()
        return known

    def _matching(self, constraints: NodeConstraints) -> LeafMatches:
        known = self._matches.get(constraints)
        if known is None:
            if len(self._matches) >= _MAX_KEPT:
                self._matches.clear()
            known = self._matches[constraints] = LeafMatches(self.tree, constraints)
        return known


def exclusions(counts: DomainCounts) -> Mapping[str, int]:
    """Return for how many leaves each cause kept every pod away."""
    found: dict[str, int] = {}
    for leaf in counts.tree.leaves:
        cause = counts.matches.excluded.get(leaf.index)
        if cause is None and counts.pods[leaf.level][leaf.index] == 0:
            cause = f'resource "{limiting_resource(counts.question.single, counts.left(leaf))}"'
        if cause is not None:
            found[cause] = found.get(cause, 0) + 1
    return found
