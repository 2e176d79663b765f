"""The flavors that a pending workload would get, as frozen values, and what Kueue says where they do not suffice."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property

from engine.vocabulary.flavor_resource import FlavorResource
from engine.vocabulary.messages import assignment_error, assignment_message
from engine.vocabulary.topology import DelayedTopology, TopologyAssignment, TopologyShortage


class AssignmentMode(IntEnum):
    """What has to happen before a flavor can be used; ordered, worst first."""

    NO_FIT = 0
    PREEMPT = 1
    FIT = 2

    def __str__(self) -> str:
        return {AssignmentMode.NO_FIT: "NoFit", AssignmentMode.PREEMPT: "Preempt", AssignmentMode.FIT: "Fit"}[self]


LAST_FLAVOR_TRIED = -1
"""What the scan memory holds when the scan reached the end: the next one starts at the first flavor."""

ScanMemory = tuple[Mapping[str, int], ...]
"""For each pod set, in order, the index of the flavor at which the last scan of each resource ended."""


def has_untried_flavors(memory: ScanMemory) -> bool:
    """Return whether a scan ended before the last flavor."""
    return any(index != LAST_FLAVOR_TRIED for tried in memory for index in tried.values())


@dataclass(frozen=True, slots=True)
class FlavorChoice:
    """The flavor of one resource of one pod set."""

    flavor: str
    mode: AssignmentMode
    borrow_level: int
    tried_index: int = LAST_FLAVOR_TRIED


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    """The flavors of one pod set; none if it does not fit."""

    name: str
    count: int
    flavors: Mapping[str, FlavorChoice]
    requests: Mapping[str, int]
    reasons: tuple[str, ...] = ()
    error: str | None = None
    may_be_worded_otherwise: bool = False
    """Versions of Kueue that stop at the first resource that can never fit may give only some of the reasons."""
    topology: TopologyAssignment | None = None
    delayed_topology: DelayedTopology | None = None
    shortage: TopologyShortage | None = field(default=None, compare=False)
    """What was free where its quota was there and its nodes were not. For people: nothing is decided by it."""

    @property
    def mode(self) -> AssignmentMode:
        """The worst mode of the pod set's resources."""
        if self.error is not None:
            return AssignmentMode.NO_FIT
        if not self.reasons:
            return AssignmentMode.FIT
        return min((choice.mode for choice in self.flavors.values()), default=AssignmentMode.NO_FIT)


def flavors_of(pod_set: PodSetAssignment) -> list[str]:
    """Return the flavors of a pod set, one for each of its resources."""
    return [choice.flavor for choice in pod_set.flavors.values()]


@dataclass(frozen=True)
class Assignment:
    """The flavors of a workload's pod sets; those after one that failed are not evaluated and not listed."""

    pod_sets: tuple[PodSetAssignment, ...]
    usage: Mapping[FlavorResource, int] = field(default_factory=dict)
    borrowing: int = 0
    topology_mode: AssignmentMode | None = None
    """What topology made of the mode, where it has a say."""

    @cached_property
    def mode(self) -> AssignmentMode:
        """The worst mode of the pod sets."""
        if self.topology_mode is not None:
            return self.topology_mode
        return min((pod_set.mode for pod_set in self.pod_sets), default=AssignmentMode.NO_FIT)

    @property
    def scan_memory(self) -> ScanMemory:
        """What the next scan of this workload starts from."""
        return tuple(
            {resource: choice.tried_index for resource, choice in pod_set.flavors.items()} for pod_set in self.pod_sets
        )

    @property
    def message(self) -> str:
        """The text that Kueue writes into the workload's status."""
        reasons: list[tuple[str, tuple[str, ...]]] = []
        for pod_set in self.pod_sets:
            if pod_set.error is not None:
                return assignment_error(pod_set.name, pod_set.error)
            if pod_set.reasons:
                reasons.append((pod_set.name, pod_set.reasons))
        return assignment_message(reasons)
