"""Keeps the condition `Active` of our AdmissionChecks and of MultiKueueClusters in step with the actual state.

While it is not known yet whether a worker is there, the condition is left as it is: a restart of the
daemon must not make queues inactive.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple, TypeVar

from config.api.meta import ObjectKey
from gates.model.activity import CheckRecord, ClusterRecord, Health, check_health, new_condition
from gates.wire.patches import condition_patch
from manager.base.retrying import RetriedOperation
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.logging.logs import get_log
from manager.queueing.backoff import KeyedFailures, is_outrun
from manager.queueing.queue import KeyedQueue
from manager.upkeep.rivals import Rivals
from workerclient.base.backoff import Jitter, OnRetry, ignore_retry
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError
from workerclient.cluster import WatchedResource
from workerclient.objects.resource import Precondition

_NOT_YET_SECONDS = 1.0
Record = TypeVar("Record", CheckRecord, ClusterRecord)


class ConditionOwner(StrEnum):
    """Whose condition it is."""

    CHECK = "AdmissionCheck"
    CLUSTER = "MultiKueueCluster"


class ConditionTarget(NamedTuple):
    """One object whose condition we write."""

    subject: ConditionOwner
    name: str

    def __str__(self) -> str:
        return f'{self.subject} "{self.name}"'


class ActiveConditions:
    """Writes conditions."""

    def __init__(
        self,
        hub: HubLink,
        fleet: Fleet,
        queue: KeyedQueue[ConditionTarget],
        rivals: Rivals,
        clock: Clock,
        jitter: Jitter,
        on_retry: OnRetry = ignore_retry,
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._queue = queue
        self._rivals = rivals
        self._clock = clock
        self._failures: KeyedFailures[ConditionTarget] = KeyedFailures(RetriedOperation.CONDITION, jitter, on_retry)

    async def reconcile(self, place: ConditionTarget) -> None:
        """Bring one condition up to date."""
        if not self._hub.is_connected or not self._fleet.settled.is_set():
            self._queue.add_after(place, _NOT_YET_SECONDS)
            return
        try:
            if place.subject is ConditionOwner.CHECK:
                await self._update(place, self._hub.checks, CheckRecord, self._check_health)
            else:
                await self._update(place, self._hub.clusters, ClusterRecord, self._cluster_health)
        except ClusterError as error:
            if not is_outrun(error):
                get_log().warning("condition.unwritten", subject=place.subject, name=place.name, error=str(error))
            self._queue.add_after(place, self._failures.next_wait(place, error))
        except Exception as error:  # noqa: BLE001 - the boundary of a task: one cluster must not end the daemon
            get_log().error("condition.failed", subject=place.subject, name=place.name, exc_info=error)
            self._queue.add_after(place, self._failures.next_wait(place, error))
        else:
            self._failures.forget(place)

    def _check_health(self, check: CheckRecord) -> Health | None:
        if not self._hub.is_ours(check):
            return None
        known = self._hub.config(check.config) if check.config else None
        if known is not None and not self._fleet.connecting().isdisjoint(known.clusters):
            return None
        return check_health(check, known, self._fleet.health())

    def _cluster_health(self, cluster: ClusterRecord) -> Health | None:
        health = self._fleet.health().get(cluster.name)
        if health is None or not cluster.is_cordoned:
            return health
        return replace(health, message=f"{health.message}; cordoned: no new Workload is sent there")

    async def _update(
        self,
        place: ConditionTarget,
        followed: WatchedResource[Record],
        kind: type[Record],
        judge: Callable[[Record], Health | None],
    ) -> None:
        record = followed.cache.get(ObjectKey("", place.name))
        if not isinstance(record, kind):
            return
        health = judge(record)
        if health is None:
            return
        if self._rivals.keeps(str(place), record):
            return
        condition = new_condition(record.active, health, record.generation, self._clock.now_ns())
        if condition is None:
            return
        operations = condition_patch(record.condition_order, condition)
        if not record.has_status:
            operations = [{"op": "add", "path": "/status", "value": {"conditions": [operations[0]["value"][0]]}}]
        fence = Precondition(record.uid, record.resource_version)
        await followed.resource.json_patch(ObjectKey("", place.name), operations, fence, subresource="status")
        self._rivals.wrote(record.uid, condition)
        get_log().info(
            "condition.written", subject=place.subject, name=place.name, status=condition.status, reason=health.reason
        )
