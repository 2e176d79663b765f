"""Carries out actions on one worker. Every write is fenced, and nothing is touched that is not ours.

What an action is about is read from the caches again when it runs; if that is no longer there, nothing is done, and
the action says so, because the same would be decided again at once.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, assert_never

from config.api.meta import Obj, ObjectKey
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.model.actions import (
    CloseGate,
    CreateReplica,
    DeactivateReplica,
    OpenGate,
    ProbeWorker,
    RemoveRemote,
    SyncJob,
    UpdateReplicaSpec,
    WorkerAction,
)
from gates.model.job_plan import RemovedJob
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
from manager.reconcile.remote_jobs import RemoteJobs
from workerclient.base.clock import Clock
from workerclient.base.errors import AlreadyExists, NotFound, NotKept, Operation
from workerclient.objects.resource import Precondition, is_same
from workerclient.transport.budget import RequestPriority

_PROBE_HOLDS_SECONDS: Final = 10.0
"""Long enough for the next reconcile on a busy machine, too short to vouch for another attempt."""


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
        self._identity = identity
        self._clock = clock
        self._metrics = metrics
        self._notices = notices
        self._syncer = JobSyncer(hub, identity, RemoteJobs(hub, identity), clock)

    async def carry_out(self, link: WorkerLink, hub: HubRecord, action: WorkerAction) -> ActionEffect:
        """Carry out one action and return what came of it."""
        match action:
            case ProbeWorker():
                return await self._probe(link, hub.key)
            case CreateReplica():
                return await self._create(link, hub, action)
            case OpenGate():
                return await self._open(link, hub, action)
            case CloseGate():
                return await self._close(link, hub, action)
            case RemoveRemote(replica_uid=uid, jobs=jobs):
                return await self.remove(link, hub.key, jobs, uid)
            case UpdateReplicaSpec(replica_uid=uid, resource_version=version):
                return await self._update(link, hub, uid, version)
            case DeactivateReplica(replica_uid=uid, message=message):
                return await self._deactivate(link, hub, uid, message)
            case SyncJob():
                return await self._syncer.sync(link, hub, action)
            case _:
                assert_never(action)

    # --- replicas

    async def _probe(self, link: WorkerLink, key: ObjectKey) -> ActionEffect:
        """Read the replica from the worker: that there is none is an answer, too."""
        with suppress(NotFound):
            await link.workloads.resource.get(key, repeatable=False)
        link.memory.remember(key).answers_until = self._clock.monotonic() + _PROBE_HOLDS_SECONDS
        return ActionEffect.DONE

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
        """Return whether a replica is ours, and was written by this worker's name."""
        return self._identity.owns(record.origin, record.hub) and link.authorship.wrote(record.cluster)

    def _made(self, link: WorkerLink, metadata: Mapping[str, Any]) -> bool:
        """Return the same for an object that was just read."""
        is_ours = self._identity.owns(origin_of(metadata), hub_of(metadata))
        return is_ours and link.authorship.wrote(cluster_of(metadata))

    # --- removal

    async def remove(
        self, link: WorkerLink, key: ObjectKey, jobs: Iterable[RemovedJob], replica_uid: str | None
    ) -> ActionEffect:
        """Remove a Workload's objects: jobs first, so that none is left running without its Workload."""
        effect = ActionEffect.NOTHING
        for job in jobs:
            if await self.remove_job(link, key.namespace, job) is ActionEffect.DONE:
                effect = ActionEffect.DONE
        replica = link.replica(key)
        if not isinstance(replica, ReplicaRecord) or replica.uid != replica_uid:
            return effect
        if not self._owns(link, replica):
            return effect
        return ActionEffect.DONE if await self._remove_replica(link, key, replica) else effect

    async def remove_job(self, link: WorkerLink, namespace: str, job: RemovedJob) -> ActionEffect:
        """Remove one of our jobs, and wake the Workloads that may have shared it."""
        kind, record = link.kinds[job.kind], link.jobs[job.kind].cache.get(ObjectKey(namespace, job.name))
        if not isinstance(record, JobRecord) or record.uid != job.uid or not await delete_job(link, kind, record):
            return ActionEffect.NOTHING
        self._notices.on_job_removed(kind, record.key)
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
