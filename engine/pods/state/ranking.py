"""The nodes that a kind of pods fits on, best first, kept current while pods come and go.

Only the node that changed is scored again, so a group of many equal pods costs one pass over the nodes and a few steps
per pod. Tastes (soft taints, preferences) are normalised over the nodes that are feasible at the moment, as the
scheduler does; nodes are therefore kept apart by their tastes.
"""

from heapq import heappop, heappush
from typing import Final

from engine.pods.state.snapshot import NodeSnapshot, PodKind

_TAINT_WEIGHT: Final = 3
_AFFINITY_WEIGHT: Final = 2
_FULL: Final = 100

_Entry = tuple[int, int, int]
"""Score negated, node index, version of the node."""


class Ranking:
    """Feasible nodes of a snapshot for one kind of pods."""

    __slots__ = ("_buckets", "_is_feasible", "_kind", "_snapshot", "_suitability", "_versions", "feasible")

    def __init__(self, snapshot: NodeSnapshot, kind: PodKind) -> None:
        """Score every node once."""
        self._snapshot = snapshot
        self._kind = kind
        self._suitability = snapshot.suitability(kind.demands)
        self._buckets: dict[tuple[int, int], list[_Entry]] = {}
        self._versions = [0] * len(snapshot.nodes)
        self._is_feasible = [False] * len(snapshot.nodes)
        self.feasible = 0
        for place in range(len(snapshot.nodes)):
            self.refresh(place)

    def refresh(self, place: int) -> None:
        """Score a node again."""
        if self._suitability.obstacles[place] is not None:
            return
        version = self._versions[place] = self._versions[place] + 1
        snapshot, kind = self._snapshot, self._kind
        is_feasible = snapshot.fits(place, kind)
        self.feasible += is_feasible - self._is_feasible[place]
        self._is_feasible[place] = is_feasible
        if is_feasible:
            heappush(
                self._buckets.setdefault(self._suitability.tastes[place], []), (-self._score(place), place, version)
            )

    def scores(self) -> dict[int, int]:
        """Return the scores of all feasible nodes."""
        places = [place for place, is_feasible in enumerate(self._is_feasible) if is_feasible]
        tastes = [self._suitability.tastes[place] for place in places]
        most_taints = max((taints for taints, _ in tastes), default=0)
        most_liked = max((liked for _, liked in tastes), default=0)
        return {
            place: self._score(place) + _normalised(taste[0], most_taints, taste[1], most_liked)
            for place, taste in zip(places, tastes, strict=True)
        }

    def best(self, *, all_of_them: bool) -> tuple[list[int], bool]:
        """Return the best nodes, and whether there are others as good; without `all_of_them` only the first."""
        tops = {taste: heap[0] for taste, heap in self._buckets.items() if self._clean(heap)}
        if not tops:
            return [], False
        most_taints = max(taints for taints, _ in tops)
        most_liked = max(liked for _, liked in tops)
        totals = {
            taste: -entry[0] + _normalised(taste[0], most_taints, taste[1], most_liked) for taste, entry in tops.items()
        }
        best = max(totals.values())
        tied = [taste for taste, total in totals.items() if total == best]
        if all_of_them:
            places = sorted(place for taste in tied for place in self._equals(self._buckets[taste]))
            return places, len(places) > 1
        first = min(tied, key=lambda taste: tops[taste][1])
        return [tops[first][1]], len(tied) > 1 or self._has_equal(self._buckets[first])

    def _score(self, place: int) -> int:
        return self._snapshot.loads[place].score(self._snapshot.nodes[place], self._kind.footprint)

    def _clean(self, heap: list[_Entry]) -> bool:
        """Drop outdated entries from the top; return whether any is left."""
        while heap:
            _, place, version = heap[0]
            if self._versions[place] == version and self._is_feasible[place]:
                return True
            heappop(heap)
        return False

    def _equals(self, heap: list[_Entry]) -> list[int]:
        """Return all nodes with the score of the first."""
        score, found = heap[0][0], []
        while self._clean(heap) and heap[0][0] == score:
            found.append(heappop(heap))
        for entry in found:
            heappush(heap, entry)
        return [place for _, place, _ in found]

    def _has_equal(self, heap: list[_Entry]) -> bool:
        first = heappop(heap)
        has_equal = self._clean(heap) and heap[0][0] == first[0]
        heappush(heap, first)
        return has_equal


def _normalised(taints: int, most_taints: int, liked: int, most_liked: int) -> int:
    unwelcome = _FULL * taints // most_taints if most_taints else 0
    preferred = _FULL * liked // most_liked if most_liked else 0
    return _TAINT_WEIGHT * (_FULL - unwelcome) + _AFFINITY_WEIGHT * preferred
