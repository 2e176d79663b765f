"""Carries out actions on one worker. Every write is fenced, and nothing is touched that is not ours.

What an action is about is read from the caches again when it runs; if that is no longer there, the action is over.
"""

from collections.abc import Awaitable, Callable

import orjson

from config.api.meta import format_time
from gates.actions import (
    CreateReplica,
    DeactivateReplica,
    OpenGate,
    RemoveRemote,
    SyncJob,
    UpdateReplicaSpec,
    WorkerAction,
)
from gates.assembling import HubJobs, plan_jobs
from gates.jobs.copying import remote_job
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.jobs.syncing import JobContext, MemberSync
from gates.marks import FINALIZER, HubIdentity, hub_of, hub_uid_of, origin_of
from gates.patches import deactivation_patch, finalizer_patch, gate_opening_patch
from gates.records import HubRecord, ReplicaRecord
from gates.replicas import replica_of, spec_update
from gates.view import JobSync
from manager.hub import HubLink
from manager.kinds import api_kind
from manager.metrics import Metrics
from manager.worker import WorkerLink
from workerclient.budget import Lane
from workerclient.cache import Unreadable
from workerclient.clock import Clock
from workerclient.codec import Raw
from workerclient.errors import AlreadyExists, NotFound, Operation
from workerclient.kind import Key
from workerclient.resource import Precondition

FOREIGN_SECONDS = 60.0
"""How long a foreign object that stands in the way is left alone before it is looked at again."""


