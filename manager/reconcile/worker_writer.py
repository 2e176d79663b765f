"""Carries out actions on one worker. Every write is fenced, and nothing is touched that is not ours.

What an action is about is read from the caches again when it runs; if that is no longer there, nothing is done, and
the action says so, because the same would be decided again at once.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from config.api.meta import Obj, ObjectKey
from gates.jobs.belonging import Claim, RemoteJob, jobs_to_remove
from gates.jobs.kinds import JobKind
from gates.model.actions import (
    CloseGate,
    CreateReplica,
    DeactivateReplica,
    OpenGate,
    RemoveRemote,
    SyncJob,
    UpdateReplicaSpec,
    WorkerAction,
)
from gates.model.marks import FINALIZER, HubIdentity, cluster_of, hub_of, origin_of
from gates.model.settings import SECOND
from gates.wire.patches import deactivation_patch, finalizer_patch, gate_closing_patch, gate_opening_patch
from gates.wire.records import HubRecord, ReplicaRecord
from gates.wire.replicas import replica_of, spec_update
from manager.base.kinds import WORKLOADS
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.metrics.metrics import Metrics
from manager.queueing.action_slots import ActionEffect
from manager.reconcile.job_sync import FOREIGN_SECONDS, JobSyncer, delete_job
from manager.reconcile.remote_jobs import RemoteJobs, claim_of
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, NotFound, NotKept, Operation
from workerclient.objects.resource import Precondition, is_same
from workerclient.transport.budget import RequestPriority


@dataclass(frozen=True, slots=True)
class RemoteNotices:
    """What is called about actions on workers."""

    confirm_leadership: Callable[[], Awaitable[None]]
    on_job_removed: Callable[[JobKind, ObjectKey], None]
    """The watch does not report our own delete, and other Workloads may have shared the job."""


class WorkerWriter:
    """Carries out actions on workers."""

    def __init__(
        self, hub: HubLink, identity: HubIdentity, clock: Clock, metrics: Metrics, notices: RemoteNotices
    ) -> None:
        self._hub = hub
        self._identity = identity
        self._clock = clock
        self._metrics = metrics
        self._notices = notices
        self._remote_jobs = RemoteJobs(hub, identity)
        self._syncer = JobSyncer(hub, identity, self._remote_jobs, clock)

    async def carry_out(self, link: WorkerLink, hub: HubRecord, action: WorkerAction) -> ActionEffect:
        """Carry out one action and return what came of it."""
        match action:
            case CreateReplica():
                return await self._create(link, hub, action)
            case OpenGate():
                return await self._open(link, hub, action)
            case CloseGate():
                return await self._close(link, hub, action)
            case RemoveRemote(replica_uid=uid):
                return await self.remove(link, claim_of(hub, self._hub.jobs_of(hub)), uid)
            case UpdateReplicaSpec(replica_uid=uid, resource_version=version):
                return await self._update(link, hub, uid, version)
            case DeactivateReplica(replica_uid=uid, message=message):
                return await self._deactivate(link, hub, uid, message)
            case SyncJob():
                return await self._syncer.sync(link, hub, action)
            case _:
                assert_never(action)

    # --- replicas

    async def _create(self, link: WorkerLink, hub: HubRecord, action: CreateReplica) -> ActionEffect:
        key = hub.key
        document = replica_of(hub, self._identity, gated=action.gated, cluster=link.name)
        if action.opened_ns is not None:  # a worker that ignores gates: its replica is its opening
            await self._notices.confirm_leadership()
        try:
            await link.workloads.resource.create(document, not_after=_seconds(action.not_after_ns))
        except AlreadyExists:
            present = await link.workloads.resource.get(key)
            metadata = present["metadata"]
            if not self._made(link, metadata):
                link.memory.remember(key).foreign_workload_until = self._clock.monotonic() + FOREIGN_SECONDS
                return ActionEffect.BLOCKED
            raise  # ours: the watch is about to say so
        self._metrics.count_dispatched(hub.cluster_queue, link.name)
        link.memory.remember(key).foreign_workload_until = 0.0
        return ActionEffect.DONE

    async def _update(self, link: WorkerLink, hub: HubRecord, uid: str, version: str) -> ActionEffect:
        replica = self._present(link, hub, uid)
        operations = spec_update(hub, replica) if replica is not None else []
        if not operations:
            return ActionEffect.NOTHING
        key = hub.key
        stored = await link.workloads.resource.json_patch(key, operations, Precondition(uid, version))
        if not is_same(stored, version) or replica is None or hub.shape is None:
            return ActionEffect.DONE
        link.memory.remember(key).settled_spec = (uid, replica.generation, hub.shape)
        get_log().warning("replica.not_changed", worker=link.name, workload=str(key))
        return ActionEffect.NOTHING

    async def _open(self, link: WorkerLink, hub: HubRecord, action: OpenGate) -> ActionEffect:
        replica = self._present(link, hub, action.replica_uid)
        if replica is None:
            return ActionEffect.NOTHING
        # What an opening lets happen cannot be undone, so it is worth a request to be sure that no other process acts.
        await self._notices.confirm_leadership()
        key = hub.key
        operations = gate_opening_patch(replica, link.dialect, action.opened_ns)
        fence = Precondition(action.replica_uid, action.resource_version)
        stored = await link.workloads.resource.json_patch(
            key,
            operations,
            fence,
            subresource="status",
            priority=RequestPriority.URGENT,
            not_after=_seconds(action.not_after_ns),
        )
        _demand_change(link, key, stored, action.resource_version, "an open preemption gate")
        link.memory.remember(key).confirmed.add(action.replica_uid)
        return ActionEffect.DONE

    async def _close(self, link: WorkerLink, hub: HubRecord, action: CloseGate) -> ActionEffect:
        replica = self._present(link, hub, action.replica_uid)
        if replica is None:
            return ActionEffect.NOTHING
        operations = gate_closing_patch(replica, link.dialect, action.closed_ns)
        fence = Precondition(action.replica_uid, action.resource_version)
        key = hub.key
        resource = link.workloads.resource
        stored = await resource.json_patch(
            key, operations, fence, subresource="status", priority=RequestPriority.URGENT
        )
        _demand_change(link, key, stored, action.resource_version, "a closed preemption gate")
        return ActionEffect.DONE

    async def _deactivate(self, link: WorkerLink, hub: HubRecord, uid: str, message: str) -> ActionEffect:
        replica = self._present(link, hub, uid)
        if replica is None:
            return ActionEffect.NOTHING
        key = hub.key
        operations = deactivation_patch(replica, message, self._clock.now_ns())
        fence = Precondition(uid, replica.resource_version)
        stored = await link.workloads.resource.json_patch(key, operations, fence, subresource="status")
        _demand_change(link, key, stored, replica.resource_version, "the condition DeactivationTarget")
        return ActionEffect.DONE

    def _present(self, link: WorkerLink, hub: HubRecord, uid: str) -> ReplicaRecord | None:
        replica = link.replica(hub.key)
        if not isinstance(replica, ReplicaRecord) or replica.uid != uid:
            return None
        return replica if self._owns(link, replica) else None

    def _owns(self, link: WorkerLink, record: ReplicaRecord) -> bool:
        """Tell whether a replica is ours, and was written by this worker's name."""
        return self._identity.owns(record.origin, record.hub) and link.authorship.wrote(record.cluster)

    def _made(self, link: WorkerLink, metadata: Mapping[str, Any]) -> bool:
        """Tell the same of an object that was just read."""
        is_ours = self._identity.owns(origin_of(metadata), hub_of(metadata))
        return is_ours and link.authorship.wrote(cluster_of(metadata))

    # --- removal

    async def remove(self, link: WorkerLink, claim: Claim, replica_uid: str | None) -> ActionEffect:
        """Remove what is ours: jobs first, so that none is left running without its Workload."""
        there, effect = self._remote_jobs.find(link, claim), ActionEffect.NOTHING
        for job in jobs_to_remove(there.own, there.wanted):
            if await self.remove_job(link, job) is ActionEffect.DONE:
                effect = ActionEffect.DONE
        key = ObjectKey(claim.namespace, claim.workload)
        replica = link.replica(key)
        if not isinstance(replica, ReplicaRecord) or replica.uid != replica_uid:
            return effect
        if not self._owns(link, replica):
            return effect
        return ActionEffect.DONE if await self._remove_replica(link, key, replica) else effect

    async def remove_job(self, link: WorkerLink, job: RemoteJob) -> ActionEffect:
        """Remove one of our jobs, and wake the Workloads that may have shared it."""
        if not await delete_job(link, job.kind, job.record):
            return ActionEffect.NOTHING
        self._notices.on_job_removed(job.kind, job.record.key)
        return ActionEffect.DONE

    async def _remove_replica(self, link: WorkerLink, key: ObjectKey, replica: ReplicaRecord) -> bool:
        """Let a replica go and return whether anything was left to do for that."""
        is_held = FINALIZER in replica.finalizers
        if is_held:
            fence = Precondition(replica.uid, replica.resource_version)
            try:
                await link.workloads.resource.json_patch(key, finalizer_patch(replica), fence)
            except NotFound:
                link.workloads.cache.deleted(key, replica.uid)
                return True
        if not replica.deleted:
            try:
                await link.workloads.resource.delete(key, Precondition(replica.uid))
            except NotFound:
                link.workloads.cache.deleted(key, replica.uid)
        link.memory.forget(key)
        return is_held or not replica.deleted


def _demand_change(link: WorkerLink, key: ObjectKey, stored: Obj, version: str, what: str) -> None:
    """Fail for a write that the worker took without keeping anything of it."""
    if is_same(stored, version):
        raise NotKept(Operation(link.name, "patch", WORKLOADS.resource, str(key)), what)


def _seconds(moment_ns: int | None) -> float | None:
    return None if moment_ns is None else moment_ns / SECOND
