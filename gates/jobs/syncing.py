"""What to do about the remote copy of a hub's job: create it, take its status over, or pass a change on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import Obj
from gates.jobs.copying import PREBUILT, field_at, name_workload
from gates.jobs.kinds import ItemSizes, JobKind, Path
from gates.jobs.records import JobRecord, PodGroupSize
from gates.jobs.status import hub_status
from gates.model.job_plan import JobOperation, PlannedJob
from gates.model.shape import DEFAULT_POD_SET
from gates.model.view import JobSync
from gates.wire.patches import Operations


@dataclass(frozen=True, slots=True)
class JobContext:
    """The Workload for which a job is synchronised."""

    workload: str
    quota: Mapping[str, int]
    """For how many pods of each pod set it has quota: a larger job already belongs to the slice that replaces it."""
    now: str
    settled: Mapping[str, PlannedJob] = field(default_factory=dict)
    """By the remote job's UID, operations that changed nothing: a cluster does not keep what it was sent."""


@dataclass(frozen=True, slots=True)
class MemberSync:
    """What one job object of the hub and its remote job need."""

    sync: JobSync
    planned: PlannedJob


_URGENCY: Final = (
    JobSync.FOREIGN,
    JobSync.LEAVING,
    JobSync.OUTGROWN,
    JobSync.CREATE,
    JobSync.FORWARD,
    JobSync.COPY_STATUS,
    JobSync.DEFERRED,
)


def sync_member(kind: JobKind, hub: JobRecord, remote: JobRecord | None, context: JobContext) -> MemberSync:
    """Decide about one object."""
    if remote is None or remote.hub_uid != hub.uid:
        return _without_remote(kind, hub, remote, context)
    sync, _ = hub_status(kind, hub.body, remote.body, context.now)
    operations = [JobOperation.COPY_STATUS] if sync is JobSync.COPY_STATUS else []
    if forwarded(kind, hub, remote, context) is not None:
        sync = JobSync.FORWARD
        operations.insert(0, JobOperation.FORWARD)
    found = planned_job(hub, remote, *operations)
    if context.settled.get(remote.uid) == found:
        return MemberSync(JobSync.NONE, planned_job(hub, remote))
    return MemberSync(sync, found)


def _without_remote(kind: JobKind, hub: JobRecord, remote: JobRecord | None, context: JobContext) -> MemberSync:
    """Decide about an object without a remote job of its own; `remote` was made for an earlier job of that name."""
    if hub.deleted:
        return MemberSync(JobSync.NONE, planned_job(hub, remote))
    if remote is not None:
        if remote.deleted:
            return MemberSync(JobSync.LEAVING, planned_job(hub, remote))
        return MemberSync(JobSync.CREATE, planned_job(hub, remote, JobOperation.REPLACE))
    if _resizes(kind, hub) and not _fits(kind, hub, hub, context.quota):
        return MemberSync(JobSync.OUTGROWN, planned_job(hub, None))
    return MemberSync(JobSync.CREATE, planned_job(hub, None, JobOperation.CREATE))


def planned_job(hub: JobRecord, remote: JobRecord | None, *operations: JobOperation) -> PlannedJob:
    """Return operations on these versions of a job."""
    return PlannedJob(hub.name, hub.version, remote.version if remote is not None else None, operations)


def copied_status(kind: JobKind, hub: JobRecord, remote: JobRecord, now: str) -> Obj | None:
    """Return the status that the hub's job should take over, if it should."""
    sync, status = hub_status(kind, hub.body, remote.body, now)
    return status if sync is JobSync.COPY_STATUS else None


def most_urgent(members: Iterable[MemberSync]) -> JobSync:
    """Sum up a group of objects."""
    found = {member.sync for member in members}
    return next((sync for sync in _URGENCY if sync in found), JobSync.NONE)