class RemoteHand:
    """Carries out actions on workers."""

    def __init__(
        self,
        hub: HubLink,
        identity: HubIdentity,
        clock: Clock,
        confirm_leadership: Callable[[], Awaitable[None]],
        metrics: Metrics,
    ) -> None:
        self._confirm_leadership = confirm_leadership
        self._hub = hub
        self._metrics = metrics
        self._identity = identity
        self._clock = clock

    async def carry_out(self, link: WorkerLink, hub: HubRecord, action: WorkerAction) -> bool:
        """Carry out one action and return whether there was still anything to do."""
        match action:
            case CreateReplica(gated=gated):
                return await self._create(link, hub, gated=gated)
            case OpenGate():
                return await self._open(link, hub, action)
            case RemoveRemote(replica_uid=uid):
                await self.remove(link, Key(hub.namespace, hub.name), uid, self._hub.jobs_of(hub))
            case UpdateReplicaSpec(replica_uid=uid, resource_version=version):
                await self._update(link, hub, uid, version)
            case DeactivateReplica(replica_uid=uid, message=message):
                await self._deactivate(link, hub, uid, message)
            case SyncJob(final=final):
                await self._sync_jobs(link, hub, final=final)
        return True

    # --- replicas

    async def _create(self, link: WorkerLink, hub: HubRecord, *, gated: bool) -> bool:
        key = Key(hub.namespace, hub.name)
        try:
            await link.workloads.resource.create(replica_of(hub, self._identity, gated=gated))
        except AlreadyExists:
            present = await link.workloads.resource.get(key)
            metadata = present["metadata"]
            if not self._identity.owns(origin_of(metadata), hub_of(metadata)):
                link.remember(key).foreign_workload_until = self._clock.monotonic() + FOREIGN_SECONDS
                return False
            raise  # ours: the watch is about to say so
        self._metrics.count_dispatched(hub.cluster_queue, link.name)
        link.remember(key).foreign_workload_until = 0.0
        return True

    async def _update(self, link: WorkerLink, hub: HubRecord, uid: str, version: str) -> None:
        replica = self._present(link, hub, uid)
        if replica is None:
            return
        operations = spec_update(hub, replica)
        if operations:
            key = Key(hub.namespace, hub.name)
            await link.workloads.resource.json_patch(key, operations, Precondition(uid, version))

    async def _open(self, link: WorkerLink, hub: HubRecord, action: OpenGate) -> bool:
        replica = self._present(link, hub, action.replica_uid)
        if replica is None:
            return False
        # What an opening lets happen cannot be undone, so it is worth a request to be sure that nobody else acts.
        await self._confirm_leadership()
        key = Key(hub.namespace, hub.name)
        operations = gate_opening_patch(replica, link.dialect, action.opened_ns)
        fence = Precondition(action.replica_uid, action.resource_version)
        await link.workloads.resource.json_patch(key, operations, fence, subresource="status", lane=Lane.URGENT)
        link.remember(key).confirmed.add(action.replica_uid)
        return True

    async def _deactivate(self, link: WorkerLink, hub: HubRecord, uid: str, message: str) -> None:
        replica = self._present(link, hub, uid)
        if replica is None:
            return
        key = Key(hub.namespace, hub.name)
        operations = deactivation_patch(replica, message, self._clock.now_ns())
        fence = Precondition(uid, replica.resource_version)
        await link.workloads.resource.json_patch(key, operations, fence, subresource="status")

    def _present(self, link: WorkerLink, hub: HubRecord, uid: str) -> ReplicaRecord | None:
        replica = link.replica(Key(hub.namespace, hub.name))
        if not isinstance(replica, ReplicaRecord) or replica.uid != uid:
            return None
        return replica if self._identity.owns(replica.origin, replica.hub) else None

    # --- removal

    async def remove(self, link: WorkerLink, key: Key, replica_uid: str | None, jobs: HubJobs) -> None:
        """Remove what is ours: jobs first, so that none is left running without its Workload."""
        for gvk, job in self._remote_jobs(link, key, jobs):
            await self.delete_job(link, gvk, job)
        replica = link.replica(key)
        if not isinstance(replica, ReplicaRecord) or replica.uid != replica_uid:
            return
        if not self._identity.owns(replica.origin, replica.hub):
            return
        if FINALIZER in replica.finalizers:
            fence = Precondition(replica.uid, replica.resource_version)
            try:
                await link.workloads.resource.json_patch(key, finalizer_patch(replica), fence)
            except NotFound:
                return
        if not replica.deleted:
            try:
                await link.workloads.resource.delete(key, Precondition(replica.uid))
            except NotFound:
                link.workloads.cache.deleted(key, replica.uid)
        link.memory.pop(key, None)

    async def delete_job(self, link: WorkerLink, gvk: str, job: JobRecord) -> None:
        """Delete one job of ours."""
        if job.deleted or not self._identity.owns(job.origin, job.hub):
            return
        key = Key(job.namespace, job.name)
        try:
            await link.jobs[gvk].resource.delete(key, Precondition(job.uid))
        except NotFound:
            link.jobs[gvk].cache.deleted(key, job.uid)

    def _remote_jobs(self, link: WorkerLink, key: Key, jobs: HubJobs) -> list[tuple[str, JobRecord]]:
        """Return the jobs that name the Workload, and those that the hub's job is called like."""
        found = {(gvk, job.uid): (gvk, job) for gvk, job in link.jobs_of(key)}
        if jobs.kind is not None and not jobs.kind.prebuilt:
            for job in remote_members(link, jobs):
                found[(jobs.kind.gvk, job.uid)] = (jobs.kind.gvk, job)
        return [entry for _, entry in sorted(found.items())]

    # --- jobs

    async def _sync_jobs(self, link: WorkerLink, hub: HubRecord, *, final: bool) -> None:
        jobs = self._hub.jobs_of(hub)
        kind = jobs.kind
        if kind is None:
            return
        replica = link.replica(Key(hub.namespace, hub.name))
        over = isinstance(replica, ReplicaRecord) and replica.is_finished
        context = JobContext(hub.name, sum(n for _, n in hub.shape.counts) if hub.shape else 0, self._now())
        remote = await self._asked_members(link, kind, jobs) if final else remote_members(link, jobs)
        for member in plan_jobs(jobs, remote, context):
            if member.sync is JobSync.CREATE:
                await (self._verify_absence if over else self._create_job)(link, hub, kind, member)
                continue
            if member.forward is not None and member.remote is not None:
                await self._forward(link, kind, member.remote, member)
            if member.status is not None:
                await self._copy_status(kind, member)

    async def _asked_members(self, link: WorkerLink, kind: JobKind, jobs: HubJobs) -> tuple[JobRecord, ...]:
        """Return the worker's jobs of ours that are called like the hub's, as they are now."""
        read, found = job_reader(kind), []
        for member in jobs.members:
            try:
                job = read(await link.jobs[kind.gvk].resource.get(Key(member.namespace, member.name)))
            except NotFound:
                continue
            if self._identity.owns(job.origin, job.hub):
                found.append(job)
        return tuple(found)

    async def _create_job(self, link: WorkerLink, hub: HubRecord, kind: JobKind, member: MemberSync) -> None:
        if member.remote is not None:
            await self.delete_job(link, kind.gvk, member.remote)  # of an earlier hub job of the same name
            return
        key = Key(member.hub.namespace, member.hub.name)
        original = await self._original(kind, member.hub)
        if original["metadata"].get("uid") != member.hub.uid:
            return
        memory = link.remember(Key(hub.namespace, hub.name))
        try:
            await link.jobs[kind.gvk].resource.create(remote_job(kind, original, hub.name, self._identity))
        except AlreadyExists:
            metadata = (await link.jobs[kind.gvk].resource.get(key))["metadata"]
            if not (self._identity.owns(origin_of(metadata), hub_of(metadata)) and hub_uid_of(metadata)):
                memory.foreign_job_until = self._clock.monotonic() + FOREIGN_SECONDS
            raise  # whatever was to follow must not: the job does not run there
        memory.foreign_job_until = 0.0

    async def _original(self, kind: JobKind, job: JobRecord) -> Raw:
        """Return the hub's job, from the cache if that kept it."""
        if job.document:
            kept: Raw = orjson.loads(job.document)
            return kept
        return await self._hub.jobs[kind.gvk].resource.get(Key(job.namespace, job.name))

    async def _verify_absence(self, link: WorkerLink, hub: HubRecord, kind: JobKind, member: MemberSync) -> None:
        """Make sure that no foreign job is in the place of one of ours that is gone."""
        key = Key(member.hub.namespace, member.hub.name)
        try:
            metadata = (await link.jobs[kind.gvk].resource.get(key))["metadata"]
        except NotFound:
            return
        if not self._identity.owns(origin_of(metadata), hub_of(metadata)):
            memory = link.remember(Key(hub.namespace, hub.name))
            memory.foreign_job_until = self._clock.monotonic() + FOREIGN_SECONDS
        operation = Operation(link.name, "get", api_kind(kind).resource, str(key))
        raise AlreadyExists(operation, "a job of the same name is there")

    async def _forward(self, link: WorkerLink, kind: JobKind, remote: JobRecord, member: MemberSync) -> None:
        fence = Precondition(remote.uid, remote.resource_version)
        key = Key(remote.namespace, remote.name)
        await link.jobs[kind.gvk].resource.json_patch(key, member.forward or [], fence)

    async def _copy_status(self, kind: JobKind, member: MemberSync) -> None:
        job = member.hub
        fence = Precondition(job.uid, job.resource_version)
        operations = [{"op": "add", "path": "/status", "value": member.status}]
        resource = self._hub.jobs[kind.gvk].resource
        await resource.json_patch(Key(job.namespace, job.name), operations, fence, subresource="status")

    def _now(self) -> str:
        return format_time(self._clock.now_ns())


def remote_members(link: WorkerLink, jobs: HubJobs) -> tuple[JobRecord, ...]:
    """Return the worker's jobs that are called like the hub's."""
    if jobs.kind is None:
        return ()
    cache = link.jobs[jobs.kind.gvk].cache
    found = (cache.get(Key(member.namespace, member.name)) for member in jobs.members)
    return tuple(job for job in found if isinstance(job, JobRecord))


def odd_members(link: WorkerLink, jobs: HubJobs) -> tuple[Unreadable, ...]:
    """Return the worker's objects that are called like the hub's jobs and make no sense."""
    if jobs.kind is None:
        return ()
    cache = link.jobs[jobs.kind.gvk].cache
    found = (cache.get(Key(member.namespace, member.name)) for member in jobs.members)
    return tuple(job for job in found if isinstance(job, Unreadable))
