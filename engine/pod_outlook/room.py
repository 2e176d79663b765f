"""How many equal pods find a node without evicting anybody.

Equal pods are the simple case: wherever one goes, it takes the room of exactly one of them. So their number decides,
and not the scheduler's choice among nodes.
"""

from collections.abc import Iterable, Sequence

from config.api.meta import ObjectKey
from engine.pods.state.model import PodModel
from engine.pods.state.snapshot import NodeSnapshot, PodKind, kind_of
from engine.pods.values.values import Footprint, PendingPod


def room_by_node(model: PodModel, kind: PodKind, cycling: Iterable[ObjectKey]) -> list[tuple[str, int]]:
    """Return the nodes that have room for such pods, and for how many; pods nominated to a node keep their room."""
    snapshot = NodeSnapshot(model, cycling)
    found = []
    for place, obstacle in enumerate(snapshot.suitability(kind.demands).obstacles):
        if obstacle is None:
            node = snapshot.nodes[place]
            with snapshot.reserved(place, kind.priority) as load:
                number = load.how_many_fit(node, kind.footprint)
            if number:
                found.append((node.name, number))
    return found


def certainly_fit(model: PodModel, pod_sets: Sequence[Sequence[PendingPod]]) -> bool:
    """Return whether all pods find room in whatever order they come and whichever nodes are chosen for them."""
    kinds = [kind_of(pods[0]) for pods in pod_sets]
    if len(kinds) > 1 and any(kind.footprint.ports for kind in kinds):
        return False
    for own, pods in zip(kinds, pod_sets, strict=True):
        room = sum(number for _, number in room_by_node(model, own, (pod.key for pod in pods)))
        others = (
            len(taken) * _displaced(own.footprint, kind.footprint)
            for kind, taken in zip(kinds, pod_sets, strict=True)
            if taken is not pods
        )
        if room - sum(others) < len(pods):
            return False
    return True


def _displaced(own: Footprint, other: Footprint) -> int:
    """Return how many pods of one kind lose their room to one of another kind, at most."""
    amounts = dict(other.requests)
    return max((-(-amounts.get(index, 0) // amount) for index, amount in own.requests), default=1) or 1
