"""Whether a group finds room, without deciding where.

Equal members fill a cluster to the same number whichever node each takes first, so counting how many fit on every node
is enough, and only nodes that changed are counted again. Unlike members are placed for real.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from engine.pods.placement import place_group
from engine.pods.placement_rules import PlacementRules, placed_count
from engine.pods.snapshot import PodKind, Snapshot, kind_of
from engine.pods.values import PendingPod


class GroupFit(Protocol):
    """Tells whether enough members find room in a snapshot as it stands."""

    def has_room(self, changed: Iterable[str]) -> bool:
        """Tell it anew after the loads of the named nodes changed."""


def group_fit(snapshot: Snapshot, members: Sequence[PendingPod], rules: PlacementRules) -> GroupFit:
    """Return the cheapest way to tell that is exact for these members."""
    kinds = {kind_of(pod) for pod in members}
    if len(kinds) == 1:
        return _Counted(snapshot, kinds.pop(), rules.needed)
    return _Placed(snapshot, members, rules)


class _Counted:
    def __init__(self, snapshot: Snapshot, kind: PodKind, needed: int) -> None:
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
    def __init__(self, snapshot: Snapshot, members: Sequence[PendingPod], rules: PlacementRules) -> None:
        self._snapshot = snapshot
        self._members = members
        self._rules = rules

    def has_room(self, changed: Iterable[str]) -> bool:  # noqa: ARG002 - everything is looked at anyway
        ways = place_group(self._snapshot, self._members, self._rules, limit=1).ways
        return placed_count(ways[0]) >= self._rules.needed
