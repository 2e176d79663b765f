"""Where the pods of one pod set, or of a leader with its workers, go in one tree.

First a level is found on which one domain, or several, hold all of them; then the pods are handed down level by level.
Orders and tie-breaks are Kueue's, down to the values of the levels, so that the answer is one and not any.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from engine.topology.counts import DomainCounts
from engine.topology.tree import Domain


class NoPlaceError(ValueError):
    """There is no place for all; how many slices there is one for, and on which level the search ended."""

    def __init__(self, placed: int, level: int) -> None:
        super().__init__("no place")
        self.placed: Final = placed
        self.level: Final = level


class NoDomainsError(ValueError):
    """The level has no domains at all."""

    def __init__(self, level: int) -> None:
        super().__init__("no domains")
        self.level: Final = level


class LeafShare(NamedTuple):
    """What one leaf gets."""

    leaf: Domain
    pods: int
    leaders: int


class _Share:
    """A domain with what it can hold, and later with what it gets."""

    __slots__ = ("domain", "leaders", "pods", "pods_with_leader", "slices", "slices_with_leader")

    def __init__(self, domain: Domain, counts: DomainCounts) -> None:
        level, index = domain.level, domain.index
        self.domain: Final = domain
        self.pods = counts.pods[level][index]
        self.pods_with_leader = counts.pods_with_leader[level][index]
        self.slices = counts.slices[level][index]
        self.slices_with_leader = counts.slices_with_leader[level][index]
        self.leaders = counts.leaders[level][index]

    def held(self, *, by_slices: bool, with_leader: bool) -> int:
        """Return how many slices, or pods, find room."""
        if by_slices:
            return self.slices_with_leader if with_leader else self.slices
        return self.pods_with_leader if with_leader else self.pods


class LevelSearch:
    """One search in one tree."""

    def __init__(self, counts: DomainCounts, count: int, *, least_free_first: bool) -> None:
        self._counts: Final = counts
        self._count: Final = count
        self._plan: Final = counts.question.plan
        self._need: Final = counts.question.need
        self._leaders: Final = 0 if counts.question.leader is None else 1
        self._least_free_first: Final = least_free_first
        sign = 1 if least_free_first else -1
        self._by_workers: Final[Callable[[_Share], tuple[object, ...]]] = lambda share: (
            sign * share.slices,
            share.pods,
            share.domain.values,
        )
        self._by_leader: Final[Callable[[_Share], tuple[object, ...]]] = lambda share: (
            -share.leaders,
            sign * share.slices_with_leader,
            share.pods_with_leader,
            share.domain.values,
        )

    def run(self) -> list[LeafShare]:
        """Return what each leaf gets, in the order of the leaves; raises where there is no place."""
        level, found = self._fit_level(self._plan.level)
        plan, size = self._plan, self._plan.slice_size
        lowest = len(self._counts.tree.levels) - 1
        inner = plan.inner_sizes
        shares = self._minimise(found, self._count, self._leaders, size, by_slices=True)
        for _ in range(level, min(lowest, plan.slice_level)):
            below = sorted(self._children(shares), key=self._by_workers)
            shares = self._minimise(below, self._count, self._leaders, size, by_slices=True)
        for above in range(max(level, min(lowest, plan.slice_level)), lowest):
            shares = self._hand_down(shares, inner.get(above + 1, 1))
        shares.sort(key=lambda share: share.domain.index)
        return [LeafShare(share.domain, share.pods, share.leaders) for share in shares if share.pods or share.leaders]

    def _hand_down(self, shares: Sequence[_Share], size: int) -> list[_Share]:
        """Give each domain's pods to its own children."""
        handed: list[_Share] = []
        for share in shares:
            children = sorted(self._children((share,)), key=self._by_workers)
            if size > 1:
                for child in children:
                    child.slices = child.pods // size
                    child.slices_with_leader = child.pods_with_leader // size
            handed += self._minimise(children, share.pods, share.leaders, size, by_slices=size > 1)
        return handed

    def _children(self, shares: Sequence[_Share]) -> list[_Share]:
        counts = self._counts
        return [_Share(child, counts) for share in shares for child in share.domain.children]

    def _fit_level(self, level: int) -> tuple[int, list[_Share]]:
        need, leaders, is_best_fit = self._need, self._leaders, not self._least_free_first
        domains = self._counts.tree.domains[level]
        if not domains:
            raise NoDomainsError(level)
        order = sorted((_Share(domain, self._counts) for domain in domains), key=self._by_leader)
        top = order[0]
        if is_best_fit and top.slices_with_leader >= need and top.leaders >= leaders:
            top = _best(order, need, leaders, by_slices=True)
        if not is_best_fit:
            for share in order:
                if share.leaders >= leaders and share.held(by_slices=True, with_leader=bool(leaders)) >= need:
                    return level, [share]
        if top.slices_with_leader >= need and top.leaders >= leaders:
            return level, [top]
        if self._plan.is_required:
            raise NoPlaceError(top.slices, level)
        if level > 0 and not self._plan.is_unconstrained:
            return self._fit_level(level - 1)
        return level, self._spread(order, level)

    def _spread(self, order: list[_Share], level: int) -> list[_Share]:
        """Take several domains of a level."""
        is_best_fit = not self._least_free_first
        found: list[_Share] = []
        missing, leaders = self._need, self._leaders
        order = _prioritised(order, self._count, leaders, self._plan.slice_size, by_slices=True)
        while leaders > 0 and order and order[0].leaders > 0:
            share = order[0]
            if is_best_fit and share.slices_with_leader >= missing:
                share = _best(order, missing, leaders, by_slices=True)
            found.append(share)
            leaders -= share.leaders
            missing -= share.slices_with_leader
            order = order[1:]
        if leaders > 0:
            raise NoPlaceError(self._leaders - leaders, level)
        by_workers = sorted(order, key=self._by_workers)
        for index, first in enumerate(by_workers):
            if missing <= 0:
                break
            fits = is_best_fit and first.slices >= missing
            share = _best(by_workers[index:], missing, 0, by_slices=True) if fits else first
            found.append(share)
            missing -= share.slices
        if missing > 0:
            raise NoPlaceError(self._need - missing, level)
        return found

    def _minimise(self, shares: list[_Share], count: int, leaders: int, size: int, *, by_slices: bool) -> list[_Share]:
        """Keep as few domains as hold the pods, and say what each of them gets."""
        is_best_fit = not self._least_free_first
        shares = _prioritised(shares, count, leaders, size, by_slices=by_slices)
        missing = count // size if by_slices else count
        unit = size if by_slices else 1
        kept: list[_Share] = []
        for index, first in enumerate(shares):
            share = first
            if leaders > 0:
                held = share.held(by_slices=by_slices, with_leader=True)
                if is_best_fit and held >= missing and share.leaders >= leaders:
                    share = _best(shares[index:], missing, leaders, by_slices=by_slices)
                    held = share.held(by_slices=by_slices, with_leader=True)
                taken, is_last = min(held, missing), held >= missing and share.leaders >= leaders
                share.leaders = min(share.leaders, leaders)
                leaders -= share.leaders
            else:
                held = share.held(by_slices=by_slices, with_leader=False)
                if is_best_fit and held >= missing:
                    share = _best(shares[index:], missing, 0, by_slices=by_slices)
                    held = share.held(by_slices=by_slices, with_leader=False)
                taken, is_last = min(held, missing), held >= missing
                share.leaders = 0
            share.pods = taken * unit
            if by_slices:
                share.slices = taken
            kept.append(share)
            if is_last:
                return kept
            missing -= taken
        return []


def _best(shares: Sequence[_Share], need: int, leaders: int, *, by_slices: bool) -> _Share:
    """Return the tightest domain that holds all, the first one if none does."""
    with_leader = leaders > 0
    fitting = [
        share
        for share in shares
        if share.leaders >= leaders and share.held(by_slices=by_slices, with_leader=with_leader) >= need
    ]
    return min(fitting, key=lambda share: share.held(by_slices=by_slices, with_leader=with_leader), default=shares[0])


def _prioritised(shares: list[_Share], count: int, leaders: int, size: int, *, by_slices: bool) -> list[_Share]:
    """Put first the domain that can take the leader and leaves room for all workers."""
    if leaders == 0 or len(shares) < 2:
        return shares
    available = sum(share.slices if by_slices else share.pods for share in shares)
    needed = count // size if by_slices else count
    for index, share in enumerate(shares):
        lost = share.held(by_slices=by_slices, with_leader=False) - share.held(by_slices=by_slices, with_leader=True)
        if share.leaders >= leaders and available - lost >= needed:
            return [share, *shares[:index], *shares[index + 1 :]]
    return shares
