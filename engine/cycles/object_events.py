"""What a change of an object means for the model, the queues and the workloads that are parked.

The rules are those of Kueue's controllers: which changes move a workload between its queue and the quota, and which let
a tree try again what it had given up. Each costs what the change touches, not what the cluster holds.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from config.api.meta import ObjectKey, conditions, is_true, matches_selector, object_key, parse_time
from engine.cluster.model import ClusterModel, LocalQueue
from engine.cycles.pending_queue import QueuedWorkload
from engine.cycles.queues import Queues
from engine.objects.boost import effective_priority, priority_boost
from engine.objects.specs import ClusterQueueSpec
from engine.objects.workloads import AdmittedWorkload, PendingWorkload, Workload
from engine.search.expiry import ExpiryTimers
from engine.topology.node_inventory import NodePod
from engine.vocabulary.features import FeatureGates


class WorkloadPhase(StrEnum):
    """Where a workload is in its life."""

    PENDING = "pending"
    QUOTA_RESERVED = "quotaReserved"
    ADMITTED = "admitted"
    FINISHED = "finished"

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "WorkloadPhase":
        """Read the phase of a raw Workload."""
        known = conditions(raw)
        order = (("Finished", cls.FINISHED), ("Admitted", cls.ADMITTED), ("QuotaReserved", cls.QUOTA_RESERVED))
        return next((phase for name, phase in order if is_true(known, name)), cls.PENDING)

    @property
    def holds_quota(self) -> bool:
        """Return whether a workload in this phase holds quota."""
        return self in (WorkloadPhase.QUOTA_RESERVED, WorkloadPhase.ADMITTED)


class ObjectEvents:
    """Carries changes of objects into the model and the queues."""

    def __init__(self, model: ClusterModel, queues: Queues, timers: ExpiryTimers) -> None:
        self.model = model
        self.queues = queues
        self.raw: dict[ObjectKey, Mapping[str, Any]] = {}
        """Every Workload as it was last seen."""
        self.evicted: set[ObjectKey] = set()
        """Workloads that were told to go and still hold quota."""
        self._timers = timers
        self._assumed: set[ObjectKey] = set()

    def workload(self, raw: Mapping[str, Any], value: Workload, now_ns: int) -> None:
        """Take an added or changed Workload."""
        key = object_key(raw)
        # First of all, because it may turn out that the object cannot be read.
        item = self.queues.item(value) if isinstance(value, PendingWorkload) else None
        before = self.raw.get(key)
        self.raw[key] = raw
        phase = WorkloadPhase.of(raw)
        if phase.holds_quota and is_true(conditions(raw), "Evicted"):
            self.evicted.add(key)
        else:
            self.evicted.discard(key)
        spec = raw.get("spec") or {}
        self.queues.submit(key, ObjectKey(key.namespace, spec.get("queueName") or ""))
        if before is None:
            self._put(key, value)
            self._queue(item, now_ns)
            return
        previous = WorkloadPhase.of(before)
        if phase is WorkloadPhase.FINISHED or spec.get("active") is False:
            self.queues.delete(key)
            self._put(key, value)
            self.queues.retry_after(key, now_ns)
        elif previous is WorkloadPhase.PENDING and phase is WorkloadPhase.PENDING:
            self._still_pending(key, raw, value)
            self._queue(item, now_ns)
        elif previous is WorkloadPhase.PENDING and phase.holds_quota:
            self.queues.delete(key)
            self._put(key, value)
        elif previous.holds_quota and phase is WorkloadPhase.PENDING:
            self._put(key, value)
            if not _backs_off(raw, now_ns):
                self._queue(item, now_ns)
            self.queues.retry_after(key, now_ns)
        else:
            self._put(key, value)
            if _makes_room(before, raw, self.model.configuration.gates):
                self.queues.retry_after(key, now_ns)

    def workload_gone(self, key: ObjectKey, now_ns: int) -> None:
        """Take a removed Workload."""
        self.queues.retry_after(key, now_ns)
        self.raw.pop(key, None)
        self.evicted.discard(key)
        self._put(key, None)
        self.queues.submit(key, None)

    def assume(self, key: ObjectKey, value: Workload) -> None:
        """Count an admission that is not written yet."""
        self._assumed.add(key)
        self.model.put("Workload", key, value)
        if isinstance(value, AdmittedWorkload):
            self._timers.watch(value)

    def withdraw(self, key: ObjectKey, now_ns: int) -> None:
        """Take back an admission that was not written."""
        raw = self.raw.get(key)
        if key not in self._assumed or raw is None:
            return
        reduced = self.model.reduce(raw)
        if reduced is not None:
            self._put(key, reduced[2])
        self.queues.requeue_unwritten(key, now_ns)

    def other(self, kind: str, key: ObjectKey, value: Any, now_ns: int) -> None:
        """Take an added, changed or (without a value) removed object that is not a Workload."""
        before = self.model.get(kind, key)
        if kind in ("ResourceFlavor", "AdmissionCheck", "Topology"):
            self._prerequisite(kind, key, before, value, now_ns)
            return
        self.model.put(kind, key, value)
        if kind in ("Node", "Pod") and before != value:
            self._nodes_changed(kind, before, value, now_ns)
            return
        if kind == "LocalQueue":
            is_open = isinstance(value, LocalQueue) and not value.is_stopped
            self.queues.set_local_queue(key, value.cluster_queue if is_open else None)
        elif before == value:
            return
        elif kind == "ClusterQueue":
            self.queues.set_cluster_queue(key.name, now_ns)
            self._timers.watch_queue(key.name)
        elif kind == "Cohort" and value is not None:
            self.queues.retry_cohort(key.name, now_ns)
        elif kind == "Namespace" and before is not None and value is not None:
            self._relabelled(before, value, now_ns)
        elif kind in ("LimitRange", "RuntimeClass"):
            self._requests_changed(key.namespace if kind == "LimitRange" else None, now_ns)

    def _still_pending(self, key: ObjectKey, raw: Mapping[str, Any], value: Workload) -> None:
        if _is_on_hold(raw):
            self.queues.delete(key)
        if key not in self._assumed:
            self._put(key, value)

    def _queue(self, item: QueuedWorkload | None, now_ns: int) -> None:
        if item is not None:
            self.queues.add_or_update(item, now_ns)

    def _put(self, key: ObjectKey, value: Workload | None) -> None:
        self._assumed.discard(key)
        self.model.put("Workload", key, value)
        if isinstance(value, AdmittedWorkload):
            self._timers.watch(value)

    def _prerequisite(self, kind: str, key: ObjectKey, before: Any, value: Any, now_ns: int) -> None:
        """A flavor or check may make ClusterQueues active, and a flavor of other nodes may suit other pods."""
        users = [name for name, spec in self._specs() if kind == "Topology" or _needs(spec, kind, key.name)]
        was_active = {name for name in users if self._is_active(name)}
        self.model.put(kind, key, value)
        switches = self.model.configuration.profile.switches
        is_other_flavor = kind == "ResourceFlavor" and None not in (before, value) and before != value
        is_retried = is_other_flavor and switches.retries_when_flavors_change
        for name in users:
            if is_retried or (name not in was_active and self._is_active(name)):
                self.queues.retry_tree_of(name, now_ns)

    def _nodes_changed(self, kind: str, before: Any, after: Any, now_ns: int) -> None:
        """Let everything that is parked try again when a Node changes, or when a pod that took room leaves it."""
        is_less = kind == "Pod" and (before is None or _takes_no_less(before, after))
        if is_less or not self.model.follows_topology:
            return
        for name, spec in self._specs():
            if kind == "Node" or any(self.model.topology.levels(flavor) is not None for flavor in spec.flavors):
                self.queues.retry_now(name, now_ns)

    def _relabelled(self, before: Mapping[str, str], after: Mapping[str, str], now_ns: int) -> None:
        for name, spec in self._specs():
            selector = spec.namespace_selector
            if matches_selector(selector, after) and not matches_selector(selector, before):
                self.queues.retry_tree_of(name, now_ns)

    def _requests_changed(self, namespace: str | None, now_ns: int) -> None:
        """Recompute what waiting workloads ask for."""
        for workload in self.queues.pending_in(namespace):
            self.queues.add_or_update(self.queues.item(workload), now_ns)

    def _specs(self) -> Iterable[tuple[str, ClusterQueueSpec]]:
        for queue in self.model.forest.queues():
            yield queue.name, queue.existing_spec

    def _is_active(self, name: str) -> bool:
        queue = self.model.cluster_queue(name)
        return queue is not None and queue.is_active


def _takes_no_less(before: NodePod, after: NodePod | None) -> bool:
    if after is None or after.node != before.node:
        return False
    return all(after.requests.get(resource, 0) >= amount for resource, amount in before.requests.items())


def _needs(spec: ClusterQueueSpec, kind: str, name: str) -> bool:
    return name in (spec.flavors if kind == "ResourceFlavor" else spec.admission_checks)


def _is_on_hold(raw: Mapping[str, Any]) -> bool:
    reserved = conditions(raw).get("QuotaReserved")
    return reserved is not None and reserved.status == "False" and reserved.reason == "OnHold"


def _backs_off(raw: Mapping[str, Any], now_ns: int) -> bool:
    requeue_at = ((raw.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return bool(requeue_at) and parse_time(requeue_at) > now_ns


def _makes_room(before: Mapping[str, Any], after: Mapping[str, Any], gates: FeatureGates) -> bool:
    """Return whether a workload that keeps its quota may leave more to others than before."""
    if (
        WorkloadPhase.of(before) is WorkloadPhase.ADMITTED
        and WorkloadPhase.of(after) is WorkloadPhase.ADMITTED
        and _reclaims_more(before, after)
    ):
        return True
    if gates.elastic_jobs_via_workload_slices and _is_scaled_down(_counts(before), _counts(after)):
        return True
    return _has_other_priority(before, after, gates)


def _reclaims_more(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    old, new = ((raw.get("status") or {}).get("reclaimablePods") or [] for raw in (before, after))
    return bool(old != new)


def _counts(raw: Mapping[str, Any]) -> dict[str, int]:
    pod_sets = (raw.get("spec") or {}).get("podSets") or ()
    return {pod_set.get("name") or "main": pod_set.get("count", 1) for pod_set in pod_sets}


def _is_scaled_down(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    fewer = any(after.get(name, 0) < count for name, count in before.items())
    return fewer and not any(before.get(name, 0) < count for name, count in after.items())


def _has_other_priority(before: Mapping[str, Any], after: Mapping[str, Any], gates: FeatureGates) -> bool:
    """Return whether the priority changed that comes from a WorkloadPriorityClass; others cannot change."""
    old, new = ((raw.get("spec") or {}).get("priorityClassRef") or {} for raw in (before, after))
    if old.get("kind") == "PriorityClass" or new.get("kind") != "WorkloadPriorityClass":
        return False
    if new.get("name") and new.get("name") != old.get("name"):
        return True
    return _priority(before, gates) != _priority(after, gates)


def _priority(raw: Mapping[str, Any], gates: FeatureGates) -> int:
    annotations = raw["metadata"].get("annotations")
    return effective_priority((raw.get("spec") or {}).get("priority"), priority_boost(annotations, gates))
