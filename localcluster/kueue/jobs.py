"""Kueue's controller of batch/v1 Jobs: each has one Workload, and runs exactly while that is admitted.

One reconcile takes at most one step, and what it writes causes the next one. It does not run anything: that is
the job runner's part on a worker, and on a hub that of the controller which the Job names in `spec.managedBy`.
"""

from typing import Final

from config.api.meta import Condition, Obj, ObjectKey, conditions, is_true
from config.names import KUEUE_GROUP
from engine.cost.propagation import copied_cost
from engine.cycles.object_events import WorkloadPhase
from engine.reporting import status as written
from engine.reporting.status_writes import Status, generation_of, released_status, status_with, write
from localcluster.kinds.columns import find_condition, has_condition, read
from localcluster.kueue.following import ObjectChange, WorkQueue
from localcluster.kueue.job_workload import (
    adoption,
    describes,
    prebuilt_name,
    queue_name,
    workload_for,
    workload_name,
)
from localcluster.kueue.owners import controller_of, without_finalizer
from localcluster.kueue.priorities import changed_priority, priority_fields
from localcluster.kueue.profile import KueueProfile
from localcluster.kueue.workload_life import is_finished
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store

_OUT_OF_SYNC: Final = ("OutOfSync", "The prebuilt workload is out of sync with its user job")


