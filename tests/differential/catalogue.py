"""What a generated cluster is made of, in the words of the generator rather than of the API."""

from dataclasses import dataclass, field
from typing import Any

API_VERSION = "kueue.x-k8s.io/v1beta2"
NODE_LABEL = "instance-type"
NODE_LABEL_NUMERIC = "generation"
TAINT_KEY = "reserved-for"

#: One step of each resource, in the unit Kueue counts in. Amounts are small multiples, so that they collide.
STEPS = {
    "cpu": 500,
    "memory": 256 * 2**20,
    "nvidia.com/gpu": 1,
    "pods": 1,
    "ephemeral-storage": 2**30,
    "example.com/widget": 1,
    "hugepages-2Mi": 2 * 2**20,
}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Profile:
    """How often the generator turns to each side of Kueue."""

    fair_sharing: float = 0.45
    gates: float = 0.3
    given_assignment: float = 0.06
    #: Pending workloads besides the incoming one, at most.
    bystanders: int = 2
    #: Why running workloads may be on their way out.
    evictions: tuple[str, ...] = ("Preempted", "Preempted", "PodsReadyTimeout", "AdmissionCheck", "Deactivated")
    #: How often all queues are alike, which is how ties between shares come about.
    symmetry: float = 0.1
    #: See `Dice.rarely`.
    oddness: float = 1


PROFILES = {
    "classical": Profile(fair_sharing=0),
    "fair": Profile(fair_sharing=1),
    "mixed": Profile(),
    "gates": Profile(gates=1),
    "odd": Profile(oddness=6),
    "ties": Profile(fair_sharing=1, symmetry=1, gates=0.1, given_assignment=0, oddness=0.2),
    "cycles": Profile(given_assignment=0, bystanders=9, gates=0.2, evictions=("Preempted",)),
}


@dataclass(frozen=True, slots=True)
class Flavor:
    """A ResourceFlavor and what a pod needs to land on it."""

    name: str
    labels: dict[str, str]
    taints: list[Json]


@dataclass(frozen=True, slots=True)
class Group:
    """A resource group of a ClusterQueue: some resources and the flavors that provide them, in order."""

    resources: list[str]
    flavors: list[str]


@dataclass(slots=True)
class Queue:
    """A ClusterQueue, and how much its workloads use so far."""

    name: str
    root: str
    groups: list[Group]
    nominal: dict[tuple[str, str], int]
    namespaces: list[str]
    is_stopped: bool
    used: dict[tuple[str, str], int] = field(default_factory=dict)

    def covered(self) -> list[str]:
        """Return the resources that it has quota for."""
        return [resource for group in self.groups for resource in group.resources]

    def group_of(self, resource: str) -> Group:
        """Return the resource group that covers the resource."""
        return next(group for group in self.groups if resource in group.resources)


@dataclass(slots=True)
class Cluster:
    """A generated cluster: API objects, and what the generator needs to know to fill it."""

    flavors: list[Flavor]
    queues: list[Queue]
    namespaces: list[str]
    #: Quota below each root, by flavor and resource.
    capacity: dict[str, dict[tuple[str, str], int]]
    objects: list[Json]
    #: The nominal quota of every queue and cohort, where all are alike.
    uniform_nominal: dict[str, int]

    def used_below(self, root: str, flavor: str, resource: str) -> int:
        """Return what all queues under the root use."""
        return sum(queue.used.get((flavor, resource), 0) for queue in self.queues if queue.root == root)


def kueue_object(kind: str, name: str, spec: Json, namespace: str | None = None) -> Json:
    """Return an API object of Kueue's group."""
    metadata: Json = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
