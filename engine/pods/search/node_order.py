"""Placing a group while the scheduler goes through the nodes in one order, which is unknown outside.

During a cycle that order is fixed, so ties are not free one by one: a node that is preferred once is preferred again.
With few nodes all orders are tried. The scheduler collects feasible nodes in parallel, so on a busy machine the order
can slip within a cycle; what only comes about that way is not listed.

Among equal scores the scheduler takes the root of a binary heap that it fills in the order of the nodes; with four
nodes or more that is not always the first of them.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

from engine.pods.search.placement_rules import Placement, PlacementRules, usable_nomination
from engine.pods.state.ranking import Ranking
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.values import PendingPod


def place_in_every_order(
    snapshot: NodeSnapshot,
    members: Sequence[PendingPod],
    rules: PlacementRules,
    eligible: Sequence[int],
) -> list[Placement]:
    """Return the distinct ways in which the members may land, the one of the present order first."""
    ways: dict[Placement, None] = {}
    for order in permutations(eligible):
        placing = OrderedPlacing(snapshot, members, rules, order)
        ways[placing.run()] = None
        if not placing.met_tie:
            break
    return list(ways)


class OrderedPlacing:
    """Places a group once, going through the nodes in a given order."""

    def __init__(
        self,
        snapshot: NodeSnapshot,
        members: Sequence[PendingPod],
        rules: PlacementRules,
        order: Sequence[int],
    ) -> None:
        """Start with no pod placed."""
        self._snapshot = snapshot
        self._members = members
        self._rules = rules
        self._order = order
        self._rankings: dict[PodKind, Ranking] = {}
        self.met_tie = False

    def run(self) -> Placement:
        """Place the members and take them off again."""
        way: list[int | None] = []
        for pod in self._members:
            remaining = len(self._members) - len(way)
            placed = sum(place is not None for place in way)
            if self._rules.stops_early and placed + remaining < self._rules.needed:
                break
            way.append(self._place(pod))
        for pod, place in zip(self._members, way, strict=False):
            if place is not None:
                self._snapshot.loads[place].remove(pod.footprint)
        return (*way, *[None] * (len(self._members) - len(way)))

    def _place(self, pod: PendingPod) -> int | None:
        place = self._pick(pod, kind_of(pod))
        if place is not None:
            self._snapshot.loads[place].add(pod.footprint)
            for ranking in self._rankings.values():
                ranking.refresh(place)
        return place

    def _pick(self, pod: PendingPod, kind: PodKind) -> int | None:
        own = usable_nomination(self._snapshot, pod)
        if own is not None:
            return own
        ranking = self._rankings.get(kind)
        if ranking is None:
            ranking = self._rankings[kind] = Ranking(self._snapshot, kind)
        scores = ranking.scores()
        listed = [(scores[place], place) for place in self._order if place in scores]
        if not listed:
            return None
        best = max(scores.values())
        self.met_tie |= sum(score == best for score, _ in listed) > 1
        return heap_root(listed)


def heap_root(listed: Sequence[tuple[int, int]]) -> int:
    """Return the node at the root of the heap that these scored nodes make in this order."""
    heap = list(listed)
    for start in range(len(heap) // 2 - 1, -1, -1):
        _sift_down(heap, start)
    return heap[0][1]


def _sift_down(heap: list[tuple[int, int]], parent: int) -> None:
    while True:
        better = max(_children(heap, parent), key=lambda child: (heap[child][0], -child), default=None)
        if better is None or heap[better][0] <= heap[parent][0]:
            return
        heap[parent], heap[better] = heap[better], heap[parent]
        parent = better


def _children(heap: Sequence[object], parent: int) -> Iterator[int]:
    yield from (child for child in (2 * parent + 1, 2 * parent + 2) if child < len(heap))
