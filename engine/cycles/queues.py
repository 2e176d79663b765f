"""The queues of a cluster: which workloads wait in which ClusterQueue, and when parked ones are tried again.

A workload reaches the queue of a ClusterQueue through its LocalQueue. Events that may help a parked workload are
collected for a while and then concern the whole tree of cohorts. Invariant: a queue exists for every ClusterQueue.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from config.api.meta import NANOSECONDS, ObjectKey, matches_selector
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.forest import root_of
from engine.cluster.model import ClusterModel
from engine.cycles.pending_queue import PendingQueue, QueuedWorkload, QueuePlace, RequeueReason, is_backoff_over
from engine.objects.workloads import PendingWorkload
from engine.quota.quota_tree import CohortNode
from engine.requests.equivalence import equivalence_key
from engine.requests.requests import workload_request
from engine.vocabulary.errors import FieldError, InvalidObjectError

_RETRY_PERIOD_NS: Final = NANOSECONDS
_LONG_RETRY_PERIOD_NS: Final = 10 * NANOSECONDS


class RetryScope(NamedTuple):
    """Whose parked workloads are to be tried again: those of one ClusterQueue, or of a whole tree of cohorts."""

    is_cohort: bool
    name: str


class Queues:
    """Where every waiting workload of one cluster is."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._gates = model.configuration.gates
        self._switches = model.configuration.profile.switches
        self._queues: dict[str, PendingQueue] = {}
        self._submitted: defaultdict[ObjectKey, set[ObjectKey]] = defaultdict(set)
        self._local_queue_of: dict[ObjectKey, ObjectKey] = {}
        self._local_queues_of: defaultdict[str, set[ObjectKey]] = defaultdict(set)
        self._cluster_queue_of: dict[ObjectKey, str] = {}
        self._retries: dict[RetryScope, int] = {}

    def __getitem__(self, cluster_queue: str) -> PendingQueue:
        return self._queues[cluster_queue]

    def __iter__(self) -> Iterator[str]:
        return iter(self._queues)

    def waiting(self) -> list[tuple[str, PendingQueue]]:
        """Return the queues that have a head, those of inactive ClusterQueues left out."""
        return [
            (name, queue)
            for name, queue in self._queues.items()
            if queue.has_ready and self._model.forest.queue(name).is_active
        ]

    def submit(self, key: ObjectKey, local_queue: ObjectKey | None) -> None:
        """Note to which LocalQueue a workload was submitted, whatever its state; None when it is gone."""
        before = self._local_queue_of.get(key)
        if before == local_queue:
            return
        if before is not None:
            self.delete(key)
            self._submitted[before].discard(key)
            del self._local_queue_of[key]
        if local_queue is not None:
            self._submitted[local_queue].add(key)
            self._local_queue_of[key] = local_queue

    def add_or_update(self, item: QueuedWorkload, now_ns: int) -> None:
        """Take a workload that waits, new or changed."""
        queue = self._queue_of(item.key)
        if queue is None:
            return
        if self._gates.flavor_fungibility_preserve_scan_progress:
            known = queue.find(item.key)
            if known is not None and known.memory is not None and known.memory.is_of_shape(item.shape):
                item.memory = known.memory
        queue.push_or_update(item, now_ns)

    def delete(self, key: ObjectKey) -> None:
        """Take a workload out of its queue."""
        queue = self._queue_of(key)
        if queue is not None:
            queue.delete(key)

    def requeue(self, item: QueuedWorkload, reason: RequeueReason, now_ns: int) -> None:
        """Take back a head that was not admitted, as it is now."""
        workload = self._model.workload(item.key)
        queue = self._queue_of(item.key)
        if queue is None or not isinstance(workload, PendingWorkload):
            return
        fresh = self.item(workload)
        fresh.memory = item.memory
        queue.requeue(fresh, reason, now_ns)

    def forget_scan(self, key: ObjectKey) -> None:
        """Let the next scan of a waiting workload start over, as a write on its object does."""
        queue = self._queue_of(key)
        item = queue.find(key) if queue is not None else None
        if item is not None:
            item.memory = None

    def requeue_unwritten(self, key: ObjectKey, now_ns: int) -> None:
        """Take back a workload whose admission could not be written."""
        workload = self._model.workload(key)
        if isinstance(workload, PendingWorkload):
            self.requeue(self.item(workload), RequeueReason.FAILED_AFTER_NOMINATION, now_ns)

    def pending_in(self, namespace: str | None) -> list[PendingWorkload]:
        """Return the workloads that wait and belong to a namespace, or to any."""
        return [
            workload
            for local_queue, keys in self._submitted.items()
            if namespace in (None, local_queue.namespace)
            for key in sorted(keys)
            if isinstance(workload := self._model.workload(key), PendingWorkload)
        ]

    def item(self, workload: PendingWorkload) -> QueuedWorkload:
        """Return what a queue keeps of a workload; raise InvalidObjectError if it cannot be read."""
        try:
            request = workload_request(workload.raw, self._model.request_context(workload.key.namespace))
        except FieldError as error:
            raise InvalidObjectError("Workload", str(workload.key), error) from None
        shape = None
        if self._gates.scheduling_equivalence_hashing:
            is_as_written = self._switches.compares_written_requests
            shape = equivalence_key(workload.raw, request, workload.priority, self._gates, is_as_written=is_as_written)
        return QueuedWorkload(workload, request, shape)

    def place_of(self, key: ObjectKey) -> QueuePlace | None:
        """Return where a workload waits."""
        queue = self._queue_of(key)
        if queue is None:
            return None
        return queue.place_of(key)

    def set_local_queue(self, key: ObjectKey, cluster_queue: str | None) -> None:
        """Connect a LocalQueue to its ClusterQueue; None for one that is stopped or gone."""
        before = self._cluster_queue_of.get(key)
        if before == cluster_queue:
            return
        if before is not None:
            for workload in self._submitted.get(key, ()):
                if before in self._queues:
                    self._queues[before].delete(workload)
            self._local_queues_of[before].discard(key)
            del self._cluster_queue_of[key]
        if cluster_queue is not None:
            self._cluster_queue_of[key] = cluster_queue
            self._local_queues_of[cluster_queue].add(key)
            self._push_submitted(key)

    def set_cluster_queue(self, name: str, now_ns: int) -> None:
        """Follow a ClusterQueue that appeared, changed or is gone, and let its tree try again."""
        queue = self._model.cluster_queue(name)
        if queue is None:
            self._queues.pop(name, None)
            return
        strategy = queue.existing_spec.queueing_strategy
        known = self._queues.get(name)
        if known is not None:
            known.strategy = strategy
        else:
            parks_equals = self._switches.parks_equals_after_any_failure
            self._queues[name] = PendingQueue(strategy, self._gates, parks_equals_after_any_failure=parks_equals)
            for local_queue in sorted(self._local_queues_of.get(name, ())):
                self._push_submitted(local_queue)
        self.retry_tree_of(name, now_ns)

    def retry_after(self, key: ObjectKey, now_ns: int) -> None:
        """Let the tree of a workload that made room try again."""
        local_queue = self._local_queue_of.get(key)
        cluster_queue = self._cluster_queue_of.get(local_queue) if local_queue is not None else None
        if cluster_queue is not None:
            self.retry_tree_of(cluster_queue, now_ns)

    def retry_tree_of(self, cluster_queue: str, now_ns: int) -> None:
        """Let everything parked in the tree of a ClusterQueue try again, a little later."""
        queue = self._model.cluster_queue(cluster_queue)
        if queue is None or cluster_queue not in self._queues:
            return
        if not queue.existing_spec.cohort:
            self._retry(RetryScope(is_cohort=False, name=cluster_queue), now_ns)
        elif queue.parent is not None:  # where cohorts form a cycle, nothing is tried
            self._retry(RetryScope(is_cohort=True, name=root_of(queue).name), now_ns)

    def retry_cohort(self, name: str, now_ns: int) -> None:
        """Let everything parked in the tree of a cohort try again, a little later."""
        cohort = self._model.forest.find_cohort(name)
        if cohort is not None:
            self._retry(RetryScope(is_cohort=True, name=root_of(cohort).name), now_ns)

    def retry_now(self, cluster_queue: str, now_ns: int) -> None:
        """Let what is parked in one ClusterQueue try again at once."""
        queue = self._model.cluster_queue(cluster_queue)
        if queue is not None:
            self._unpark([queue], now_ns)

    def next_retry_ns(self) -> int | None:
        """Return when the next collected retry is due."""
        return min(self._retries.values(), default=None)

    def process_retries(self, now_ns: int, *, even_if_early: bool = False) -> None:
        """Carry out the collected retries that are due."""
        due = [scope for scope, due_ns in self._retries.items() if even_if_early or due_ns <= now_ns]
        for scope in due:
            del self._retries[scope]
            self._unpark(self._in_scope(scope), now_ns)

    def _retry(self, scope: RetryScope, now_ns: int) -> None:
        period = _LONG_RETRY_PERIOD_NS if self._gates.scheduler_long_requeue_interval else _RETRY_PERIOD_NS
        due_ns = now_ns + period
        self._retries[scope] = min(due_ns, self._retries.get(scope, due_ns))

    def _in_scope(self, scope: RetryScope) -> list[ClusterQueue]:
        if not scope.is_cohort:
            queue = self._model.cluster_queue(scope.name)
            return [] if queue is None else [queue]
        cohort = self._model.forest.find_cohort(scope.name)
        return [] if cohort is None else list(_queues_below(cohort))

    def _unpark(self, cluster_queues: Iterable[ClusterQueue], now_ns: int) -> None:
        for cluster_queue in cluster_queues:
            queue = self._queues.get(cluster_queue.name)
            if queue is not None:
                queue.unpark(partial(self._can_be_tried, cluster_queue.existing_spec.namespace_selector, now_ns))

    def _can_be_tried(self, selector: Mapping[str, Any] | None, now_ns: int, item: QueuedWorkload) -> bool:
        labels = self._model.namespace_labels(item.key.namespace)
        if labels is None or not matches_selector(selector, labels):
            return False
        return is_backoff_over(item.workload.raw, now_ns)

    def _queue_of(self, key: ObjectKey) -> PendingQueue | None:
        local_queue = self._local_queue_of.get(key)
        cluster_queue = self._cluster_queue_of.get(local_queue) if local_queue is not None else None
        return self._queues.get(cluster_queue) if cluster_queue is not None else None

    def _push_submitted(self, local_queue: ObjectKey) -> None:
        queue = self._queues.get(self._cluster_queue_of[local_queue])
        if queue is None:
            return
        for key in sorted(self._submitted.get(local_queue, ())):
            workload = self._model.workload(key)
            if isinstance(workload, PendingWorkload):
                queue.push_if_absent(self.item(workload))


def _queues_below(cohort: CohortNode) -> Iterator[ClusterQueue]:
    yield from cohort.child_queues
    for child in cohort.child_cohorts:
        yield from _queues_below(child)
