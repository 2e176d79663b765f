"""Carries out actions on the hub: the Workload's status and annotations, each under the version that was decided on.

After a write the next one is fenced by the version that it led to, so a chain of writes holds only as long as
no other writer comes in between.
"""

from typing import assert_never

from config.api.meta import Obj, ObjectKey, format_time
from config.names import CONTROLLER_NAME
from gates.assembly.job_plans import jobs_to_stop
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.model.actions import (
    EmitEvent,
    HubAction,
    PatchHubStatus,
    RecordForecast,
    RecordOpenings,
    RecordOutOfSync,
    RecordWinner,
    StartRound,
    StopHubJob,
)
from gates.model.hub_workload import CheckState
from gates.model.texts import EVENT_LIMIT, cut
from gates.wire.kept import missing_annotation, missing_status
from gates.wire.patches import hub_annotation, hub_status_patch
from gates.wire.records import HubRecord
from manager.base.kinds import EVENTS, WORKLOADS
from manager.clusters.hub import HubLink
from manager.logging.logs import get_log
from manager.metrics.metrics import Metrics
from workerclient.base.clock import Clock
from workerclient.base.errors import ClusterError, NotKept, Operation
from workerclient.objects.resource import Precondition, Resource
from workerclient.transport.budget import RequestPriority
from workerclient.wire.codec import Identity


async def write_job_status(hub: HubLink, kind: JobKind, job: JobRecord, status: Obj) -> None:
    """Replace the status of a job of the hub."""
    operations = [{"op": "add", "path": "/status", "value": status}]
    fence = Precondition(job.uid, job.resource_version)
    await hub.jobs[kind.gvk].resource.json_patch(job.key, operations, fence, subresource="status")


class HubWriter:
    """Carries out actions on one hub Workload after another."""

    def __init__(self, hub: HubLink, clock: Clock, metrics: Metrics) -> None:
        self._hub = hub
        self._metrics = metrics
        self._clock = clock
        self._events: Resource[Obj] = hub.client.resource(EVENTS)
        self._written = 0

    async def carry_out(self, hub: HubRecord, check: str, action: HubAction) -> HubRecord:
        """Carry out one action and return the Workload as it is then."""
        match action:
            case PatchHubStatus():
                return await self._patch_status(hub, check, action)
            case EmitEvent():
                await self._emit(hub, action)
                return hub
            case StopHubJob():
                await self._stop_jobs(hub)
                return hub
            case RecordOpenings() | StartRound() | RecordWinner() | RecordOutOfSync() | RecordForecast():
                return await self._annotate(hub, hub_annotation(action))
            case _:
                assert_never(action)

    async def _patch_status(self, hub: HubRecord, check: str, action: PatchHubStatus) -> HubRecord:
        operations = hub_status_patch(hub, check, action, self._clock.now_ns())
        if not operations:
            return hub
        fence = Precondition(hub.uid, hub.resource_version)
        key = hub.key
        resource = self._hub.workloads.resource
        raw = await resource.json_patch(key, operations, fence, subresource="status")
        written = self._stored(key, raw)
        if missing := missing_status(written, check, action):
            raise NotKept(_operation(key), missing)
        if action.check_state is CheckState.READY and _state(hub, check) is not CheckState.READY:
            self._metrics.count_admitted(written.cluster_queue, written.cluster_name)
        if action.check_state is CheckState.REJECTED and _state(hub, check) is not CheckState.REJECTED:
            self._metrics.count_rejected(written.cluster_queue)
        return written

    async def _annotate(self, hub: HubRecord, annotations: dict[str, str]) -> HubRecord:
        fence = Precondition(hub.uid, hub.resource_version)
        key = hub.key
        patch = {"metadata": {"annotations": annotations}}
        resource = self._hub.workloads.resource
        raw = await resource.merge_patch(key, patch, fence, priority=RequestPriority.URGENT)
        if missing := missing_annotation(annotations, raw["metadata"].get("annotations") or {}):
            raise NotKept(_operation(key), f"annotation {missing}")
        return self._stored(key, raw)

    def _stored(self, key: ObjectKey, raw: Obj) -> HubRecord:
        """Return the version that a write led to; the cache has read it already unless it knows a newer one."""
        known = self._hub.workload(key)
        if isinstance(known, HubRecord) and known.resource_version == raw["metadata"]["resourceVersion"]:
            return known
        return self._hub.read_workload(raw)

    async def warn(self, identity: Identity, message: str) -> None:
        """Write an Event about a Workload that cannot be read."""
        await self._write_event(identity, EmitEvent("Unreadable", message, warning=True))

    async def _stop_jobs(self, hub: HubRecord) -> None:
        jobs = self._hub.jobs_of(hub)
        for job, status in jobs_to_stop(jobs, format_time(self._clock.now_ns())):
            if jobs.kind is not None:
                await write_job_status(self._hub, jobs.kind, job, status)

    async def _emit(self, hub: HubRecord, action: EmitEvent) -> None:
        await self._write_event(Identity(hub.key, hub.uid, hub.resource_version), action)

    async def _write_event(self, about: Identity, action: EmitEvent) -> None:
        """Write an Event; one that is lost is not missed."""
        key = about.key
        self._written += 1
        now_ns = self._clock.now_ns()
        now = format_time(now_ns)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{key.name[:200]}.{now_ns:x}.{self._written:x}", "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": WORKLOADS.api_version,
                "kind": WORKLOADS.kind,
                "namespace": key.namespace,
                "name": key.name,
                "uid": about.uid,
                "resourceVersion": about.resource_version,
            },
            "type": "Warning" if action.warning else "Normal",
            "reason": action.reason,
            "message": cut(action.message, EVENT_LIMIT),
            "source": {"component": CONTROLLER_NAME},
            "reportingComponent": CONTROLLER_NAME,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._events.create(event)
        except ClusterError as error:
            get_log().warning("event.lost", workload=str(key), error=str(error))


def _operation(key: ObjectKey) -> Operation:
    return Operation("hub", "patch", WORKLOADS.resource, str(key))


def _state(hub: HubRecord, check: str) -> CheckState | None:
    return next((entry.state for entry in hub.checks if entry.name == check), None)
