"""Kueue's workload controller on a local cluster: reconciles every Workload that changed or whose queue did.

It also acts for the owners that nothing runs here: a Workload without a Job gives its quota back once it has been
told to go, after the time that its annotation says.
"""

from collections import defaultdict
from typing import Final

from config.api.meta import Obj, ObjectKey, conditions, is_true, object_key
from config.names import KUEUE_GROUP
from engine.cycles.object_events import WorkloadPhase
from engine.reporting import status as written
from engine.reporting.status_writes import released_status, write
from localcluster.kueue.annotations import stop_ns_or_zero
from localcluster.kueue.following import ObjectChange, WorkQueue
from localcluster.kueue.owners import job_of, without_finalizer
from localcluster.kueue.profile import KueueProfile
from localcluster.kueue.scheduling import Scheduling
from localcluster.kueue.workload_life import WorkloadContext, next_status, wants_deactivation
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store


class Workloads:
    """The workload controller."""

    def __init__(self, store: Store, profile: KueueProfile, scheduling: Scheduling, writer: Writer) -> None:
        self._store = store
        self._profile = profile
        self._scheduling = scheduling
        self._writer = writer
        self._kind: Final = store.kind("workloads", KUEUE_GROUP)
        self._local_queues: Final = store.collection(store.kind("localqueues", KUEUE_GROUP))
        self._cluster_queues: Final = store.collection(store.kind("clusterqueues", KUEUE_GROUP))
        self._collection: Final = store.collection(self._kind)
        self._queue: WorkQueue[ObjectKey] = WorkQueue()
        self._submitted: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        """Workloads by LocalQueue."""
        self._feeding: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        """LocalQueues by ClusterQueue."""

    def observe(self, change: ObjectChange) -> None:
        """Note which Workloads a change concerns."""
        if change.kind == "Workload":
            self._index(change)
            self._queue.add(change.key)
        elif change.kind == "LocalQueue" and change.respecifies:
            if change.new is not None:
                self._feeding[change.new["spec"]["clusterQueue"]].add(change.key)
            elif change.old is not None:
                self._feeding[change.old["spec"]["clusterQueue"]].discard(change.key)
            self._look_at_submitted(change.key)
        elif change.kind == "ClusterQueue" and (change.respecifies or _activity(change.old) != _activity(change.new)):
            for local_queue in sorted(self._feeding[change.key.name]):
                self._look_at_submitted(local_queue)

    def work(self, now_ns: int) -> bool:
        """Reconcile what is queued; return whether anything was written."""
        return sum(self._look(key, now_ns) for key in self._queue.take(now_ns)) > 0

    def next_ns(self) -> int | None:
        """Return when time alone makes a difference."""
        return self._queue.next_ns()

    def _index(self, change: ObjectChange) -> None:
        before, after = _local_queue_of(change.old), _local_queue_of(change.new)
        if before != after and before is not None:
            self._submitted[before].discard(change.key)
        if after is not None:
            self._submitted[after].add(change.key)

    def _look_at_submitted(self, local_queue: ObjectKey) -> None:
        for key in sorted(self._submitted.get(local_queue, ())):
            self._queue.add(key)

    def _look(self, key: ObjectKey, now_ns: int) -> bool:
        found = self._collection.get(key)
        if found is None:
            return False
        raw = found.obj
        if "deletionTimestamp" in raw["metadata"] and job_of(self._store, raw) is None:
            patch = without_finalizer(raw)
            return patch is not None and self._writer.patch(self._kind, raw, patch)
        if wants_deactivation(raw):
            return self._writer.patch(self._kind, raw, {"spec": {"active": False}})
        after = next_status(raw, self._around(raw, now_ns))
        if after is not None:
            return self._writer.write(write(raw, after))
        settled = self._scheduling.settle(key, now_ns)
        if settled is not None:
            return self._writer.write(settled)
        return self._release(raw, now_ns)

    def _around(self, raw: Obj, now_ns: int) -> WorkloadContext:
        queue = _local_queue_of(raw)
        local_queue = self._local_queues.get(queue) if queue is not None else None
        if local_queue is None:
            return WorkloadContext(self._profile, now_ns)
        cluster_queue = self._cluster_queues.get(("", local_queue.obj["spec"]["clusterQueue"]))
        return WorkloadContext(
            self._profile, now_ns, local_queue.obj, None if cluster_queue is None else cluster_queue.obj
        )

    def _release(self, raw: Obj, now_ns: int) -> bool:
        """Take the quota back from an evicted Workload that no Job here runs for."""
        eviction = conditions(raw).get(written.EVICTED)
        is_evicted = eviction is not None and eviction.is_true and WorkloadPhase.of(raw).holds_quota
        if eviction is None or not is_evicted or job_of(self._store, raw) is not None:
            return False
        stopping_ns = stop_ns_or_zero(raw)
        if stopping_ns is None:
            return False
        due_ns = eviction.last_transition_ns + stopping_ns
        if due_ns > now_ns:
            self._queue.add_at(object_key(raw), due_ns)
            return False
        gates = self._profile.configuration.gates
        return self._writer.write(write(raw, released_status(raw, now_ns, gates)))


def _local_queue_of(raw: Obj | None) -> ObjectKey | None:
    name = raw["spec"].get("queueName") if raw is not None else None
    return None if raw is None or not name else ObjectKey(raw["metadata"]["namespace"], name)


def _activity(cluster_queue: Obj | None) -> bool:
    return cluster_queue is not None and is_true(conditions(cluster_queue), "Active")
