"""Periodically reports jobs of the hub as stopped that seem to run, although nothing is left of them anywhere.

When the Workload of a running job is deleted, Kueue suspends the job, and makes another Workload only once the job has
stopped. Its status came from a worker, where its copy is removed; so no other component reports that it did. Nothing
but the job itself is left to tell, so this is looked for, as orphans on workers are.
"""

from collections.abc import Iterator
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey, format_time
from gates.jobs.kinds import JobKind, StatusSync
from gates.jobs.records import JobRecord
from gates.jobs.status import stopped_status
from gates.model.view import Reach
from manager.base.batching import batched
from manager.clusters.fleet import Fleet
from manager.clusters.hub import HubLink
from manager.clusters.lost_workers import LostWorkers
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.reconcile.hub_writer import write_job_status
from manager.reconcile.rules import Rules
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError

_BATCH: Final = 200


class StrandedJobs:
    """Stops them."""

    def __init__(self, hub: HubLink, fleet: Fleet, lost_workers: LostWorkers, rules: Rules, clock: Clock) -> None:
        self._hub = hub
        self._fleet = fleet
        self._lost_workers = lost_workers
        self._rules = rules
        self._clock = clock
        self._since: dict[tuple[str, str], int] = {}
        """When each was first seen, by kind and UID."""

    async def stop(self, interval_seconds: float) -> None:
        """Stop those that were seen an interval ago, and have been stranded ever since."""
        found: dict[tuple[str, str], tuple[JobKind, JobRecord]] = {}
        for kind in self._hub.kinds.values():
            for keys in batched(list(self._hub.jobs[kind.gvk].cache), _BATCH):
                found |= {(kind.gvk, job.uid): (kind, job) for job in self._stranded(kind, keys)}
                await self._clock.sleep(0)
        now_ns = self._clock.now_ns()
        self._since = {seen: self._since.get(seen, now_ns) for seen in found}
        for seen, (kind, job) in found.items():
            if now_ns - self._since[seen] >= interval_seconds * NANOSECONDS and self._hub.is_connected:
                await self._report(kind, job)

    def _stranded(self, kind: JobKind, keys: list[ObjectKey]) -> Iterator[JobRecord]:
        followed = self._hub.jobs[kind.gvk]
        if kind.status is not StatusSync.BATCH_JOB or not (followed.cache.synced and self._hub.workloads.cache.synced):
            return
        for job in map(followed.cache.get, keys):
            if isinstance(job, JobRecord) and self._seems_to_run(kind, job) and not self._may_be_somewhere(kind, job):
                yield job

    def _seems_to_run(self, kind: JobKind, job: JobRecord) -> bool:
        is_ours = job.manager == self._rules.settings.managed_by and not job.deleted
        return is_ours and stopped_status(kind, job.body, self._now()) is not None

    def _may_be_somewhere(self, kind: JobKind, job: JobRecord) -> bool:
        """Return whether there is a Workload, which is decided about, or a worker has a copy or may have one."""
        if self._hub.workloads_of_job(kind, job.key):
            return True
        return any(self._may_have(link, kind, job) for link in self._fleet.links.values())

    def _may_have(self, link: WorkerLink, kind: JobKind, job: JobRecord) -> bool:
        reach = link.reach(kind)
        if reach is Reach.SYNCED:
            return link.jobs[kind.gvk].cache.get(job.key) is not None
        if reach is Reach.LOST:
            self._lost_workers.note(link.name)
        return not self._lost_workers.is_given_up(link.name)

    async def _report(self, kind: JobKind, job: JobRecord) -> None:
        status = stopped_status(kind, job.body, self._now())
        if status is None:
            return
        try:
            await write_job_status(self._hub, kind, job, status)
        except ClusterError as error:
            get_log().warning("stranded_job.failed", kind=kind.kind, name=str(job.key), error=str(error))
        else:
            get_log().info("stranded_job.stopped", kind=kind.kind, name=str(job.key))

    def _now(self) -> str:
        return format_time(self._clock.now_ns())