class JobController:
    """The job controller."""

    def __init__(self, store: Store, profile: KueueProfile, writer: Writer) -> None:
        self._store = store
        self._gates = profile.configuration.gates
        self._writer = writer
        self._kind: Final = store.kind("jobs", "batch")
        self._jobs: Final = store.collection(self._kind)
        self._workload_kind: Final = store.kind("workloads", KUEUE_GROUP)
        self._workloads: Final = store.collection(self._workload_kind)
        self._queue: WorkQueue[ObjectKey] = WorkQueue()
        self._prebuilt_for: dict[ObjectKey, ObjectKey] = {}
        """Jobs by the Workload that they expect."""
        self._without_class: set[ObjectKey] = set()
        """Jobs that name a priority class which does not exist."""

    def observe(self, change: ObjectChange) -> None:
        """Note which Jobs a change concerns."""
        match change.kind:
            case "Job":
                self._note_expectation(change)
                self._queue.add(change.key)
            case "Workload":
                self._look_at_owner(change)
            case "WorkloadPriorityClass" | "PriorityClass":
                for key in sorted(self._without_class):
                    self._queue.add(key)
                self._without_class.clear()

    def work(self, now_ns: int) -> bool:
        """Reconcile what is queued; return whether anything was written."""
        return sum(self._look(key, now_ns) for key in self._queue.take(now_ns)) > 0

    def _note_expectation(self, change: ObjectChange) -> None:
        name = prebuilt_name(change.new or change.old or {})
        if name and change.new is not None:
            self._prebuilt_for[ObjectKey(change.key.namespace, name)] = change.key
        elif name:
            self._prebuilt_for.pop(ObjectKey(change.key.namespace, name), None)

    def _look_at_owner(self, change: ObjectChange) -> None:
        owner = controller_of(change.new or change.old or {})
        if owner is not None and owner["kind"] == "Job":
            self._queue.add(ObjectKey(change.key.namespace, owner["name"]))
        elif change.key in self._prebuilt_for:
            self._queue.add(self._prebuilt_for[change.key])

    def _look(self, key: ObjectKey, now_ns: int) -> bool:
        found = self._jobs.get(key)
        if found is None or not queue_name(found.obj):
            return False
        job = found.obj
        name = prebuilt_name(job) or workload_name(job)
        version = self._workloads.get((key.namespace, name))
        workload = version.obj if version is not None else None
        owner = controller_of(workload) if workload is not None else None
        if workload is None or (owner is not None and owner["uid"] != job["metadata"]["uid"]):
            return self._without_workload(job)
        if owner is None:
            return self._writer.patch(self._workload_kind, workload, adoption(job, workload))
        if not describes(workload, job):
            return self._out_of_sync(job, workload, now_ns)
        return self._with_workload(job, workload, now_ns)

    def _without_workload(self, job: Obj) -> bool:
        if has_condition(job, "Complete") or has_condition(job, "Failed") or "deletionTimestamp" in job["metadata"]:
            return False
        if self._stop(job):
            return True
        if prebuilt_name(job) or _is_active(job):
            return False
        priority = priority_fields(self._store, job)
        if priority is None:
            self._without_class.add(ObjectKey(job["metadata"]["namespace"], job["metadata"]["name"]))
            return False
        return self._writer.create(self._workload_kind, workload_for(job, priority), job["metadata"]["namespace"])

    def _out_of_sync(self, job: Obj, workload: Obj, now_ns: int) -> bool:
        if not is_finished(workload):
            return self._finish(workload, *_OUT_OF_SYNC, now_ns)
        return self._stop(job)

    def _with_workload(self, job: Obj, workload: Obj, now_ns: int) -> bool:
        outcome = find_condition(job, "Complete") or find_condition(job, "Failed")
        is_over = outcome is not None and outcome["status"] == "True"
        if is_finished(workload):
            return self._let_go(workload)
        if "deletionTimestamp" in workload["metadata"]:
            return self._stop(job) or self._let_go(workload)
        if outcome is not None and is_over:
            reason = "Succeeded" if outcome["type"] == "Complete" else "Failed"
            return self._finish(workload, reason, outcome.get("message", ""), now_ns)
        if self._copy_cost(job, workload):
            return True
        changed = None if prebuilt_name(job) else changed_priority(self._store, job, workload)
        if changed is not None:
            return self._writer.patch(self._workload_kind, workload, {"spec": changed})
        if is_true(conditions(workload), written.EVICTED):
            return self._stop(job) or self._release(job, workload, now_ns)
        if WorkloadPhase.of(workload) is not WorkloadPhase.ADMITTED:
            return self._stop(job)
        return bool(job["spec"].get("suspend")) and self._writer.patch(self._kind, job, {"spec": {"suspend": False}})

    def _copy_cost(self, job: Obj, workload: Obj) -> bool:
        """Take the Job's preemption cost to its Workload, as KEP-7990 asks of Kueue."""
        if not self._gates.preemption_cost:
            return False
        changes = copied_cost(*(each["metadata"].get("annotations") or {} for each in (job, workload)))
        patch = {"metadata": {"annotations": changes}}
        return bool(changes) and self._writer.patch(self._workload_kind, workload, patch)

    def _stop(self, job: Obj) -> bool:
        """Suspend a Job, and forget when it started, which would keep its pod template from changing."""
        if not job["spec"].get("suspend"):
            return self._writer.patch(self._kind, job, {"spec": {"suspend": True}})
        if read(job, "status.startTime") is None:
            return False
        return self._writer.patch(self._kind, job, {"status": {"startTime": None}}, "status")

    def _release(self, job: Obj, workload: Obj, now_ns: int) -> bool:
        if _is_active(job) or not WorkloadPhase.of(workload).holds_quota:
            return False
        return self._write(workload, released_status(workload, now_ns, self._gates))

    def _finish(self, workload: Obj, reason: str, message: str, now_ns: int) -> bool:
        finished = Condition("Finished", "True", reason, message, now_ns, generation_of(workload))
        return self._write(workload, status_with(workload, written.put(conditions(workload), finished)))

    def _let_go(self, workload: Obj) -> bool:
        patch = without_finalizer(workload)
        return patch is not None and self._writer.patch(self._workload_kind, workload, patch)

    def _write(self, workload: Obj, after: Status) -> bool:
        return self._writer.write(write(workload, after))


def _is_active(job: Obj) -> bool:
    return bool(read(job, "status.active"))
