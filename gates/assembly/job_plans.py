"""What the jobs of a Workload need on one worker, decided from the objects on both sides."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from config.api.meta import Obj, ObjectKey
from gates.jobs.belonging import RemoteJob
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.jobs.status import has_ended, stopped_status
from gates.jobs.syncing import JobContext, MemberSync, most_urgent, planned_job, sync_member
from gates.model.job_plan import JobOperation, PlannedJob
from gates.model.view import JobSync, Replica
from gates.wire.records import HubRecord


@dataclass(frozen=True, slots=True)
class HubJobs:
    """The hub's job of a Workload, as far as the hub's caches know."""

    kind: JobKind | None = None
    known: bool = True
    """Whether an absent job is really absent."""
    members: tuple[JobRecord, ...] = ()
    problem: str = ""
    """Why a job that is there cannot be read."""


@dataclass(frozen=True, slots=True)
class JobPlan:
    """What the jobs of a Workload need on one worker: the most urgent need, and what to do about each object."""

    sync: JobSync = JobSync.NONE
    members: tuple[PlannedJob, ...] = ()


def job_context(hub: HubRecord, now: str) -> JobContext:
    """Return what the jobs of a Workload are synchronised for: of each pod set no more than has quota."""
    assigned = {entry.name: entry.count for entry in hub.assignments if entry.count is not None}
    counts = hub.shape.counts if hub.shape is not None else ()
    return JobContext(hub.name, {name: min(count, assigned.get(name, count)) for name, count in counts}, now)


def plan_jobs(
    replica: Replica | None,
    jobs: HubJobs,
    remote: Sequence[RemoteJob],
    context: JobContext,
    *,
    is_ready: bool,
    foreign: bool,
) -> JobPlan:
    """Decide about the jobs of a Workload on one worker; `remote` are our jobs that belong to it.

    A job is only created for a replica that is admitted, not over and not leaving.
    """
    if replica is None:
        return JobPlan()
    members = _sync_members(jobs, remote, context)
    sync = most_urgent(members)
    runs = replica.is_true("Admitted") and not replica.is_true("Evicted") and not replica.is_true("Finished")
    if runs and not is_ready and any(job.record.deleted for job in remote):
        return JobPlan(JobSync.LEAVING)  # a job of an earlier attempt; this one gets its own
    if replica.is_true("Finished"):
        return _plan_end(sync, members, jobs, remote, foreign=foreign)
    if sync is JobSync.LEAVING:
        return JobPlan(sync if runs else JobSync.NONE)
    if sync in (JobSync.CREATE, JobSync.OUTGROWN):
        if not runs or replica.leaving:
            return JobPlan()
        if foreign or sync is JobSync.OUTGROWN:
            return JobPlan(JobSync.FOREIGN if foreign else sync)
    return JobPlan(sync, _needed(members))


def jobs_to_stop(jobs: HubJobs, now: str) -> list[tuple[JobRecord, Obj]]:
    """Return the hub's jobs that appear to run, each with the status of a job that does not."""
    if jobs.kind is None:
        return []
    found = ((member, stopped_status(jobs.kind, member.body, now)) for member in jobs.members)
    return [(member, status) for member, status in found if status is not None]


def _sync_members(jobs: HubJobs, remote: Sequence[RemoteJob], context: JobContext) -> tuple[MemberSync, ...]:
    if jobs.kind is None or not jobs.known:
        return ()
    present = _by_name(jobs, remote)
    return tuple(sync_member(jobs.kind, member, present.get(member.key), context) for member in jobs.members)


def _plan_end(
    sync: JobSync, members: Sequence[MemberSync], jobs: HubJobs, remote: Sequence[RemoteJob], *, foreign: bool
) -> JobPlan:
    """Decide about the jobs of a Workload that is over: their last status counts, and nothing is created."""
    if sync is JobSync.LEAVING:
        sync = JobSync.NONE
    if sync in (JobSync.CREATE, JobSync.OUTGROWN):
        sync = JobSync.FOREIGN if foreign else JobSync.VERIFY
    if sync is JobSync.FOREIGN:
        return JobPlan(sync)
    if remote and not all(has_ended(job.kind, job.record.body) for job in remote):
        present = _by_name(jobs, remote)
        read = (planned_job(job, present.get(job.key), JobOperation.COPY_STATUS) for job in jobs.members)
        return JobPlan(sync, tuple(read))
    return JobPlan(sync, tuple(map(_verified, _needed(members))))


def _needed(members: Sequence[MemberSync]) -> tuple[PlannedJob, ...]:
    return tuple(member.planned for member in members if member.planned.operations)


def _verified(planned: PlannedJob) -> PlannedJob:
    creates = {JobOperation.CREATE, JobOperation.REPLACE} & set(planned.operations)
    return replace(planned, operations=(JobOperation.VERIFY_ABSENCE,)) if creates else planned


def _by_name(jobs: HubJobs, remote: Sequence[RemoteJob]) -> Mapping[ObjectKey, JobRecord]:
    return {job.record.key: job.record for job in remote if job.kind == jobs.kind}
