"""Drains a worker: its Workloads go back to the hub's queue, the most important first, at a bounded rate.

Nothing is remembered between two runs: what is still on the worker is what is left to do, so that a run that was cut
short is completed by the next one.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import Obj, ObjectKey
from gates.jobs.reading import ManifestFieldError
from gates.model.activity import check_record, cluster_record, config_record
from gates.planning.draining import PlannedMove, elsewhere, eviction, leaving, move_of, unplanned
from gates.wire.patches import hub_status_patch
from gates.wire.record_readers import hub_record
from gates.wire.records import HubRecord
from manager.base.kinds import ADMISSION_CHECKS, CLUSTERS, CONFIGS, WORKLOADS
from manager.clusters.worker_table import resolve_config, traits_of
from manager.onboarding.errors import OnboardingError, UnfitInputError
from manager.planning.errors import PlanError
from manager.planning.planner import Planner
from workerclient.base.clock import Clock
from workerclient.base.errors import Conflict, NotFound
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClusterClient
from workerclient.objects.resource import Precondition

_ATTEMPTS = 5
_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Draining:
    """The Workloads of one worker, and the ways to plan and move them."""

    hub: ClusterClient
    worker: WorkerName
    controller_name: str
    planner: Planner
    clock: Clock

    async def refuse_last(self) -> None:
        """Raise if the worker is not there, or if a MultiKueueConfig leads to no other worker that is in service."""
        clusters = {each.name: each for each in map(cluster_record, await self._list(CLUSTERS))}
        if self.worker not in clusters:
            known = "`turnstile worker list` names those it has"
            raise UnfitInputError(f"the hub has no MultiKueueCluster {self.worker}; {known}")
        traits = {name: traits_of(None, each) for name, each in clusters.items()}
        for config in (resolve_config(config_record(raw), traits) for raw in await self._list(CONFIGS)):
            others = [name for name in config.clusters if name in clusters and not clusters[name].is_cordoned]
            if self.worker in config.clusters and not set(others) - {self.worker}:
                raise OnboardingError(
                    f"{self.worker} is the last worker in service of MultiKueueConfig {config.name}: its Workloads "
                    "would have nowhere to go; uncordon or add another one first"
                )

    async def moves(self) -> list[PlannedMove]:
        """Return what would move where, one Workload after the other, each as if it came alone."""
        names = sorted(cluster_record(raw).name for raw in await self._list(CLUSTERS))
        found = []
        raws = {_key(raw): raw for raw in await self._list(WORKLOADS)}
        for record in await self._leaving(raws):
            manifest = elsewhere(raws[record.key], self.worker, names)
            try:
                found.append(move_of(record, await self.planner.plan(manifest, record.namespace)))
            except (ManifestFieldError, PlanError) as error:
                found.append(unplanned(record, str(error)))
        return found

    async def evict_all(self, per_minute: int, tell: Callable[[ObjectKey], None]) -> None:
        """Send every Workload of the worker back to the queue, so many in a minute."""
        is_first = True
        async for key in self._each():
            if not is_first:
                await self.clock.sleep(60 / per_minute)
            is_first = False
            if await self._evict(key):
                tell(key)

    async def until_empty(self, seconds: float, tell: Callable[[int], None]) -> bool:
        """Wait until no Workload is left on the worker; return whether that was in time."""
        ends = self.clock.monotonic() + seconds
        while True:
            left = len(await self._remaining())
            tell(left)
            if not left:
                return True
            if self.clock.monotonic() >= ends:
                return False
            await self.clock.sleep(_LOOK_SECONDS)

    async def _each(self) -> AsyncIterator[ObjectKey]:
        for record in await self._leaving({_key(raw): raw for raw in await self._list(WORKLOADS)}):
            yield record.key

    async def _evict(self, key: ObjectKey) -> bool:
        """Evict a Workload; return whether it was still there, on this worker."""
        for _ in range(_ATTEMPTS):
            try:
                record = hub_record(await self.hub.resource(WORKLOADS).get(key))
                checks = await self._our_checks()
                entry = record.check(checks)
                if entry is None or not leaving([record], self.worker, checks):
                    return False
                operations = hub_status_patch(record, entry.name, eviction(self.worker), self.clock.now_ns())
                fence = Precondition(record.uid, record.resource_version)
                await self.hub.resource(WORKLOADS).json_patch(key, operations, fence, subresource="status")
            except Conflict:
                continue  # it changed meanwhile: whether it still runs there is looked at again
            except NotFound:
                return False
            return True
        raise OnboardingError(f"Workload {key} is being changed by another client; run the command again")

    async def _remaining(self) -> list[ObjectKey]:
        records = (_record(raw) for raw in await self._list(WORKLOADS))
        there = (record for record in records if record is not None and record.cluster_name == self.worker)
        return [record.key for record in there if not record.is_true("Finished")]

    async def _leaving(self, raws: dict[ObjectKey, Obj]) -> list[HubRecord]:
        records = (_record(raw) for raw in raws.values())
        return leaving((each for each in records if each is not None), self.worker, await self._our_checks())

    async def _our_checks(self) -> frozenset[str]:
        checks = map(check_record, await self._list(ADMISSION_CHECKS))
        return frozenset(check.name for check in checks if check.controller_name == self.controller_name)

    async def _list(self, kind: ApiKind) -> list[Obj]:
        return [raw async for page in self.hub.resource(kind).pages() for _, raw in page.items]


def _key(raw: Obj) -> ObjectKey:
    return ObjectKey(str(raw["metadata"].get("namespace", "")), str(raw["metadata"]["name"]))


def _record(raw: Obj) -> HubRecord | None:
    try:
        return hub_record(raw)
    except ValueError:
        return None  # a Workload that cannot be read is left alone, as the daemon leaves it
