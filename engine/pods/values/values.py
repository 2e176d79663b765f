"""The objects that decide a scheduling cycle, reduced to what is read of them.

Frozen and shared: pods of one template have one `Footprint` and one set of labels between them, so that a cluster of
many pods stays small. Invariant: amounts are integers as kube-scheduler counts them (milli-cpu, whole units of
everything else), and a time is nanoseconds since the epoch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from config.api.meta import ObjectKey
from engine.placement.node_affinity import Expression
from engine.placement.taints import Taint, Toleration

NOT_STARTED: Final = 2**63
"""A pod without a start time counts as started now: later than every time that is known."""

DEFAULT_SCHEDULER: Final = "default-scheduler"


class SchedulerMode(StrEnum):
    """Whose rules are followed: a release of kube-scheduler, or KEP-5710 as it was written."""

    V1_37 = "1.37"
    V1_36 = "1.36"
    KEP = "kep"


class HostPort(NamedTuple):
    """A port taken on the node's own addresses."""

    ip: str
    protocol: str
    port: int


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a pod takes of a node.

    `requests` pairs the index of a resource with an amount above zero. The score counts a container without a request
    as if it asked for a little, hence the two further amounts. They are those of a pod that has its node; for one that
    looks for a node the scorer overlooks requests of the pod as a whole, so `arriving` has other amounts there.
    """

    requests: tuple[tuple[int, int], ...]
    scored_cpu: int
    scored_memory: int
    ports: tuple[HostPort, ...] = ()
    arriving: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """One alternative of a node selector: requirements on labels and on the node's name, all of which must hold."""

    expressions: tuple[Expression, ...]
    fields: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """A node selector term that adds `weight` to the score of the nodes it matches."""

    weight: int
    term: SelectorTerm


@dataclass(frozen=True, slots=True)
class NodeDemands:
    """What a pod asks of a node apart from room; pods with equal demands and footprint are interchangeable."""

    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[SelectorTerm, ...] | None = None
    preferred: tuple[Preference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node as the scheduler sees it; `allocatable` is indexed like `Footprint.requests`."""

    name: str
    labels: Mapping[str, str]
    allocatable: tuple[int, ...]
    pod_limit: int
    hard_taints: tuple[Taint, ...] = ()
    soft_taints: tuple[Taint, ...] = ()
    is_cordoned: bool = False
    images: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PeerTerm:
    """A wish of a pod to be near, or far from, pods with certain labels."""

    field: str
    namespaces: frozenset[str] | None
    selector: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod that occupies a node."""

    key: ObjectKey
    node: str
    footprint: Footprint
    priority: int
    start_ns: int
    labels: Mapping[str, str]
    group: ObjectKey | None = None
    scheduler: str = DEFAULT_SCHEDULER
    never_preempts: bool = False
    is_terminating: bool = False
    is_being_preempted: bool = False
    keeps_away: tuple[PeerTerm, ...] = ()
    attracts: tuple[PeerTerm, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingPod:
    """A pod without a node."""

    key: ObjectKey
    footprint: Footprint
    demands: NodeDemands
    priority: int
    labels: Mapping[str, str]
    arrival: tuple[int, int]
    group: ObjectKey | None = None
    scheduler: str = DEFAULT_SCHEDULER
    never_preempts: bool = False
    nominated_node: str = ""
    is_terminating: bool = False
    images: frozenset[str] = frozenset()
    unsupported: tuple[str, ...] = ()
    approximate: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A PodGroup in any spelling of the API; `min_count` is None for the basic policy."""

    key: ObjectKey
    priority: int
    min_count: int | None
    is_one_unit: bool
    never_preempts: bool | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget: how many of the matching pods may still be disrupted."""

    key: ObjectKey
    selector: Mapping[str, Any]
    allowed: int
    disrupted: frozenset[str] = field(default_factory=frozenset)
