"""Whether a group finds room, without deciding where.

Equal members fill a cluster to the same number whichever node each takes first, so counting how many fit on every node
is enough, and only nodes that changed are counted again. Unlike members are placed for real, and whether all of them
find room may depend on the order in which the scheduler goes through the nodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, permutations
from typing import Final, Protocol

from engine.pods.search.node_order import OrderedPlacing
from engine.pods.search.placement import ORDERED_NODES, eligible_nodes, place_group
from engine.pods.search.placement_rules import PlacementRules, placed_count
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.values import PendingPod

_MOST_ORDERS: Final = 120
"""How many orders of the nodes are tried: all orders of five."""
_MOST_TRIALS: Final = 4000


class Trials:
    """How often a forecast may still place a group of unlike members before it gives up listing further ways."""

    def __init__(self) -> None:
        """Start with all of them."""
        self._left = _MOST_TRIALS
        self.ran_out = False

    def count(self) -> None:
        """Count one."""
        self._left -= 1

    def may_go_on(self) -> bool:
        """Return whether another way may be followed, and remember when not."""
        self.ran_out |= self._left <= 0
        return self._left > 0


class GroupFit(Protocol):
    """Decides whether enough members find room in a snapshot as it is."""

    is_monotone: bool
    """Whether taking pods away never makes the room vanish."""

    def has_room(self, changed: Iterable[str]) -> bool:
        """Recompute it after the loads of the named nodes changed."""


def group_fit(snapshot: NodeSnapshot, members: Sequence[PendingPod], rules: PlacementRules) -> GroupFit:
    """Return the cheapest check that is exact for these members."""
    kinds = {kind_of(pod) for pod in members}
    if len(kinds) == 1:
        return _Counted(snapshot, kinds.pop(), rules.needed)
    return _Placed(snapshot, members, rules)


def group_fits(
    snapshot: NodeSnapshot, members: Sequence[PendingPod], rules: PlacementRules, *, limit: int, trials: Trials
) -> Iterator[GroupFit]:
    """Yield one check for each order of the nodes that may matter; each is to be used up before the next."""
    eligible = eligible_nodes(snapshot, members)
    if limit == 1 or len(eligible) > ORDERED_NODES or len({kind_of(pod) for pod in members}) == 1:
        yield group_fit(snapshot, members, rules)
        return
    for order in islice(permutations(eligible), _MOST_ORDERS):
        fit = _PlacedInOrder(snapshot, members, rules, order, trials)
        if fit.has_room(()):
            yield fit
        if not fit.met_tie or not trials.may_go_on():
            return


class _Counted:
    is_monotone = True

    def __init__(self, snapshot: NodeSnapshot, kind: PodKind, needed: int) -> None:
        self._snapshot = snapshot
        self._kind = kind
        self._needed = needed
        self._obstacles = snapshot.suitability(kind.demands).obstacles
        self._counts = [self._count(place) for place in range(len(snapshot.nodes))]
        self._total = sum(self._counts)

    def has_room(self, changed: Iterable[str]) -> bool:
        index = self._snapshot.index
        for name in set(changed):
            place = index[name]
            count = self._count(place)
            self._total += count - self._counts[place]
            self._counts[place] = count
        return self._total >= self._needed

    def _count(self, place: int) -> int:
        if self._obstacles[place] is not None:
            return 0
        snapshot, kind = self._snapshot, self._kind
        if not snapshot.nominated:
            return snapshot.loads[place].how_many_fit(snapshot.nodes[place], kind.footprint)
        with snapshot.reserved(place, kind.priority) as load:
            return load.how_many_fit(snapshot.nodes[place], kind.footprint)


class _Placed:
    is_monotone = False

    def __init__(self, snapshot: NodeSnapshot, members: Sequence[PendingPod], rules: PlacementRules) -> None:
        self._snapshot = snapshot
        self._members = members
        self._rules = rules

    def has_room(self, changed: Iterable[str]) -> bool:  # noqa: ARG002 - everything is checked anyway
        ways = place_group(self._snapshot, self._members, self._rules, limit=1).ways
        return placed_count(ways[0]) >= self._rules.needed


class _PlacedInOrder:
    is_monotone = False

    def __init__(
        self,
        snapshot: NodeSnapshot,
        members: Sequence[PendingPod],
        rules: PlacementRules,
        order: Sequence[int],
        trials: Trials,
    ) -> None:
        self._snapshot = snapshot
        self._members = members
        self._rules = rules
        self._order = order
        self._trials = trials
        self.met_tie = False

    def has_room(self, changed: Iterable[str]) -> bool:  # noqa: ARG002 - everything is checked anyway
        self._trials.count()
        placing = OrderedPlacing(self._snapshot, self._members, self._rules, self._order)
        way = placing.run()
        self.met_tie |= placing.met_tie
        return placed_count(way) >= self._rules.needed
