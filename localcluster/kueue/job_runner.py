"""Runs Jobs on a local cluster, as far as their status shows."""

from typing import Final

from config.api.meta import ObjectKey
from localcluster.kueue.following import ObjectChange, WorkQueue
from localcluster.kueue.job_runs import next_run
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store


class JobRunner:
    """Reconciles every Job that changed or whose time has come."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._kind: Final = store.kind("jobs", "batch")
        self._jobs: Final = store.collection(self._kind)
        self._writer = writer
        self._queue: WorkQueue[ObjectKey] = WorkQueue()

    def observe(self, change: ObjectChange) -> None:
        """Note which Job changed."""
        if change.kind == "Job":
            self._queue.add(change.key)

    def work(self, now_ns: int) -> bool:
        """Reconcile what is queued; return whether anything was written."""
        return sum(self._look(key, now_ns) for key in self._queue.take(now_ns)) > 0

    def next_ns(self) -> int | None:
        """Return when time alone makes a difference."""
        return self._queue.next_ns()

    def _look(self, key: ObjectKey, now_ns: int) -> bool:
        found = self._jobs.get(key)
        if found is None:
            return False
        run = next_run(found.obj, now_ns)
        if run.due_ns is not None:
            self._queue.add_at(key, run.due_ns)
        return run.status is not None and self._writer.patch(self._kind, found.obj, {"status": run.status}, "status")
