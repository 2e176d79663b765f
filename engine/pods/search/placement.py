"""Where the pods of a group land when they are placed one after another, each on the node that scores best.

A tie is a free choice of the scheduler: all ways are followed, up to a limit. Invariant: afterwards the snapshot's
loads are as they were before.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from engine.pods.search.node_order import place_in_every_order
from engine.pods.search.placement_rules import Placement, PlacementRules, placed_count, usable_nomination
from engine.pods.state.ranking import Ranking
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.values import PendingPod

ORDERED_NODES: Final = 6
"""Up to so many nodes every order of them is tried; with more, ties are taken as free one by one."""


class Placements(NamedTuple):
    """The ways in which a group may land."""

    ways: list[Placement]
    is_complete: bool
    is_sampled: bool
    """More nodes were feasible than the scheduler looks at."""

    def split(self, needed: int) -> tuple[list[Placement], list[Placement]]:
        """Return the ways that place enough members, and the others."""
        enough = [way for way in self.ways if placed_count(way) >= needed]
        return enough, [way for way in self.ways if placed_count(way) < needed]


def place_group(
    snapshot: NodeSnapshot,
    members: Sequence[PendingPod],
    rules: PlacementRules,
    *,
    limit: int,
) -> Placements:
    """Return the ways in which the members may land; only the likeliest is followed when `limit` is 1."""
    eligible = eligible_nodes(snapshot, members)
    if limit > 1 and len(eligible) <= ORDERED_NODES:
        ways = place_in_every_order(snapshot, members, rules, eligible)
        return Placements(ways, is_complete=True, is_sampled=False)
    return _Placer(snapshot, members, rules, limit).run()


def eligible_nodes(snapshot: NodeSnapshot, members: Sequence[PendingPod]) -> list[int]:
    """Return the nodes that are not out of the question for all members."""
    every = [snapshot.suitability(demands).obstacles for demands in dict.fromkeys(pod.demands for pod in members)]
    return [place for place in range(len(snapshot.nodes)) if any(obstacles[place] is None for obstacles in every)]


class _Placer:
    """Depth-first search over the scheduler's free choices."""

    def __init__(
        self,
        snapshot: NodeSnapshot,
        members: Sequence[PendingPod],
        rules: PlacementRules,
        limit: int,
    ) -> None:
        self._snapshot = snapshot
        self._members = members
        self._kinds = [kind_of(pod) for pod in members]
        self._rules = rules
        self._limit = limit
        self._rankings: dict[PodKind, Ranking] = {}
        self._chosen: list[int | None] = []
        self._placed = 0
        self._is_complete = True
        self._is_sampled = False

    def run(self) -> Placements:
        """Follow the choices; the first way is the one that the present order of nodes suggests."""
        ways: list[Placement] = []
        open_choices: list[list[int | None]] = []
        while True:
            while not self._is_settled():
                choices = self._choices()
                open_choices.append(choices)
                self._assume(choices.pop(0))
            ways.append((*self._chosen, *[None] * (len(self._members) - len(self._chosen))))
            while open_choices and not open_choices[-1]:
                open_choices.pop()
                self._revert()
            if not open_choices:
                return Placements(ways, self._is_complete, self._is_sampled)
            if len(ways) >= self._limit:
                while self._chosen:
                    self._revert()
                return Placements(ways, is_complete=False, is_sampled=self._is_sampled)
            self._revert()
            self._assume(open_choices[-1].pop(0))

    def _is_settled(self) -> bool:
        remaining = len(self._members) - len(self._chosen)
        return not remaining or (self._rules.stops_early and self._placed + remaining < self._rules.needed)

    def _choices(self) -> list[int | None]:
        self._snapshot.effort.spend()
        position = len(self._chosen)
        pod, kind = self._members[position], self._kinds[position]
        own = usable_nomination(self._snapshot, pod)
        if own is not None:
            return [own]
        ranking = self._rankings.get(kind)
        if ranking is None:
            ranking = self._rankings[kind] = Ranking(self._snapshot, kind)
        self._is_sampled |= ranking.feasible > self._snapshot.sample_size
        places, has_equals = ranking.best(all_of_them=self._limit > 1)
        if has_equals and self._limit == 1:
            self._is_complete = False
        return [*places] or [None]

    def _assume(self, place: int | None) -> None:
        pod = self._members[len(self._chosen)]
        self._chosen.append(place)
        if place is not None:
            self._placed += 1
            self._snapshot.loads[place].add(pod.footprint)
            self._refresh(place)

    def _revert(self) -> None:
        place = self._chosen.pop()
        if place is not None:
            self._placed -= 1
            self._snapshot.loads[place].remove(self._members[len(self._chosen)].footprint)
            self._refresh(place)

    def _refresh(self, place: int) -> None:
        for ranking in self._rankings.values():
            ranking.refresh(place)
