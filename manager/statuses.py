"""Keeps the condition `Active` of our AdmissionChecks and of MultiKueueClusters in step with what is the case.

While it is not known yet whether a worker is there, what stands in the condition is left standing: a restart of the
daemon must not make queues inactive.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeVar

from gates.activity import CheckRecord, ClusterRecord, ConfigRecord, Health, check_health, new_condition
from gates.patches import condition_patch
from manager.fleet import Fleet
from manager.hub import HubLink
from manager.logs import get_log
from manager.patience import is_outrun, rest_seconds
from manager.queue import KeyedQueue
from manager.rivals import Rivals
from workerclient.backoff import Jitter
from workerclient.clock import Clock
from workerclient.cluster import Followed
from workerclient.errors import ClusterError
from workerclient.kind import Key
from workerclient.resource import Precondition

_NOT_YET_SECONDS = 1.0
Record = TypeVar("Record", CheckRecord, ClusterRecord)


class Subject(StrEnum):
    """Whose condition it is."""

    CHECK = "AdmissionCheck"
    CLUSTER = "MultiKueueCluster"


class Place(NamedTuple):
    """One object with a condition of ours."""

    subject: Subject
    name: str


class Statuses:
    """Writes conditions."""

    def __init__(
        self, hub: HubLink, fleet: Fleet, queue: KeyedQueue[Place], rivals: Rivals, clock: Clock, jitter: Jitter
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._queue = queue
        self._rivals = rivals
        self._clock = clock
        self._jitter = jitter
        self._failures: dict[Place, int] = {}

    async def look(self, place: Place) -> None:
        """Bring one condition up to date."""
        if not self._hub.is_connected or not self._fleet.settled.is_set():
            self._queue.add_after(place, _NOT_YET_SECONDS)
            return
        try:
            if place.subject is Subject.CHECK:
                await self._update(place, self._hub.checks, CheckRecord, self._check_health)
            else:
                await self._update(place, self._hub.clusters, ClusterRecord, self._cluster_health)
        except ClusterError as error:
            failures = self._failures[place] = self._failures.get(place, 0) + 1
            if not is_outrun(error):
                get_log().warning("condition.unwritten", subject=place.subject, name=place.name, error=str(error))
            self._queue.add_after(place, rest_seconds(error, failures, self._jitter))
        else:
            self._failures.pop(place, None)

    def _check_health(self, check: CheckRecord) -> Health | None:
        if not self._hub.is_ours(check):
            return None
        config = self._hub.configs.cache.get(Key("", check.config)) if check.config else None
        known = config if isinstance(config, ConfigRecord) else None
        if known is not None and not self._fleet.connecting().isdisjoint(known.clusters):
            return None
        return check_health(check, known, self._fleet.health())

    def _cluster_health(self, cluster: ClusterRecord) -> Health | None:
        return self._fleet.health().get(cluster.name)

    async def _update(
        self,
        place: Place,
        followed: Followed[Record],
        kind: type[Record],
        judge: Callable[[Record], Health | None],
    ) -> None:
        record = followed.cache.get(Key("", place.name))
        if not isinstance(record, kind):
            return
        health = judge(record)
        if health is None:
            return
        if self._rivals.keeps(f'{place.subject} "{place.name}"', record):
            return
        condition = new_condition(record.active, health, record.generation, self._clock.now_ns())
        if condition is None:
            return
        operations = condition_patch(record.condition_order, condition)
        if not record.has_status:
            operations = [{"op": "add", "path": "/status", "value": {"conditions": [operations[0]["value"][0]]}}]
        fence = Precondition(record.uid, record.resource_version)
        await followed.resource.json_patch(Key("", place.name), operations, fence, subresource="status")
        self._rivals.wrote(record.uid, condition)
        get_log().info(
            "condition.written", subject=place.subject, name=place.name, status=condition.status, reason=health.reason
        )
