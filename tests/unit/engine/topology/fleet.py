"""Builds small fleets with a topology: hosts by their capacity, ClusterQueues, running and waiting Workloads."""

from collections.abc import Mapping
from typing import Any

from engine.topology.wire import encode
from engine.vocabulary.topology import HOSTNAME, PlacedPods, TopologyAssignment
from tests.support.builders import Builder, ClusterQueueBuilder, WorkloadBuilder, cluster_queue, workload

Hosts = Mapping[str, int | Mapping[str, int]]
"""Capacity in cpus by path, as `b1/r1/h11`; the last part is the hostname."""

STANDARD: Hosts = {"b1/r1/h11": 4, "b1/r1/h12": 2, "b1/r2/h21": 3, "b1/r2/h22": 1, "b2/r3/h31": 4, "b2/r3/h32": 4}
LABELS = {"tas": "yes"}


class Raw(Builder):
    """An object that no builder makes."""


def topology(*levels: str) -> Builder:
    """Return the Topology `default`."""
    listed = [{"nodeLabel": level} for level in (levels or ("block", "rack", HOSTNAME))]
    return Raw(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Topology",
            "metadata": {"name": "default"},
            "spec": {"levels": listed},
        }
    )


def tas_flavor(name: str = "f", **labels: str) -> Builder:
    """Return a flavor with the Topology `default` for Nodes with these labels."""
    spec = {"nodeLabels": labels or LABELS, "topologyName": "default"}
    return Raw(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": name},
            "spec": spec,
        }
    )


def node(path: str, capacity: int | Mapping[str, int], **labels: str) -> Builder:
    """Return a ready Node."""
    block, rack, host = path.split("/")
    amounts = {"cpu": capacity} if isinstance(capacity, int) else capacity
    allocatable = {name: str(amount) for name, amount in ({"pods": 110} | dict(amounts)).items()}
    labels = (labels or LABELS) | {"block": block, "rack": rack, HOSTNAME: host}
    status = {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": host, "labels": labels}
    return Raw({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status})


def fleet(hosts: Hosts = STANDARD, *flavors: str) -> list[Builder]:
    """Return the Topology, the flavors (`f` by default) and the Nodes."""
    made: list[Builder] = [topology(), *map(tas_flavor, flavors or ("f",))]
    return [*made, *(node(path, capacity) for path, capacity in hosts.items())]


def queue(name: str, *flavors: str, cpu: int = 100) -> ClusterQueueBuilder:
    """Return a ClusterQueue with quota on flavors (`f` by default)."""
    built = cluster_queue(name)
    for flavor in flavors or ("f",):
        built = built.quota(flavor, cpu=cpu)
    return built


def pods(
    name: str, queue_name: str, count: int, cpu: int = 1, *, created: float = 0, **request: Any
) -> WorkloadBuilder:
    """Return a pending Workload of so many pods; `request` is its topologyRequest."""
    built = workload(name).queue(queue_name).pods(count).request(cpu=cpu).created(created)
    return with_request(built, **request)


def with_request(built: WorkloadBuilder, **request: Any) -> WorkloadBuilder:
    """Return a Workload that asks for a topology."""
    first, *others = built.raw["spec"]["podSets"]
    return built.with_spec(podSets=[first | {"topologyRequest": request}, *others]) if request else built


def placed(built: WorkloadBuilder, **hosts: int) -> WorkloadBuilder:
    """Return a running Workload with the hosts of its pods."""
    assignment = TopologyAssignment((HOSTNAME,), tuple(PlacedPods((host,), pods) for host, pods in hosts.items()))
    raw = built.with_metadata().raw
    raw["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] = encode(assignment)
    return type(built)(raw)
