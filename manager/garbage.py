"""Looks from time to time for what is ours on a worker although its hub Workload is gone.

Everything is read from the caches. Before anything is deleted, the hub itself is asked once more.
"""

import asyncio
from collections.abc import Iterator

from gates.assembling import HubJobs
from gates.garbage import Orphan, Sightings, orphans
from gates.jobs.records import JobRecord
from gates.marks import HubIdentity
from gates.records import HubRecord, ReplicaRecord
from manager.fleet import Fleet
from manager.hub import HubLink
from manager.lanes import Lanes
from manager.logs import begin_cause, get_log
from manager.remote import RemoteHand
from manager.worker import WorkerLink
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.errors import ClusterError, NotFound
from workerclient.kind import Key


class GarbageCollector:
    """Removes orphans."""

    def __init__(
        self,
        hub: HubLink,
        fleet: Fleet,
        hand: RemoteHand,
        lanes: Lanes,
        identity: HubIdentity,
        interval_seconds: float,
        clock: Clock,
    ) -> None:
        self._hub = hub
        self._fleet = fleet
        self._hand = hand
        self._lanes = lanes
        self._identity = identity
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._sightings = Sightings()
        self._changed = asyncio.Event()

    def change_interval(self, seconds: float) -> None:
        """Look that often from now on."""
        self._interval_seconds = seconds
        self._changed.set()

    async def run(self) -> None:
        """Look again and again until cancelled; an interval of 0 means never."""
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
        """Look once."""
        found = [orphan for link in self._fleet.links.values() if link.is_connected for orphan in self._orphans(link)]
        interval_ns = int(self._interval_seconds * 1e9)
        for orphan in self._sightings.ripe(found, self._clock.now_ns(), interval_ns):
            if await self._is_gone(orphan):
                self._remove(orphan)

    def _orphans(self, link: WorkerLink) -> Iterator[Orphan]:
        replicas = (link.workloads.cache.get(key) for key in link.workloads.cache)
        jobs = ((gvk, followed.cache.get(key)) for gvk, followed in link.jobs.items() for key in followed.cache)
        return orphans(
            link.name,
            [each for each in replicas if isinstance(each, ReplicaRecord)],
            [(gvk, job) for gvk, job in jobs if isinstance(job, JobRecord)],
            self._identity,
            self._lives,
            self._job_lives,
        )

    def _lives(self, namespace: str, name: str, uid: str) -> bool:
        workload = self._hub.workload(Key(namespace, name))
        if isinstance(workload, Unreadable):
            return True
        return isinstance(workload, HubRecord) and not workload.deleted and uid in ("", workload.uid)

    def _job_lives(self, gvk: str, job: JobRecord) -> bool:
        cache = self._hub.jobs[gvk].cache
        original = cache.get(Key(job.namespace, job.name))
        if not cache.synced or isinstance(original, Unreadable):
            return True
        return original is not None and original.uid == job.hub_uid

    async def _is_gone(self, orphan: Orphan) -> bool:
        """Ask the hub itself."""
        try:
            if orphan.workload:
                present = await self._hub.workloads.resource.get(Key(orphan.namespace, orphan.workload))
            else:
                present = await self._hub.jobs[orphan.kind].resource.get(Key(orphan.namespace, orphan.name))
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
        replica = link.replica(Key(orphan.namespace, orphan.name)) if link is not None else None
        return replica.hub_uid if isinstance(replica, ReplicaRecord) else ""

    def _remove(self, orphan: Orphan) -> None:
        link = self._fleet.links.get(orphan.cluster)
        key = Key(orphan.namespace, orphan.workload or orphan.name)
        if link is None or self._lanes.is_busy(key, orphan.cluster):
            return

        async def remove() -> None:
            job = link.jobs[orphan.kind].cache.get(Key(orphan.namespace, orphan.name)) if orphan.kind else None
            if isinstance(job, JobRecord) and job.uid == orphan.uid:
                await self._hand.delete_job(link, orphan.kind, job)
            elif not orphan.kind:
                await self._hand.remove(link, key, orphan.uid, HubJobs())

        get_log().info("garbage.removed", worker=orphan.cluster, kind=orphan.kind or "Workload", name=str(key))
        self._lanes.start(key, orphan.cluster, remove)
