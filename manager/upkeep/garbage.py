"""Periodically removes our objects on workers whose hub Workload is gone, and stops stranded jobs of the hub.

Everything is read from the caches. Before anything is deleted, the hub itself is asked once more.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey
from config.sections.settings import Configuration
from gates.jobs.belonging import Claim, jobs_to_remove, removals
from gates.jobs.records import JobRecord
from gates.model.job_plan import RemovedJob
from gates.model.marks import HubIdentity
from gates.upkeep.garbage import Orphan, Sightings, orphans
from gates.wire.records import HubRecord, ReplicaRecord
from manager.base.batching import batched
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.logging.logs import begin_cause, get_log
from manager.queueing.action_slots import ActionEffect, ActionSlots
from manager.reconcile.remote_jobs import RemoteJobs
from manager.reconcile.worker_writer import WorkerWriter
from manager.upkeep.stranded_jobs import StrandedJobs
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError, NotFound
from workerclient.objects.cache import Unreadable

_BATCH: Final = 200


class GarbageCollector:
    """Removes orphans."""

    def __init__(
        self,
        hub: HubLink,
        fleet: Fleet,
        writer: WorkerWriter,
        slots: ActionSlots,
        identity: HubIdentity,
        configuration: Configuration,
        clock: Clock,
        stranded: StrandedJobs,
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._writer = writer
        self._slots = slots
        self._identity = identity
        self._remote_jobs = RemoteJobs(hub, identity)
        self._interval_seconds = configuration.gc_interval.total_seconds()
        self._clock = clock
        self._sightings = Sightings()
        self._stranded = stranded
        self._changed = asyncio.Event()

    def reconfigure(self, configuration: Configuration) -> None:
        """Collect at another interval from now on."""
        self._interval_seconds = configuration.gc_interval.total_seconds()
        self._changed.set()

    async def run(self) -> None:
        """Collect periodically until cancelled; an interval of 0 means never."""
        while True:
            self._changed.clear()
            if await self._interval_passed() and self._hub.is_connected:
                begin_cause()
                await self.collect()

    async def _interval_passed(self) -> bool:
        """Wait for the interval; False if it was changed meanwhile."""
        if not self._interval_seconds:
            return not await self._changed.wait()
        try:
            async with self._clock.timeout(self._interval_seconds):
                return not await self._changed.wait()
        except TimeoutError:
            return True

    async def collect(self) -> None:
        """Collect once."""
        connected = [link for link in self._fleet.links.values() if link.is_connected]
        found = [orphan for link in connected for orphan in await self._found_on(link)]
        if not self._hub.is_connected:
            return  # it was lost meanwhile, so absence means nothing
        interval_ns = int(self._interval_seconds * NANOSECONDS)
        for orphan in self._sightings.ripe(found, self._clock.now_ns(), interval_ns):
            if await self._is_gone(orphan):
                self._remove(orphan)
        await self._stranded.stop(self._interval_seconds)

    async def _found_on(self, link: WorkerLink) -> list[Orphan]:
        try:
            return [orphan async for orphan in self._orphans(link)]
        except Exception as error:  # noqa: BLE001 - the boundary around one cluster
            get_log().error("garbage.failed", worker=link.name, exc_info=error)
            return []

    async def _orphans(self, link: WorkerLink) -> AsyncIterator[Orphan]:
        """Search the caches in small batches, each in its state at that moment."""
        for keys in batched(list(link.workloads.cache), _BATCH):
            replicas = [link.workloads.cache.get(key) for key in keys]
            for orphan in self._among(link, [each for each in replicas if isinstance(each, ReplicaRecord)], []):
                yield orphan
            await self._clock.sleep(0)
        for gvk, followed in link.jobs.items():
            for keys in batched(list(followed.cache), _BATCH):
                jobs = [followed.cache.get(key) for key in keys]
                for orphan in self._among(link, [], [(gvk, job) for job in jobs if isinstance(job, JobRecord)]):
                    yield orphan
                await self._clock.sleep(0)

    def _among(
        self, link: WorkerLink, replicas: list[ReplicaRecord], jobs: list[tuple[str, JobRecord]]
    ) -> Iterator[Orphan]:
        return orphans(link.authorship, replicas, jobs, self._identity, self._lives, self._job_lives)

    def _lives(self, namespace: str, name: str, uid: str) -> bool:
        workload = self._hub.workload(ObjectKey(namespace, name))
        if isinstance(workload, Unreadable):
            return True
        return isinstance(workload, HubRecord) and not workload.deleted and uid in ("", workload.uid)

    def _job_lives(self, gvk: str, job: JobRecord) -> bool:
        cache = self._hub.jobs[gvk].cache
        original = cache.get(job.key)
        if not cache.synced or isinstance(original, Unreadable):
            return True
        return original is not None and original.uid == job.hub_uid and (not job.elastic or self._has_slices(gvk, job))

    def _has_slices(self, gvk: str, job: JobRecord) -> bool:
        """Return whether any slice of an elastic job is left; without one it is neither removed nor taken over."""
        keys = self._hub.workloads_of_job(self._hub.kinds[gvk], job.key)
        return any(self._lives(key.namespace, key.name, "") for key in keys)

    async def _is_gone(self, orphan: Orphan) -> bool:
        """Ask the hub itself."""
        try:
            if orphan.workload:
                present = await self._hub.workloads.resource.get(ObjectKey(orphan.namespace, orphan.workload))
            else:
                present = await self._hub.jobs[orphan.kind].resource.get(orphan.key)
        except NotFound:
            return True
        except ClusterError as error:
            get_log().warning("garbage.unsure", worker=orphan.cluster, name=orphan.name, error=str(error))
            return False
        metadata = present["metadata"]
        if metadata.get("deletionTimestamp"):
            return True
        return not orphan.kind and not self._lives(orphan.namespace, orphan.workload, self._hub_uid(orphan))

    def _hub_uid(self, orphan: Orphan) -> str:
        link = self._fleet.links.get(orphan.cluster)
        replica = link.replica(orphan.key) if link is not None else None
        return replica.hub_uid if isinstance(replica, ReplicaRecord) else ""

    def _remove(self, orphan: Orphan) -> None:
        link = self._fleet.links.get(orphan.cluster)
        key = ObjectKey(orphan.namespace, orphan.workload or orphan.name)
        if link is None or self._slots.is_busy(key, orphan.cluster):
            return

        async def remove() -> ActionEffect:
            effect = await send()
            if effect is ActionEffect.DONE:
                get_log().info("garbage.removed", worker=orphan.cluster, kind=orphan.kind or "Workload", name=str(key))
            return effect

        async def send() -> ActionEffect:
            if not orphan.kind:
                there = self._remote_jobs.find(link, Claim(key.namespace, key.name))
                jobs = removals(jobs_to_remove(there.own, there.wanted))
                return await self._writer.remove(link, key, jobs, orphan.uid)
            job = RemovedJob(orphan.kind, orphan.name, orphan.uid)
            return await self._writer.remove_job(link, orphan.namespace, job)

        self._slots.start(key, orphan.cluster, remove)
