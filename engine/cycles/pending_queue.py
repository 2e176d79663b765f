"""The waiting workloads of one ClusterQueue: those that are ready to be tried, in order, and those that are parked.

A parked workload was tried without success, backs off, or is like one that was; it is not tried again before something
happens that could help. Invariant: a workload is in exactly one place, ready, parked or in flight.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Any, Final

from config.api.meta import ObjectKey, conditions, parse_time
from engine.objects.boost import PRIORITY_BOOST_ANNOTATION
from engine.objects.specs import QueueingStrategy
from engine.objects.workloads import PendingWorkload
from engine.requests.requests import WorkloadRequest
from engine.search.gating import closed_gates
from engine.search.scan_memory import ScanRecord
from engine.vocabulary.features import FeatureGates


class QueuePlace(StrEnum):
    """Where a workload waits."""

    HEAP = "heap"
    PARKED = "parked"


class RequeueReason(StrEnum):
    """Why a workload goes back to its queue after a cycle."""

    GENERIC = ""
    FAILED_AFTER_NOMINATION = "FailedAfterNomination"
    NAMESPACE_MISMATCH = "NamespaceMismatch"
    PREEMPTION_GATED = "PreemptionGated"
    PENDING_PREEMPTION = "PendingPreemption"
    NO_FIT = "NoFit"
    PREEMPTION_NO_CANDIDATES = "PreemptionNoCandidates"


_TRIED_AGAIN_AT_ONCE: Final = frozenset({RequeueReason.FAILED_AFTER_NOMINATION, RequeueReason.PENDING_PREEMPTION})
_SHARED_BY_EQUIVALENTS: Final = frozenset({RequeueReason.NO_FIT, RequeueReason.PREEMPTION_NO_CANDIDATES})

_STALE_ALLOWED: Final = 64
"""So many outdated entries of the heap are not worth cleaning up."""


@dataclass(slots=True, eq=False)
class QueuedWorkload:
    """A workload in a queue."""

    workload: PendingWorkload
    request: WorkloadRequest
    shape: Hashable | None
    """Equal for workloads whose fate must be the same; None where Kueue does not compare them."""
    memory: ScanRecord | None = None

    @property
    def key(self) -> ObjectKey:
        """The key of the workload."""
        return self.workload.key

    @property
    def order(self) -> tuple[int, int, str, ObjectKey]:
        """The place in the queue: higher priority, then older, then smaller uid."""
        workload = self.workload
        return -workload.priority, workload.queue_time_ns, workload.uid, workload.key


class PendingQueue:
    """The waiting workloads of one ClusterQueue."""

    def __init__(
        self, strategy: QueueingStrategy, gates: FeatureGates, *, parks_equals_after_any_failure: bool = False
    ) -> None:
        self.strategy = strategy
        self.sticky: ObjectKey | None = None
        """Preempts already, so it stays at the head whatever arrives."""
        self._gates = gates
        self._parks_equals_after_any_failure = parks_equals_after_any_failure
        self._ready: dict[ObjectKey, QueuedWorkload] = {}
        self._heap: list[tuple[tuple[int, int, str, ObjectKey], int, QueuedWorkload]] = []
        self._pushes = 0
        self._ready_by_shape: defaultdict[Hashable, set[ObjectKey]] = defaultdict(set)
        self._parked: dict[ObjectKey, QueuedWorkload] = {}
        self._failed_shapes: set[Hashable] = set()
        self._in_flight: QueuedWorkload | None = None
        self._pop_cycle = 0
        self._retry_cycle = -1

    @property
    def has_ready(self) -> bool:
        """Return whether there is a head."""
        return bool(self._ready)

    @property
    def ready(self) -> list[ObjectKey]:
        """The workloads that wait for their turn, sorted by key."""
        return sorted(self._ready)

    @property
    def parked(self) -> list[ObjectKey]:
        """The workloads that wait for something to happen, sorted by key."""
        return sorted(self._parked)

    def in_order(self) -> list[ObjectKey]:
        """Return the ready workloads as they would be tried."""
        ordered = sorted(self._ready.values(), key=lambda item: (item.key != self.sticky, item.order))
        return [item.key for item in ordered]

    def find(self, key: ObjectKey) -> QueuedWorkload | None:
        """Return a workload, wherever it is."""
        if self._in_flight is not None and self._in_flight.key == key:
            return self._in_flight
        return self._ready.get(key) or self._parked.get(key)

    def place_of(self, key: ObjectKey) -> QueuePlace | None:
        """Return where a workload waits."""
        if key in self._ready:
            return QueuePlace.HEAP
        return QueuePlace.PARKED if key in self._parked else None

    def push_if_absent(self, item: QueuedWorkload) -> None:
        """Take a workload whose LocalQueue has just appeared; nothing speaks against trying it."""
        if self.find(item.key) is None:
            self._put_ready(item)

    def push_or_update(self, item: QueuedWorkload, now_ns: int) -> None:
        """Take a new workload, or a new version of one."""
        key = item.key
        if self._in_flight is not None and self._in_flight.key == key:
            return
        parked = self._parked.get(key)
        if parked is not None:
            if not self._may_help(parked, item):
                self._parked[key] = item
                return
            del self._parked[key]
        if key not in self._ready and (not is_backoff_over(item.workload.raw, now_ns) or self._is_like_failed(item)):
            self._parked[key] = item
            return
        self._put_ready(item)

    def delete(self, key: ObjectKey) -> None:
        """Forget a workload."""
        self._parked.pop(key, None)
        self._remove_ready(key)
        if self._in_flight is not None and self._in_flight.key == key:
            self._in_flight = None
        if self.sticky == key:
            self.sticky = None

    def pop(self) -> QueuedWorkload | None:
        """Hand out the head; it is in flight until requeued or deleted."""
        self._pop_cycle += 1
        self._in_flight = None
        head = self._ready.get(self.sticky) if self.sticky is not None else None
        while head is None and self._heap:
            candidate = heappop(self._heap)[-1]
            if self._ready.get(candidate.key) is candidate:
                head = candidate
        if head is not None:
            self._remove_ready(head.key)
        self._in_flight = head
        return head

    def requeue(self, item: QueuedWorkload, reason: RequeueReason, now_ns: int) -> None:
        """Take back a head that was not admitted."""
        key = item.key
        is_best_effort = self.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        if is_best_effort and reason is RequeueReason.PENDING_PREEMPTION:
            self.sticky = key
        if self._in_flight is not None and self._in_flight.key == key:
            self._in_flight = None
        at_once = reason in _TRIED_AGAIN_AT_ONCE if is_best_effort else reason is not RequeueReason.NAMESPACE_MISMATCH
        has_untried_flavors = item.memory is not None and item.memory.has_untried_flavors
        if is_backoff_over(item.workload.raw, now_ns) and (
            at_once or self._retry_cycle >= self._pop_cycle or has_untried_flavors
        ):
            if key not in self._ready:
                self._put_ready(self._parked.pop(key, item))
        elif key not in self._parked and key not in self._ready:
            self._parked[key] = item
            is_shared = reason in _SHARED_BY_EQUIVALENTS or (self._parks_equals_after_any_failure and not at_once)
            if is_shared and is_best_effort and item.shape is not None:
                self._park_equivalents(item.shape)

    def unpark(self, can_be_tried: Callable[[QueuedWorkload], bool]) -> None:
        """Something happened that may help: try again what is parked, except what cannot be tried anyway."""
        self._retry_cycle = self._pop_cycle
        self._failed_shapes.clear()
        for item in [item for item in self._parked.values() if can_be_tried(item)]:
            del self._parked[item.key]
            self._put_ready(item)

    def _park_equivalents(self, shape: Hashable) -> None:
        self._failed_shapes.add(shape)
        for key in list(self._ready_by_shape.get(shape, ())):
            self._parked[key] = self._ready[key]
            self._remove_ready(key)

    def _is_like_failed(self, item: QueuedWorkload) -> bool:
        is_best_effort = self.strategy is QueueingStrategy.BEST_EFFORT_FIFO
        return is_best_effort and item.shape is not None and item.shape in self._failed_shapes

    def _put_ready(self, item: QueuedWorkload) -> None:
        self._remove_ready(item.key)
        self._ready[item.key] = item
        self._pushes += 1
        heappush(self._heap, (item.order, self._pushes, item))
        if len(self._heap) > 2 * len(self._ready) + _STALE_ALLOWED:
            self._heap = [entry for entry in self._heap if self._ready.get(entry[-1].key) is entry[-1]]
            heapify(self._heap)
        if item.shape is not None:
            self._ready_by_shape[item.shape].add(item.key)

    def _remove_ready(self, key: ObjectKey) -> None:
        item = self._ready.pop(key, None)
        if item is None or item.shape is None:
            return
        equivalents = self._ready_by_shape[item.shape]
        equivalents.discard(key)
        if not equivalents:
            del self._ready_by_shape[item.shape]

    def _may_help(self, before: QueuedWorkload, after: QueuedWorkload) -> bool:
        """Return whether a parked workload changed in a way that may let it be admitted."""
        old, new = before.workload.raw, after.workload.raw
        annotation = PRIORITY_BOOST_ANNOTATION
        if self._gates.priority_boost and _annotation(old, annotation) != _annotation(new, annotation):
            return True
        old_conditions, new_conditions = conditions(old), conditions(new)
        return (
            old.get("spec") != new.get("spec")
            or _reclaimable(old) != _reclaimable(new)
            or any(old_conditions.get(name) != new_conditions.get(name) for name in ("Evicted", "Requeued"))
            or bool(closed_gates(old)) != bool(closed_gates(new))
            or before.request.pod_sets != after.request.pod_sets
        )


def is_backoff_over(raw: Mapping[str, Any], now_ns: int) -> bool:
    """Return whether nothing makes the workload wait for a time."""
    requeued = conditions(raw).get("Requeued")
    if requeued is not None and requeued.status == "False":
        return False
    requeue_at = ((raw.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return not requeue_at or now_ns >= parse_time(requeue_at)


def _annotation(raw: Mapping[str, Any], name: str) -> str:
    return str((raw["metadata"].get("annotations") or {}).get(name) or "")


def _reclaimable(raw: Mapping[str, Any]) -> object:
    return (raw.get("status") or {}).get("reclaimablePods") or []
