"""What to do about the remote copy of a hub's job: create it, take its status over, or pass a change on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from gates.jobs.copying import PREBUILT, field_at, name_workload
from gates.jobs.kinds import JobKind, Path
from gates.jobs.records import JobRecord
from gates.jobs.status import hub_status
from gates.view import JobSync

Obj = dict[str, Any]
Operations = list[Obj]


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
    forward: Operations | None = None
    """The JSON patch that the remote job should get."""


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


def _forwarded(kind: JobKind, hub: JobRecord, remote: JobRecord, context: JobContext) -> Operations | None:
    """Return what the running copy should take over; the name of its Workload goes along when slices change.

    Only the fields that differ are named, because the worker's Kueue fills in others of its own.
    """
    resizes = hub.elastic and (kind.forward_elastic_only or kind.groups is not None)
    if not resizes and (not kind.forward or kind.forward_elastic_only):
        return None
    changes = [*_changed_fields(kind, hub, remote), *_changed_groups(kind, hub, remote)]
    renamed = resizes and remote.workload != context.workload
    if not changes and not renamed:
        return None
    if resizes and _grew_beyond(kind, hub, context):
        return None
    return [*changes, *(_renaming(context.workload) if renamed else ())]


def _changed_fields(kind: JobKind, hub: JobRecord, remote: JobRecord) -> Operations:
    return [
        _set(path, wanted)
        for path in kind.forward
        if (wanted := field_at(hub.body, path)) != field_at(remote.body, path)
    ]


def _changed_groups(kind: JobKind, hub: JobRecord, remote: JobRecord) -> Operations:
    """Compare group by group; one that the copy does not have is the worker's own affair."""
    if kind.groups is None:
        return []
    wanted = {group.name: group for group in hub.groups}
    return [
        _set((*kind.groups.path, str(index), factor), number)
        for index, group in enumerate(remote.groups)
        if group.name in wanted
        for factor, number, present in zip(kind.groups.factors, wanted[group.name].numbers, group.numbers, strict=True)
        if number != present
    ]


def _set(path: Path, value: Any) -> Obj:
    pointer = "".join(f"/{_escaped(step)}" for step in path)
    return {"op": "add", "path": pointer, "value": value} if value is not None else {"op": "remove", "path": pointer}


def _renaming(workload: str) -> Operations:
    """Name the Workload in both places, or take the label away from a copy that had one."""
    labels, annotations = name_workload({}, {}, workload)
    label, annotation = f"/metadata/labels/{_escaped(PREBUILT)}", f"/metadata/annotations/{_escaped(PREBUILT)}"
    named: Operations = [{"op": "add", "path": annotation, "value": annotations[PREBUILT]}]
    # "remove" alone fails where there is no label.
    named.append({"op": "add", "path": label, "value": labels.get(PREBUILT, "")})
    return named if PREBUILT in labels else [*named, {"op": "remove", "path": label}]


def _grew_beyond(kind: JobKind, hub: JobRecord, context: JobContext) -> bool:
    """Tell whether the job was scaled up already, so that this Workload speaks of its past."""
    if kind.groups is not None:
        return sum(group.pods for group in hub.groups) + kind.groups.others > context.pods
    sizes = [field_at(hub.body, path) for path in kind.forward]
    return any(isinstance(size, int) and size > context.pods for size in sizes)


def _escaped(step: str) -> str:
    """Write one step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")
