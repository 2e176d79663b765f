"""What to do about the remote copy of a hub's job: create it, take its status over, or pass a change on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from gates.jobs.copying import field_at, name_workload
from gates.jobs.kinds import JobKind, Path
from gates.jobs.records import JobRecord
from gates.jobs.status import hub_status
from gates.view import JobSync

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobContext:
    """The Workload for which a job is synchronised."""

    workload: str
    pods: int
    """How many pods its pod sets have: a larger job already belongs to the slice that replaces this one."""
    now: str


@dataclass(frozen=True, slots=True)
class MemberSync:
    """One job object of the hub and what to do about its copy."""

    hub: JobRecord
    remote: JobRecord | None
    sync: JobSync
    status: Obj | None = None
    """The status that the hub's job should have, if it has another."""
    forward: Obj | None = None
    """The merge patch that the remote job should get."""


_URGENCY: Final = (JobSync.FOREIGN, JobSync.CREATE, JobSync.FORWARD, JobSync.COPY_STATUS, JobSync.DEFERRED)


def sync_member(kind: JobKind, hub: JobRecord, remote: JobRecord | None, context: JobContext) -> MemberSync:
    """Decide about one object."""
    if remote is None or (remote.hub_uid != hub.uid and not remote.deleted):
        return MemberSync(hub, remote, JobSync.NONE if hub.deleted else JobSync.CREATE)
    sync, status = hub_status(kind, hub.body, remote.body, context.now)
    patch = _forwarded(kind, hub, remote, context)
    changed = status if sync is JobSync.COPY_STATUS else None
    return MemberSync(hub, remote, JobSync.FORWARD if patch is not None else sync, changed, patch)


def most_urgent(members: Iterable[MemberSync]) -> JobSync:
    """Sum up a group of objects."""
    found = {member.sync for member in members}
    return next((sync for sync in _URGENCY if sync in found), JobSync.NONE)


def _forwarded(kind: JobKind, hub: JobRecord, remote: JobRecord, context: JobContext) -> Obj | None:
    """Return what the running copy should take over; the name of its Workload goes along when slices change."""
    if not kind.forward or (kind.forward_elastic_only and not hub.elastic):
        return None
    changes: Obj = {}
    for path in kind.forward:
        wanted = field_at(hub.body, path)
        if wanted != field_at(remote.body, path):
            _put(changes, path, wanted)
    renamed = kind.forward_elastic_only and remote.workload != context.workload
    if not changes and not renamed:
        return None
    if kind.forward_elastic_only and _grew_beyond(kind, hub, context):
        return None
    if renamed:
        labels, annotations = name_workload({}, {}, context.workload)
        changes["metadata"] = {"labels": labels, "annotations": annotations}
    return changes


def _grew_beyond(kind: JobKind, hub: JobRecord, context: JobContext) -> bool:
    """Tell whether the job was scaled up already, so that this Workload speaks of its past."""
    sizes = [field_at(hub.body, path) for path in kind.forward]
    return any(isinstance(size, int) and size > context.pods for size in sizes)


def _put(obj: Obj, path: Path, value: Any) -> None:
    for step in path[:-1]:
        obj = obj.setdefault(step, {})
    obj[path[-1]] = value
