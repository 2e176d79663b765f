"""A model frozen for one forecast: loads that may be tried out without touching the live picture."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Final, NamedTuple

from config.api.meta import ObjectKey
from engine.pods.state.model import PodModel
from engine.pods.state.suitability import liking, obstacle, unwelcome_taints
from engine.pods.values.explanation import NodeAnswer
from engine.pods.values.load import NodeLoad, Shortage
from engine.pods.values.values import BoundPod, Footprint, Node, NodeDemands, PendingPod
from engine.vocabulary.effort import Effort

SMALLEST_SAMPLE: Final = 100
_SMALLEST_PERCENTAGE: Final = 5


class PodKind(NamedTuple):
    """What makes pending pods interchangeable for a node."""

    footprint: Footprint
    demands: NodeDemands
    priority: int


class Suitability(NamedTuple):
    """What nodes are to one kind of pods, by node index: an obstacle or none, and the tastes that steer the score."""

    obstacles: list[NodeAnswer | None]
    tastes: list[tuple[int, int]]


class NodeSnapshot:
    """Nodes by index, their loads, and the pods that are nominated to them."""

    __slots__ = ("_suitability", "effort", "index", "loads", "model", "nodes", "nominated")

    def __init__(self, model: PodModel, cycling: Iterable[ObjectKey], effort: Effort | None = None) -> None:
        """Copy the loads of the nodes that are there; no room is held for the pods that are `cycling` themselves."""
        self.model = model
        self.effort = effort or Effort()
        self.nodes: list[Node] = []
        self.loads: list[NodeLoad] = []
        self.index: dict[str, int] = {}
        for name, state in model.nodes.items():
            if state.node is not None:
                self.index[name] = len(self.nodes)
                self.nodes.append(state.node)
                self.loads.append(state.load.copy())
        self.nominated: dict[int, list[PendingPod]] = {}
        own = set(cycling)  # a pod that left the queue for its cycle is to other pods one without requests
        for pod in model.pending.values():
            place = self.index.get(pod.nominated_node) if pod.nominated_node else None
            if place is not None and pod.key not in own:
                self.nominated.setdefault(place, []).append(pod)
        self._suitability: dict[NodeDemands, Suitability] = {}

    def without(self, pods: Iterable[BoundPod]) -> "NodeSnapshot":
        """Return a snapshot in which these pods are gone."""
        twin = copy(self)
        twin.loads = [load.copy() for load in self.loads]
        twin.remove(pods)
        return twin

    def pods_on(self, place: int) -> Iterable[BoundPod]:
        """Return the pods that are bound to a node."""
        return self.model.nodes[self.nodes[place].name].pods.values()

    def suitability(self, demands: NodeDemands) -> Suitability:
        """Return what the nodes are to pods with these demands."""
        known = self._suitability.get(demands)
        if known is None:
            known = self._suitability[demands] = Suitability(
                [obstacle(node, demands) for node in self.nodes],
                [(unwelcome_taints(node, demands), liking(node, demands)) for node in self.nodes],
            )
        return known

    def fits(self, place: int, kind: PodKind) -> bool:
        """Return whether a pod fits, with the nominated pods that it must yield to counted as present."""
        self.effort.spend()
        if not self.nominated:
            return self.loads[place].fits(self.nodes[place], kind.footprint)
        with self.reserved(place, kind.priority) as load:
            return load.fits(self.nodes[place], kind.footprint)

    def shortages(self, place: int, kind: PodKind) -> list[Shortage]:
        """Return what a pod lacks on a node."""
        with self.reserved(place, kind.priority) as load:
            return load.shortages(self.nodes[place], kind.footprint, self.model.resources.names)

    @contextmanager
    def reserved(self, place: int, priority: int) -> Iterator[NodeLoad]:
        """Take room for the pods nominated to a node that a pod of this priority must yield to."""
        load = self.loads[place]
        ahead = [pod.footprint for pod in self.nominated.get(place, ()) if pod.priority >= priority]
        for footprint in ahead:
            load.add(footprint)
        try:
            yield load
        finally:
            for footprint in ahead:
                load.remove(footprint)

    def add(self, pods: Iterable[BoundPod]) -> None:
        """Put bound pods onto their nodes."""
        for pod in pods:
            self.loads[self.index[pod.node]].add(pod.footprint)

    def remove(self, pods: Iterable[BoundPod]) -> None:
        """Take bound pods off their nodes."""
        for pod in pods:
            self.loads[self.index[pod.node]].remove(pod.footprint)

    @property
    def sample_size(self) -> int:
        """Return after how many feasible nodes the scheduler stops looking for more."""
        count = len(self.nodes)
        if count < SMALLEST_SAMPLE:
            return count
        percentage = max(50 - count // 125, _SMALLEST_PERCENTAGE)
        return max(count * percentage // 100, SMALLEST_SAMPLE)


def kind_of(pod: PendingPod) -> PodKind:
    """Return the kind of a pending pod."""
    return PodKind(pod.footprint, pod.demands, pod.priority)
