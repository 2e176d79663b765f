"""Carries out the plan for the jobs of a Workload on one worker.

Which operation is done on which object was decided; only the bodies are made here. An object that has another version
by now is left alone, and the action fails, so that the new version is decided on.
A foreign job is never taken for our own: it is remembered as being in the way, and the action fails, so that nothing
which depends on our job goes on.
"""

from typing import assert_never

import orjson

from config.api.meta import Obj, ObjectKey, format_time
from gates.assembly.job_plans import job_context
from gates.jobs.belonging import Claim
from gates.jobs.copying import remote_job
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.jobs.syncing import copied_status, forwarded
from gates.model.actions import SyncJob
from gates.model.job_plan import JobOperation, ObjectVersion, PlannedJob
from gates.model.marks import HubIdentity, cluster_of, hub_of, hub_uid_of, origin_of
from gates.wire.records import HubRecord
from manager.base.kinds import api_kind
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.queueing.action_slots import ActionEffect
from manager.reconcile.remote_jobs import RemoteJobs, claim_of
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, Conflict, NotFound, Operation
from workerclient.objects.resource import Precondition, is_same

FOREIGN_SECONDS = 60.0
"""How long a foreign object that is in the way is left alone before it is examined again."""


async def delete_job(link: WorkerLink, kind: JobKind, job: JobRecord) -> bool:
    """Delete one of our jobs and return whether there was anything to do."""
    if job.deleted:
        return False
    key = job.key
    try:
        await link.jobs[kind.gvk].resource.delete(key, Precondition(job.uid))
    except NotFound:
        link.jobs[kind.gvk].cache.deleted(key, job.uid)
    return True


