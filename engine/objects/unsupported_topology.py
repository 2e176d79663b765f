"""What of topology-aware scheduling the engine does not model, by name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from config.api.meta import Raw
from engine.topology.request import TopologyRequest
from engine.versions.switches import Switches
from engine.vocabulary.features import FeatureGates

_MAX_MEMBERS: Final = 2
_REQUEST_FIELDS: Final = (
    "required",
    "preferred",
    "unconstrained",
    "podSetSliceRequiredTopology",
    "podSetSliceSize",
    "podsetSliceRequiredTopologyConstraints",
)


def uses_of_topology(workload: Raw) -> Iterator[str]:
    """Yield where a workload has to do with topologies: nothing can be said about it without Nodes and Pods."""
    for index, pod_set in enumerate(_pod_sets(workload)):
        request = pod_set.get("topologyRequest") or {}
        for name in _REQUEST_FIELDS:
            if request.get(name) not in (None, []):
                yield f"spec.podSets[{index}].topologyRequest.{name} is set"
    status = workload.get("status") or {}
    assignments = (status.get("admission") or {}).get("podSetAssignments") or ()
    for index, assignment in enumerate(assignments):
        for name in ("topologyAssignment", "delayedTopologyRequest"):
            if assignment.get(name):
                yield f"status.admission.podSetAssignments[{index}].{name} is set"
    if status.get("unhealthyNodes"):
        yield "status.unhealthyNodes is set"


def unmodelled_topology(workload: Raw, gates: FeatureGates, switches: Switches) -> Iterator[str]:
    """Yield what in a workload on flavors with a topology is not modelled."""
    if gates.scheduler_library_integration:
        yield "gate SchedulerLibraryIntegration is on: Kueue asks another library which Nodes suit"
    if not switches.places_pods_in_topologies:
        yield "Kueue before v0.18 counts usage on Nodes in a way that is not modelled"
    if (workload.get("status") or {}).get("unhealthyNodes"):
        yield "status.unhealthyNodes is set: the replacement of Nodes is not modelled"
    requests = [
        TopologyRequest.from_raw(pod_set.get("topologyRequest"), f"spec.podSets[{index}].topologyRequest")
        for index, pod_set in enumerate(_pod_sets(workload))
    ]
    for index, (pod_set, request) in enumerate(zip(_pod_sets(workload), requests, strict=True)):
        for detail in _unmodelled_request(pod_set, request, gates, switches):
            yield f"spec.podSets[{index}].{detail}"
    yield from _unmodelled_groups(requests, gates, switches)


def _unmodelled_request(
    pod_set: Raw, request: TopologyRequest, gates: FeatureGates, switches: Switches
) -> Iterator[str]:
    is_preferred = request.preferred is not None and request.required is None and not request.unconstrained
    if gates.tas_balanced_placement and is_preferred:
        yield "topologyRequest.preferred with gate TASBalancedPlacement: it is not modelled"
    if gates.tas_respect_node_affinity_preferred and _has_preferences(pod_set):
        yield "template prefers Nodes, and gate TASRespectNodeAffinityPreferred is on: it is not modelled"
    if len(request.layers) > 1 and not switches.places_leaders_and_layers:
        yield "topologyRequest has layers of slices: not modelled for Kueue before v0.19.1"
    if gates.tas_partial_slices and request.layers and (pod_set.get("count") or 1) % (request.layers[0].size or 1):
        yield "count is no multiple of the slices, with gate TASPartialSlices: it is not modelled"


def _unmodelled_groups(requests: Sequence[TopologyRequest], gates: FeatureGates, switches: Switches) -> Iterator[str]:
    groups = Counter(request.group for request in requests if request.group is not None)
    for name, members in groups.items():
        if members > _MAX_MEMBERS:
            yield f"podSetGroupName {name} has {members} pod sets: only a leader and its workers are modelled"
        if not switches.places_leaders_and_layers:
            yield f"podSetGroupName {name}: not modelled for Kueue before v0.19.1"
        for gate, is_on in (
            ("TASGroupedPodSetSlicing", gates.tas_grouped_pod_set_slicing),
            ("TASLeaderPodSetFeasibility", gates.tas_leader_pod_set_feasibility),
        ):
            if is_on:
                yield f"podSetGroupName {name} with gate {gate}: it is not modelled"


def _pod_sets(workload: Raw) -> Sequence[Raw]:
    return (workload.get("spec") or {}).get("podSets") or ()


def _has_preferences(pod_set: Raw) -> bool:
    spec = (pod_set.get("template") or {}).get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return bool(affinity.get("preferredDuringSchedulingIgnoredDuringExecution"))