def forwarded(kind: JobKind, hub: JobRecord, remote: JobRecord, context: JobContext) -> Operations | None:
    """Return the JSON patch that the remote job should get, if any; it names the Workload again when slices change.

    Only the fields that differ are named, because the worker's Kueue fills in others of its own.
    """
    resizes = _resizes(kind, hub)
    if not resizes and (not kind.forward or kind.forward_elastic_only):
        return None
    changes = [*_changed_fields(kind, hub, remote), *_changed_groups(kind, hub, remote)]
    renamed = resizes and remote.workload != context.workload
    if not changes and not renamed:
        return None
    if resizes and not _fits(kind, hub, remote, context.quota):
        return None
    return [*changes, *(_renaming(context.workload) if renamed else ())]


def _changed_fields(kind: JobKind, hub: JobRecord, remote: JobRecord) -> Operations:
    return [
        _set(path, wanted)
        for path in kind.forward
        if (wanted := field_at(hub.body, path)) != field_at(remote.body, path)
    ]


def _changed_groups(kind: JobKind, hub: JobRecord, remote: JobRecord) -> Operations:
    """Compare the pod sets that groups stand for; what a copy does not have cannot be added while it runs.

    A group that the hub's job no longer has keeps no pods: there is no quota for them.
    """
    if kind.groups is None:
        return []
    wanted = {_pod_set(group): group for group in hub.groups}
    return [
        _set((*kind.groups.path, str(index), field), number)
        for index, group in enumerate(remote.groups)
        for field, number in _resized(kind.groups, group, wanted.get(_pod_set(group))).items()
    ]


def _resized(fields: ItemSizes, copy: PodGroupSize, wanted: PodGroupSize | None) -> dict[str, int]:
    """Return the fields of a group that have to change, each with its number.

    Numbers that mean the same are equal: a worker fills in what the hub leaves out, and would do so again.
    """
    sizes, least = (wanted.sizes, wanted.least) if wanted is not None else ((0, *copy.sizes[1:]), 0)
    changed = {
        field: size for field, size, present in zip(fields.factors, sizes, copy.sizes, strict=True) if size != present
    }
    if copy.least > sizes[0]:
        changed[fields.least] = min(least, sizes[0])  # else the worker would raise the group to its old minimum
    return changed


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


def _resizes(kind: JobKind, hub: JobRecord) -> bool:
    return hub.elastic and (kind.forward_elastic_only or kind.groups is not None)


def _fits(kind: JobKind, hub: JobRecord, copy: JobRecord, quota: Mapping[str, int]) -> bool:
    """Return whether a copy of the hub's sizes keeps every group of pods within the quota of its own pod set.

    If not, the job was changed after this Workload got its quota, and another one speaks for what it is now.
    """
    if kind.groups is not None:
        return _groups_fit(hub.groups, copy.groups, quota, is_new=copy is hub)
    most = field_at(copy.body, kind.size_limit) if kind.size_limit is not None else None
    sizes = [1 if size is None else size for size in (field_at(hub.body, path) for path in kind.forward)]
    pods = [size if most is None else min(size, most) for size in sizes]
    return all(each <= quota.get(DEFAULT_POD_SET, 0) for each in pods)


def _groups_fit(
    wanted: tuple[PodGroupSize, ...], copied: tuple[PodGroupSize, ...], quota: Mapping[str, int], *, is_new: bool
) -> bool:
    """Compare group by group: pods of one are never paid for with the quota of another.

    A new copy has the hub's minimum, which its worker raises a group to; that of a running one falls with its size.
    """
    if len({_pod_set(group) for group in wanted}) < len(wanted) or len({_pod_set(g) for g in copied}) < len(copied):
        return False  # two groups of one name are one pod set, and nothing shows which is which
    return all(group.pods_with(group.least if is_new else 0) <= quota.get(_pod_set(group), -1) for group in wanted)


def _pod_set(group: PodGroupSize) -> str:
    return group.name.lower()


def _escaped(step: str) -> str:
    """Write one step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")
