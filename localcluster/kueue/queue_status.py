"""Kueue's controllers of ClusterQueues and LocalQueues: their status, and when a deleted one may go.

A queue is reconciled again when its own spec, its counts or what it depends on changed. It is written last in a round,
so that a hundred Workloads that move at once cost each queue one write.
"""

from collections import defaultdict
from typing import Final

from config.api.meta import Condition, Obj, ObjectKey, conditions
from config.names import KUEUE_GROUP
from engine.cluster.model import ClusterModel
from engine.reporting import status as written
from engine.reporting.status_writes import generation_of, status_with
from localcluster.kinds.kinds import ServedKind
from localcluster.kueue import queue_counts
from localcluster.kueue.following import ObjectChange, WorkQueue
from localcluster.kueue.owners import without_finalizer
from localcluster.kueue.queue_counts import QueueCounts
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store

_CYCLE: Final = "HasCycle"
"""Keeps a ClusterQueue from admitting, yet Kueue does not say so in its condition."""

Verdict = tuple[str, str, str]
"""Status, reason and message of an Active condition."""


class QueueStatus:
    """Writes the status of queues."""

    def __init__(self, store: Store, model: ClusterModel, writer: Writer) -> None:
        self._model = model
        self._writer = writer
        self._counts = QueueCounts()
        self._local_queue_kind: Final = store.kind("localqueues", KUEUE_GROUP)
        self._cluster_queue_kind: Final = store.kind("clusterqueues", KUEUE_GROUP)
        self._local_queues: Final = store.collection(self._local_queue_kind)
        self._cluster_queues: Final = store.collection(self._cluster_queue_kind)
        self._feeding: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._queue: WorkQueue[ObjectKey] = WorkQueue()

    def observe(self, change: ObjectChange) -> None:
        """Note which queues a change concerns."""
        match change.kind:
            case "Workload":
                for queue in self._counts.take(change):
                    self._look_again(queue)
            case "LocalQueue" if change.respecifies:
                cluster_queue = (change.new or change.old or {})["spec"]["clusterQueue"]
                feeding = self._feeding[cluster_queue]
                (feeding.add if change.new is not None else feeding.discard)(change.key)
                self._look_again(change.key)
                self._queue.add(ObjectKey("", cluster_queue))
            case "ClusterQueue" if change.respecifies:
                self._cluster_queue_changed(change.key.name)
            case "ResourceFlavor" | "AdmissionCheck" | "Cohort":
                for version in self._cluster_queues.scan():
                    self._cluster_queue_changed(version.key[1])

    def work(self, now_ns: int) -> bool:
        """Reconcile what is queued; return whether anything was written."""
        self._model.forest.settle()
        return sum(self._look(key, now_ns) for key in self._queue.take(now_ns)) > 0

    def _look_again(self, queue: ObjectKey) -> None:
        self._queue.add(queue)
        local_queue = self._local_queues.get(queue)
        if local_queue is not None:
            self._queue.add(ObjectKey("", local_queue.obj["spec"]["clusterQueue"]))

    def _cluster_queue_changed(self, name: str) -> None:
        self._queue.add(ObjectKey("", name))
        for local_queue in self._feeding[name]:
            self._queue.add(local_queue)

    def _look(self, key: ObjectKey, now_ns: int) -> bool:
        if key.namespace:
            local_queue = self._local_queues.get(key)
            return local_queue is not None and self._look_at_local_queue(key, local_queue.obj, now_ns)
        cluster_queue = self._cluster_queues.get(key)
        return cluster_queue is not None and self._look_at_cluster_queue(key, cluster_queue.obj, now_ns)

    def _look_at_local_queue(self, key: ObjectKey, raw: Obj, now_ns: int) -> bool:
        counts = {
            field: self._counts.of(key, field)
            for field in (queue_counts.PENDING, queue_counts.RESERVING, queue_counts.ADMITTED)
        }
        after = _status(raw, _submission(raw, self._model), counts, now_ns)
        return self._write(self._local_queue_kind, raw, after)

    def _look_at_cluster_queue(self, key: ObjectKey, raw: Obj, now_ns: int) -> bool:
        counts = {field: self._counts.of(key, field) for field in (queue_counts.RESERVING, queue_counts.ADMITTED)}
        if "deletionTimestamp" in raw["metadata"] and not counts[queue_counts.RESERVING]:
            patch = without_finalizer(raw)
            return patch is not None and self._writer.patch(self._cluster_queue_kind, raw, patch)
        feeding = self._feeding[key.name]
        counts[queue_counts.PENDING] = sum(self._counts.of(each, queue_counts.PENDING) for each in feeding)
        after = _status(raw, _readiness(key.name, self._model), counts, now_ns)
        return self._write(self._cluster_queue_kind, raw, after)

    def _write(self, kind: ServedKind, raw: Obj, after: Obj) -> bool:
        return after != raw.get("status") and self._writer.patch(kind, raw, {"status": after}, "status")


def _status(raw: Obj, verdict: Verdict, counts: dict[str, int], now_ns: int) -> Obj:
    active = Condition("Active", *verdict, now_ns, generation_of(raw))
    return {**status_with(raw, written.put(conditions(raw), active)), **counts}


def _readiness(name: str, model: ClusterModel) -> Verdict:
    queue = model.cluster_queue(name)
    inactivity = None if queue is None else queue.inactivity
    if inactivity is None or inactivity.reason == _CYCLE:
        return "True", "Ready", "Can admit new workloads"
    return "False", inactivity.reason, inactivity.message


def _submission(raw: Obj, model: ClusterModel) -> Verdict:
    if (raw["spec"].get("stopPolicy") or "None") != "None":
        return "False", "Stopped", "LocalQueue is stopped"
    queue = model.cluster_queue(raw["spec"]["clusterQueue"])
    if queue is None:
        return "False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue"
    if queue.inactivity is not None and queue.inactivity.reason != _CYCLE:
        return "False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"
    return "True", "Ready", "Can submit new workloads to localQueue"
