"""When holders of quota expire (KEP-8522): nothing else happens at that moment, so a timer must wake who waits for it.

Keeps, for each ClusterQueue that protects its holders for a time only, when they got their quota. Outdated entries are
dropped when they come up. Invariant: no holder that expires later than the last question is missing.
"""

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from engine.cluster.model import ClusterModel
from engine.objects.time_based import expires_at
from engine.objects.workloads import AdmittedWorkload

if TYPE_CHECKING:
    from config.api.meta import ObjectKey


class ExpiryTimers:
    """The reservations of one cluster that run out."""

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._reserved: dict[str, list[tuple[int, ObjectKey]]] = {}

    def watch_queue(self, name: str) -> None:
        """Follow a ClusterQueue whose spec changed."""
        self._reserved.pop(name, None)
        queue = self._model.cluster_queue(name)
        if queue is not None and self._protection_ns(name) is not None:
            self._reserved[name] = sorted((workload.reserved_at_ns, workload.key) for workload in queue.candidates)

    def watch(self, workload: AdmittedWorkload) -> None:
        """Follow a workload that got quota."""
        timers = self._reserved.get(workload.cluster_queue)
        if timers is not None:
            heappush(timers, (workload.reserved_at_ns, workload.key))

    def next_ns(self, now_ns: int) -> int | None:
        """Return when the next holder expires, None if none will."""
        upcoming = [moment for name in self._reserved if (moment := self._next_of(name, now_ns)) is not None]
        return min(upcoming, default=None)

    def expired(self, since_ns: int, now_ns: int) -> list[str]:
        """Return the ClusterQueues in which a holder expired after `since_ns`, up to now."""
        found = []
        for name in self._reserved:
            moment = self._next_of(name, since_ns)
            if moment is not None and moment <= now_ns:
                found.append(name)
        return found

    def _protection_ns(self, name: str) -> int | None:
        queue = self._model.cluster_queue(name)
        if queue is None or not self._model.configuration.gates.time_based_same_priority_preemption:
            return None
        return queue.existing_spec.min_admit_duration_ns

    def _next_of(self, name: str, after_ns: int) -> int | None:
        """Return the first expiry in a ClusterQueue after a moment; earlier ones are over and forgotten."""
        protection_ns = self._protection_ns(name)
        timers = self._reserved[name]
        while timers and protection_ns is not None:
            reserved_ns, key = timers[0]
            holder = self._model.workload(key)
            is_current = (
                isinstance(holder, AdmittedWorkload)
                and holder.cluster_queue == name
                and holder.reserved_at_ns == reserved_ns
            )
            moment = expires_at(reserved_ns, protection_ns)
            if is_current and moment > after_ns:
                return moment
            heappop(timers)
        return None
