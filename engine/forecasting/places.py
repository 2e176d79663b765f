"""In which domains pods are, or would be, by their whole path: what people ask of a placement."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.cluster.model import ClusterModel
from engine.objects.workloads import AdmittedWorkload
from engine.topology.usage import TopologyUse
from engine.vocabulary.decision import PodSetPrediction
from engine.vocabulary.topology import TopologyShortage


@dataclass(frozen=True, slots=True)
class PodPlace:
    """A domain of the lowest level, and how many pods it holds."""

    domain: tuple[str, ...]
    """Its values from the highest level down; only its own where it is not known."""
    pods: int


@dataclass(frozen=True, slots=True)
class PodSetShortage:
    """A pod set whose quota is there, and whose nodes are not."""

    pod_set: str
    shortage: TopologyShortage


def places_of(model: ClusterModel, pod_set: PodSetPrediction) -> tuple[PodPlace, ...]:
    """Return where the pods of a pod set would go; nothing where no topology says so."""
    if pod_set.topology is None:
        return ()
    flavors = tuple(dict.fromkeys(pod_set.flavors.values()))
    return _places(model, (TopologyUse(flavors, pod_set.topology.domains, {}, pod_set.name),))


def places_held(model: ClusterModel, workload: object) -> tuple[PodPlace, ...]:
    """Return where the pods of an admitted workload are, as far as it was told."""
    return _places(model, workload.topology) if isinstance(workload, AdmittedWorkload) else ()


def shortages_of(pod_sets: Iterable[PodSetPrediction]) -> tuple[PodSetShortage, ...]:
    """Return which pod sets lack nodes alone."""
    return tuple(PodSetShortage(each.name, each.shortage) for each in pod_sets if each.shortage is not None)


def _places(model: ClusterModel, uses: Iterable[TopologyUse]) -> tuple[PodPlace, ...]:
    found: dict[tuple[str, ...], int] = {}
    for use in uses:
        keepers = [keeper for flavor in use.flavors if (keeper := model.topology.keeper(flavor)) is not None]
        for values, pods in use.domains:
            leaves = (keeper.tree.by_key.get(values) for keeper in keepers)
            path = next((leaf.values for leaf in leaves if leaf is not None), values)
            found[path] = found.get(path, 0) + pods
    return tuple(PodPlace(path, pods) for path, pods in sorted(found.items()))
