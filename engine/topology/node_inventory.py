"""Topologies, Nodes and the Pods on them, as far as placement depends on them: raw objects become small values once."""

from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, Final, NamedTuple

from config.api.quantity import QuantityError, add, request_amount, to_amount
from config.names import KUEUE_GROUP
from engine.placement.taints import Taint, read_hard_taints
from engine.requests.limit_ranges import NO_LIMIT_RANGES
from engine.requests.pod_resources import PodResources, pod_requests, read_pod_resources
from engine.vocabulary.errors import FieldError
from engine.vocabulary.topology import HOSTNAME

PODS: Final = "pods"
MAX_LEVELS: Final = 16
_MOST_SHARED: Final = 1 << 12

_TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
_PLACED_BY_KUEUE: Final = tuple(
    f"{KUEUE_GROUP}/podset-{name}"
    for name in (
        "required-topology",
        "preferred-topology",
        "slice-required-topology",
        "slice-required-topology-constraints",
        "unconstrained-topology",
    )
)

NodeAmounts = Mapping[str, int]
"""Resources in the unit that quota is counted in; here always with `pods`."""


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A Node that pods can be placed on."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    allocatable: NodeAmounts


class NodePod(NamedTuple):
    """A pod that takes room on a Node without a topology assignment."""

    node: str
    requests: NodeAmounts


def read_levels(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the levels of a raw Topology, highest first."""
    entries = (raw.get("spec") or {}).get("levels") or ()
    levels = tuple(intern(str((entry or {}).get("nodeLabel") or "")) for entry in entries)
    if not 1 <= len(levels) <= MAX_LEVELS:
        raise FieldError("spec.levels", f"has {len(levels)} levels: must have 1 to {MAX_LEVELS}")
    for index, level in enumerate(levels):
        path = f"spec.levels[{index}].nodeLabel"
        if not level:
            raise FieldError(path, "must be set")
        if level in levels[:index]:
            raise FieldError(path, f'"{level}" is a level already: every level has a label of its own')
        if level == HOSTNAME and index < len(levels) - 1:
            raise FieldError(path, f'"{HOSTNAME}" is allowed only as the last level')
    return levels


def read_topology_node(raw: Mapping[str, Any]) -> TopologyNode | None:
    """Read a raw Node; None for one that no pod is placed on."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    allocatable = read_amounts(status.get("allocatable") or {}, "status.allocatable")
    if spec.get("unschedulable") or not _is_ready(status):
        return None
    return TopologyNode(
        name=raw["metadata"]["name"],
        labels={intern(key): intern(value) for key, value in (raw["metadata"].get("labels") or {}).items()},
        taints=read_hard_taints(spec.get("taints")),
        allocatable=allocatable,
    )


class NodePodReader:
    """Reads Pods; those that ask for the same share what is kept of it."""

    def __init__(self) -> None:
        self._amounts: dict[tuple[tuple[str, int], ...], NodeAmounts] = {}

    def read(self, raw: Mapping[str, Any]) -> NodePod | None:
        """Read a raw Pod; None for one that takes no room, or whose room is known from its Workload."""
        spec = raw.get("spec") or {}
        if not spec.get("nodeName") or (raw.get("status") or {}).get("phase") in _TERMINAL_PHASES:
            return None
        annotations = raw["metadata"].get("annotations") or {}
        if any(name in annotations for name in _PLACED_BY_KUEUE):
            return None
        resources = read_pod_resources(spec, "spec", NO_LIMIT_RANGES, {})
        amounts = with_pod_slot(per_pod_amounts(resources))
        if len(self._amounts) >= _MOST_SHARED:
            self._amounts.clear()
        return NodePod(intern(spec["nodeName"]), self._amounts.setdefault(tuple(amounts.items()), amounts))


def read_amounts(resources: Mapping[str, Any], path: str) -> dict[str, int]:
    """Read a raw map of resource to quantity."""
    amounts: dict[str, int] = {}
    for name, value in resources.items():
        try:
            amounts[intern(name)] = request_amount(name, value)
        except QuantityError as error:
            raise FieldError(f"{path}[{name}]", str(error)) from None
    return amounts


def per_pod_amounts(resources: PodResources) -> dict[str, int]:
    """Return what one pod asks of a node; neither exclusions nor transformations of Kueue's configuration apply."""
    return {intern(name): max(0, to_amount(name, value)) for name, value in pod_requests(resources).items()}


def with_pod_slot(amounts: NodeAmounts) -> dict[str, int]:
    """Return the amounts of one pod together with the slot that it takes."""
    return {**amounts, PODS: add(amounts.get(PODS, 0), 1)}


def _is_ready(status: Mapping[str, Any]) -> bool:
    """Return what the first condition of the type says; without one a Node is not ready."""
    statuses = (entry.get("status") for entry in status.get("conditions") or () if entry.get("type") == "Ready")
    return next(statuses, None) == "True"
