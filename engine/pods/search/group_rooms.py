"""Where candidates are put back while a whole group keeps its claim.

`FrozenRoom` keeps the placement that was found with all candidates gone (1.37, KEP-5710). `ReplacedRoom` places the
group again for every unit that is put back (1.36).
"""

from collections.abc import Sequence

from engine.pods.search.capacity import GroupFit
from engine.pods.search.placement_rules import Placement
from engine.pods.search.reprieve import ReprieveRefusal
from engine.pods.search.units import Unit
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.load import HOST_PORTS, POD_SLOTS, NodeLoad, Shortage
from engine.pods.values.values import HostPort, Node, PendingPod


class _Claim:
    """What the members placed on one node leave for others.

    Members are checked one after another, each with the earlier ones in place, and only for what it asks; therefore the
    room left of a resource is what is free after the last member that asks for it.
    """

    def __init__(self, node: Node, reserved: NodeLoad) -> None:
        self._node = node
        self._taken = reserved
        self.room: dict[int, int] = {}
        self.pods = node.pod_limit
        self.ports: list[HostPort] = []

    def add(self, kind: PodKind) -> None:
        """Claim room for one more member."""
        self._taken.add(kind.footprint)
        for index, _ in kind.footprint.requests:
            self.room[index] = self._node.allocatable[index] - self._taken.used[index]
        self.pods = self._node.pod_limit - self._taken.pods
        self.ports += kind.footprint.ports

    def leaves_room_for(self, others: NodeLoad) -> bool:
        """Return whether all members still fit beside the others."""
        if others.pods > self.pods:
            return False
        used = others.used
        for index, room in self.room.items():
            if index < len(used) and used[index] > room:
                return False
        return not (self.ports and others.has_conflict(self.ports))

    def shortages(self, others: NodeLoad, names: Sequence[str]) -> list[Shortage]:
        """Return what the members together lack beside the others."""
        found = []
        if others.pods > self.pods:
            limit = self._node.pod_limit
            found.append(Shortage(POD_SLOTS, limit - self.pods, limit - others.pods))
        for index, room in self.room.items():
            if index < len(others.used) and others.used[index] > room:
                capacity = self._node.allocatable[index]
                found.append(Shortage(names[index], capacity - room, capacity - others.used[index]))
        if self.ports and others.has_conflict(self.ports):
            found.append(Shortage(HOST_PORTS, len(self.ports), 0))
        return found


class FrozenRoom:
    """The cluster with the group's members on their nodes."""

    is_capricious = False

    def __init__(self, snapshot: NodeSnapshot, members: Sequence[PendingPod], way: Placement) -> None:
        """Claim the members' places."""
        self._snapshot = snapshot
        self._claims: dict[str, _Claim] = {}
        for pod, place in zip(members, way, strict=True):
            if place is None:
                continue
            node = snapshot.nodes[place]
            claim = self._claims.get(node.name)
            if claim is None:
                claim = self._claims[node.name] = _Claim(node, _reserved(snapshot, place, pod.priority))
            claim.add(kind_of(pod))

    def put_back(self, unit: Unit) -> bool:
        """Put the unit back if every member still fits where it is; places without members have room."""
        self._snapshot.effort.spend(len(unit.pods))
        pods = [pod for pod in unit.pods if pod.node in self._claims]
        for pod in pods:
            self._load(pod.node).add(pod.footprint)
        if all(self._claims[pod.node].leaves_room_for(self._load(pod.node)) for pod in pods):
            return True
        self.take_out(unit)
        return False

    def take_out(self, unit: Unit) -> None:
        """Take the unit's pods off the nodes that members are on."""
        for pod in unit.pods:
            if pod.node in self._claims:
                self._load(pod.node).remove(pod.footprint)

    def explain(self, unit: Unit) -> ReprieveRefusal:
        """Say where the members run short once the unit is back."""
        pods = [pod for pod in unit.pods if pod.node in self._claims]
        for pod in pods:
            self._load(pod.node).add(pod.footprint)
        names = self._snapshot.model.resources.names
        short = ((pod.node, self._claims[pod.node].shortages(self._load(pod.node), names)) for pod in pods)
        node, shortages = next((found for found in short if found[1]), ("", []))
        self.take_out(unit)
        return ReprieveRefusal(node, tuple(shortages))

    def _load(self, name: str) -> NodeLoad:
        return self._snapshot.loads[self._snapshot.index[name]]


def _reserved(snapshot: NodeSnapshot, place: int, priority: int) -> NodeLoad:
    """Return the room of the nominated pods that members on this node must yield to."""
    load = NodeLoad()
    for pod in snapshot.nominated.get(place, ()):
        if pod.priority >= priority:
            load.add(pod.footprint)
    return load


class ReplacedRoom:
    """The cluster in which the group must find room again and again."""

    def __init__(self, snapshot: NodeSnapshot, fit: GroupFit) -> None:
        """Ask `fit` for room after every change."""
        self.is_capricious = not fit.is_monotone
        self._snapshot = snapshot
        self._fit = fit

    def put_back(self, unit: Unit) -> bool:
        """Put the unit back if the group can still be placed somehow."""
        self._snapshot.effort.spend(len(unit.pods))
        self._snapshot.add(unit.pods)
        if self._fit.has_room(_nodes_of(unit)):
            return True
        self.take_out(unit)
        return False

    def take_out(self, unit: Unit) -> None:
        """Take the unit off again."""
        self._snapshot.remove(unit.pods)
        self._fit.has_room(_nodes_of(unit))

    def explain(self, unit: Unit) -> ReprieveRefusal:  # noqa: ARG002 - no single unit's doing
        """Name no node: it is the cluster that has too little room left."""
        return ReprieveRefusal("", ())


def _nodes_of(unit: Unit) -> set[str]:
    return {pod.node for pod in unit.pods}
