"""What a placement is, and the rules that every way of finding one shares."""

from typing import NamedTuple

from engine.pods.state.snapshot import NodeSnapshot, kind_of
from engine.pods.values.values import PendingPod

Placement = tuple[int | None, ...]
"""The node index of every member in order; None for a member that found no room."""


class PlacementRules(NamedTuple):
    """How a group is placed: how many must find room, and whether placing stops when they cannot."""

    needed: int
    stops_early: bool


def placed_count(way: Placement) -> int:
    """Return how many members found room."""
    return sum(place is not None for place in way)


def usable_nomination(snapshot: NodeSnapshot, pod: PendingPod) -> int | None:
    """Return the node that a pod is nominated to if it fits there: then no other is tried."""
    place = snapshot.index.get(pod.nominated_node) if pod.nominated_node else None
    if place is None or snapshot.suitability(pod.demands).obstacles[place] is not None:
        return None
    return place if snapshot.fits(place, kind_of(pod)) else None