class JobSyncer:
    """Synchronises jobs between the hub and workers."""

    def __init__(self, hub: HubLink, identity: HubIdentity, remote_jobs: RemoteJobs, clock: Clock) -> None:
        self._hub = hub
        self._identity = identity
        self._remote_jobs = remote_jobs
        self._clock = clock

    async def sync(self, link: WorkerLink, hub: HubRecord, action: SyncJob) -> ActionEffect:
        """Carry out the plan of an action."""
        jobs = self._hub.jobs_of(hub)
        if jobs.kind is None:
            return ActionEffect.NOTHING
        members = {member.name: member for member in jobs.members}
        effect = ActionEffect.DONE if action.final else ActionEffect.NOTHING  # to read the jobs is an effect, too
        for planned in action.plan:
            key = ObjectKey(hub.namespace, planned.name)
            job = _expected(members.get(planned.name), planned.hub, _operation("hub", "get", jobs.kind, key))
            if action.final:
                await self._copy_last_status(link, hub, claim_of(hub, jobs), jobs.kind, job)
            elif await self._sync_job(link, hub, jobs.kind, job, planned):
                effect = ActionEffect.DONE
        return effect

    async def _sync_job(
        self, link: WorkerLink, hub: HubRecord, kind: JobKind, job: JobRecord, planned: PlannedJob
    ) -> bool:
        """Carry out the operations on one job and return whether they changed anything."""
        remote = None if planned.remote is None else self._remote(link, kind, job.key, planned.remote)
        changes = [await self._carry_out(each, link, hub, kind, job, remote) for each in planned.operations]
        if planned.remote is not None and not any(changes):
            # One of the clusters does not keep what it is sent, and would not keep it the next time either.
            link.memory.remember(hub.key).settled_jobs[planned.remote.uid] = planned
            get_log().warning(
                "job.not_changed", worker=link.name, workload=str(hub.key), kind=kind.kind, job=planned.name
            )
        return any(changes)

    async def _carry_out(
        self,
        operation: JobOperation,
        link: WorkerLink,
        hub: HubRecord,
        kind: JobKind,
        job: JobRecord,
        remote: JobRecord | None,
    ) -> bool:
        match operation:
            case JobOperation.CREATE:
                await self._create(link, hub, kind, job)
                return True
            case JobOperation.VERIFY_ABSENCE:
                await self._verify_absence(link, hub, kind, job.key)
                return True
            case JobOperation.REPLACE:
                if remote is not None:
                    await delete_job(link, kind, remote)
                raise Conflict(
                    _operation(link.name, "create", kind, job.key), "the remote job of an earlier job has to go"
                )
            case JobOperation.FORWARD:
                return remote is not None and await self._forward(link, hub, kind, job, remote)
            case JobOperation.COPY_STATUS:
                return remote is not None and await self._copy_status(kind, job, remote)
            case _:
                assert_never(operation)

    def _remote(self, link: WorkerLink, kind: JobKind, key: ObjectKey, version: ObjectVersion) -> JobRecord:
        found = link.jobs[kind.gvk].cache.get(key)
        return _expected(found, version, _operation(link.name, "get", kind, key))

    async def _copy_last_status(
        self, link: WorkerLink, hub: HubRecord, claim: Claim, kind: JobKind, job: JobRecord
    ) -> None:
        """Copy the status of the remote job as the worker has it now."""
        try:
            remote = job_reader(kind)(await link.jobs[kind.gvk].resource.get(job.key))
        except NotFound:
            return
        is_own = self._remote_jobs.is_own(link, claim, kind, remote)
        if is_own and remote.hub_uid == job.uid:
            await self._copy_status(kind, job, remote)
        elif not job.deleted and not (is_own and remote.deleted):
            if not is_own:
                self._remember_foreign(link, hub)
            raise AlreadyExists(_operation(link.name, "get", kind, job.key), "a job of the same name is there")

    async def _create(self, link: WorkerLink, hub: HubRecord, kind: JobKind, job: JobRecord) -> None:
        original = await self._original(kind, job)
        if original["metadata"].get("uid") != job.uid:
            raise Conflict(_operation(link.name, "create", kind, job.key), "the hub's job is another one by now")
        memory = link.memory.remember(hub.key)
        try:
            await link.jobs[kind.gvk].resource.create(remote_job(kind, original, hub.name, self._identity, link.name))
        except AlreadyExists:
            await self._examine(link, hub, kind, job.key)
            raise  # whatever was to follow must not: the job does not run there
        memory.foreign_job_until = 0.0

    async def _original(self, kind: JobKind, job: JobRecord) -> Obj:
        """Return the hub's job, from the cache if that kept it."""
        if job.document:
            kept: Obj = orjson.loads(job.document)
            return kept
        return await self._hub.jobs[kind.gvk].resource.get(job.key)

    async def _verify_absence(self, link: WorkerLink, hub: HubRecord, kind: JobKind, key: ObjectKey) -> None:
        """Make sure that no foreign job has taken the place of our own, which is gone."""
        try:
            await self._examine(link, hub, kind, key)
        except NotFound:
            return
        raise AlreadyExists(_operation(link.name, "get", kind, key), "a job of the same name is there")

    async def _examine(self, link: WorkerLink, hub: HubRecord, kind: JobKind, key: ObjectKey) -> None:
        """Find out whether the job of that name is ours."""
        metadata = (await link.jobs[kind.gvk].resource.get(key))["metadata"]
        is_ours = hub_uid_of(metadata) and self._identity.owns(origin_of(metadata), hub_of(metadata))
        if not (is_ours and link.authorship.wrote(cluster_of(metadata))):
            self._remember_foreign(link, hub)

    def _remember_foreign(self, link: WorkerLink, hub: HubRecord) -> None:
        link.memory.remember(hub.key).foreign_job_until = self._clock.monotonic() + FOREIGN_SECONDS

    async def _forward(
        self, link: WorkerLink, hub: HubRecord, kind: JobKind, job: JobRecord, remote: JobRecord
    ) -> bool:
        """Pass a change on and return whether the worker took it."""
        operations = forwarded(kind, job, remote, job_context(hub, format_time(self._clock.now_ns())))
        if operations is None:
            raise Conflict(_operation(link.name, "patch", kind, job.key), "the Workload's quota has changed")
        fence = Precondition(remote.uid, remote.resource_version)
        stored = await link.jobs[kind.gvk].resource.json_patch(remote.key, operations, fence)
        return not is_same(stored, remote.resource_version)

    async def _copy_status(self, kind: JobKind, job: JobRecord, remote: JobRecord) -> bool:
        """Copy a status to the hub's job and return whether the hub took any of it."""
        status = copied_status(kind, job, remote, format_time(self._clock.now_ns()))
        if status is None:
            return False
        fence = Precondition(job.uid, job.resource_version)
        operations = [{"op": "add", "path": "/status", "value": status}]
        resource = self._hub.jobs[kind.gvk].resource
        stored = await resource.json_patch(job.key, operations, fence, subresource="status")
        return not is_same(stored, job.resource_version)


def _expected(found: object, version: ObjectVersion, operation: Operation) -> JobRecord:
    """Return a job if it still has the version that was decided on."""
    if not isinstance(found, JobRecord) or found.version != version:
        raise Conflict(operation, "the job has changed since the decision")
    return found


def _operation(cluster: str, verb: str, kind: JobKind, key: ObjectKey) -> Operation:
    return Operation(cluster, verb, api_kind(kind).resource, str(key))
