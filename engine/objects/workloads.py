"""Workloads as the engine keeps them: three small kinds of value, told apart by what they mean for quota.

A workload that holds quota is reduced to its usage and its place in the candidate order; its pod templates are not
kept. A pending one keeps its raw object, because predicting it needs everything. The rest is remembered only to say
why it is not queued. Invariant: a value never changes; an update of the object makes a new value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Any, Final, NamedTuple

from config.api.meta import NANOSECONDS, ZERO_TIME_NS, ObjectKey, parse_time
from engine.objects.boost import effective_priority, preemption_cost, priority_boost
from engine.objects.configuration import KueueConfiguration, RequeuingTimestamp
from engine.objects.usage import Usage, UsageReader
from engine.topology.usage import TopologyUse, TopologyUseReader
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.flavor_resource import FlavorResource, FlavorResourceTable

_MILLISECOND: Final = 1_000_000
ADMISSION_GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"


class OrderKey(NamedTuple):
    """Place in the order in which candidates of one ClusterQueue are preempted, evicted ones apart."""

    priority: int
    """Effective priority, plus the preemption cost where that counts."""
    newest_first: int
    """The time of reservation, negated."""
    uid: str


class AdmittedWorkload:
    """A workload that holds quota."""

    __slots__ = (
        "cluster_queue",
        "has_ready_pods",
        "is_evicted",
        "key",
        "order",
        "priority",
        "queue_time_ns",
        "second_pass",
        "topology",
        "usage",
        "uses",
    )

    def __init__(
        self,
        key: ObjectKey,
        cluster_queue: str,
        usage: Usage,
        uses: frozenset[FlavorResource],
        priority: int,
        order: OrderKey,
        queue_time_ns: int,
        *,
        is_evicted: bool,
        has_ready_pods: bool,
        topology: tuple[TopologyUse, ...] = (),
        second_pass: Mapping[str, Any] | None = None,
    ) -> None:
        self.key: Final = key
        self.cluster_queue: Final = cluster_queue
        self.usage: Final = usage
        self.uses: Final = uses
        self.priority: Final = priority
        self.order: Final = order
        self.queue_time_ns: Final = queue_time_ns
        self.is_evicted: Final = is_evicted
        self.has_ready_pods: Final = has_ready_pods
        self.topology: Final = topology
        """Which leaves of topologies its pods take."""
        self.second_pass: Final = second_pass
        """The object itself, as long as its nodes are still to be chosen."""

    def on_its_way_out(self) -> "AdmittedWorkload":
        """Return it as it is once it was evicted, while it still holds its quota."""
        return AdmittedWorkload(
            self.key,
            self.cluster_queue,
            self.usage,
            self.uses,
            self.priority,
            self.order,
            self.queue_time_ns,
            is_evicted=True,
            has_ready_pods=self.has_ready_pods,
            topology=self.topology,
        )

    @property
    def uid(self) -> str:
        """The uid of the object."""
        return self.order.uid

    @property
    def preemption_cost(self) -> int:
        """The cost as far as it counts: 0 without the gate PreemptionCost."""
        return self.order.priority - self.priority

    @property
    def reserved_at_ns(self) -> int:
        """When the quota was reserved."""
        return -self.order.newest_first

    def __repr__(self) -> str:
        return f"AdmittedWorkload({self.key} in {self.cluster_queue})"


@dataclass(frozen=True, slots=True)
class PendingWorkload:
    """A workload that waits for quota, or would if its queue let it."""

    key: ObjectKey
    uid: str
    local_queue: str
    priority: int
    queue_time_ns: int
    raw: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IdleWorkload:
    """A workload that neither holds nor asks for quota."""

    key: ObjectKey
    cause: str


Workload = AdmittedWorkload | PendingWorkload | IdleWorkload


class WorkloadReader:
    """Turns raw Workloads into values."""

    def __init__(self, configuration: KueueConfiguration, table: FlavorResourceTable) -> None:
        self._configuration = configuration
        self._gates = configuration.gates
        self._usage = UsageReader(
            table, configuration.profile.amounts, counts_reclaimable_pods=configuration.gates.reclaimable_pods
        )
        self._topology = TopologyUseReader()

    def read(self, key: ObjectKey, raw: Mapping[str, Any]) -> Workload:
        """Read a raw Workload."""
        spec = raw.get("spec") or {}
        status = raw.get("status") or {}
        conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
        if _is_true(conditions, "Finished"):
            return IdleWorkload(key, "the workload is finished")
        if spec.get("active") is False:
            return IdleWorkload(key, "the workload is deactivated (spec.active is false)")
        if _is_true(conditions, "QuotaReserved") and status.get("admission"):
            return self._admitted(key, raw, spec, status, conditions)
        return self._waiting(key, raw, spec, conditions)

    def _admitted(
        self,
        key: ObjectKey,
        raw: Mapping[str, Any],
        spec: Mapping[str, Any],
        status: Mapping[str, Any],
        conditions: Mapping[str, Mapping[str, Any]],
    ) -> AdmittedWorkload:
        usage, uses = self._usage.read(raw)
        metadata = raw["metadata"]
        annotations = metadata.get("annotations")
        priority = self._priority(spec, annotations)
        cost = preemption_cost(annotations, self._gates).value
        return AdmittedWorkload(
            key=key,
            cluster_queue=intern(status["admission"]["clusterQueue"]),
            usage=usage,
            uses=uses,
            priority=priority,
            order=OrderKey(priority + cost, -_transition_time(conditions["QuotaReserved"]), metadata.get("uid") or ""),
            queue_time_ns=self._queue_time(metadata, conditions),
            is_evicted=_is_true(conditions, "Evicted"),
            has_ready_pods=_is_true(conditions, "PodsReady"),
            topology=self._topology.read(raw) if self._gates.topology_aware_scheduling else (),
            second_pass=raw if _waits_for_nodes(status, conditions) else None,
        )

    def _waiting(
        self,
        key: ObjectKey,
        raw: Mapping[str, Any],
        spec: Mapping[str, Any],
        conditions: Mapping[str, Mapping[str, Any]],
    ) -> PendingWorkload | IdleWorkload:
        metadata = raw["metadata"]
        annotations = metadata.get("annotations")
        reserved = conditions.get("QuotaReserved")
        if reserved and reserved.get("status") == "False" and reserved.get("reason") == "OnHold":
            return IdleWorkload(key, "the workload is on hold")
        if _is_true(conditions, "WaitingForReplacementPods"):
            return IdleWorkload(key, "the workload waits for replacement pods")
        if self._gates.admission_gated_by and (annotations or {}).get(ADMISSION_GATED_BY):
            return IdleWorkload(key, f"the workload is gated by annotation {ADMISSION_GATED_BY}")
        return PendingWorkload(
            key=key,
            uid=metadata.get("uid") or "",
            local_queue=spec.get("queueName") or "",
            priority=self._priority(spec, annotations),
            queue_time_ns=self._queue_time(metadata, conditions),
            raw=raw,
        )

    def _priority(self, spec: Mapping[str, Any], annotations: Mapping[str, str] | None) -> int:
        return effective_priority(spec.get("priority"), priority_boost(annotations, self._gates))

    def _queue_time(self, metadata: Mapping[str, Any], conditions: Mapping[str, Mapping[str, Any]]) -> int:
        """Return the time that orders the workload among others of its priority."""
        if _is_true(conditions, "Evicted"):
            evicted = conditions["Evicted"]
            by_timeout = evicted.get("reason") == "PodsReadyTimeout"
            counts_from_eviction = self._configuration.requeuing_timestamp is RequeuingTimestamp.EVICTION
            if (by_timeout and counts_from_eviction) or evicted.get("reason") == "AdmissionCheck":
                return _transition_time(evicted)
        if _is_true(conditions, "Preempted"):
            preempted = conditions["Preempted"]
            if restarts_queueing(preempted.get("reason"), self._gates):
                return _transition_time(preempted) + _MILLISECOND
        created = metadata.get("creationTimestamp")
        return _time(created) if created else ZERO_TIME_NS


def restarts_queueing(reason: str | None, gates: FeatureGates) -> bool:
    """Return whether a workload that was preempted for this reason queues behind those that came meanwhile."""
    if reason == "InCohortReclaimWhileBorrowing":
        return not gates.priority_sorting_within_cohort
    # KEP-8522: a workload whose time was up queues behind the one that took its place, or both would alternate.
    return reason == "InClusterQueueTimeBased" and gates.time_based_same_priority_preemption


def _waits_for_nodes(status: Mapping[str, Any], conditions: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a workload with quota has pod sets whose nodes Kueue has yet to choose."""
    if _is_true(conditions, "Admitted") or _is_true(conditions, "Evicted"):
        return False
    return any(
        assignment.get("delayedTopologyRequest") == "Pending" and not assignment.get("topologyAssignment")
        for assignment in status["admission"].get("podSetAssignments") or ()
    )


def _is_true(conditions: Mapping[str, Mapping[str, Any]], condition_type: str) -> bool:
    condition = conditions.get(condition_type)
    return condition is not None and condition.get("status") == "True"


def _transition_time(condition: Mapping[str, Any]) -> int:
    time = condition.get("lastTransitionTime")
    return _time(time) if time else ZERO_TIME_NS


def _time(text: str) -> int:
    """Parse a time; those of one minute, as Kubernetes writes them, share most of the work."""
    seconds = text[17:19]
    if len(text) == 20 and text[19] == "Z" and "00" <= seconds < "60" and seconds.isdecimal():
        return _minute(text[:17]) + int(seconds) * NANOSECONDS
    return parse_time(text)


@lru_cache(maxsize=1 << 12)
def _minute(text: str) -> int:
    return parse_time(f"{text}00Z")
