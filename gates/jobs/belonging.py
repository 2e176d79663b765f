"""Which jobs on a worker belong to a hub Workload, and which of them go with it.

The view that decisions look at is made here, and the decision names the jobs, so that what is decided is what is done.
Invariant: a job without our marks belongs to no Workload here, whatever it is called and whatever it names.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from config.api.identifiers import WorkerName
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.model.hub_workload import CheckState
from gates.model.identity import Authorship
from gates.model.job_plan import RemovedJob
from gates.model.marks import HubIdentity
from gates.wire.records import HubRecord


@dataclass(frozen=True, slots=True)
class RemoteJob:
    """A job on a worker and its kind."""

    kind: JobKind
    record: JobRecord

    @property
    def is_shared(self) -> bool:
        """Return whether several Workloads of the hub may run in it: component Workloads, or the slices of one job."""
        return not self.kind.prebuilt or self.record.elastic


@dataclass(frozen=True, slots=True)
class Claim:
    """By what a Workload recognises its jobs on a worker: they name it, or they are called like the hub's job."""

    namespace: str
    workload: str
    kind: JobKind | None = None
    names: frozenset[str] = field(default_factory=frozenset)
    """What the objects of the hub's job are called."""

    def is_called_like(self, job: RemoteJob) -> bool:
        """Return whether a job stands where a copy of the hub's job belongs."""
        record = job.record
        return job.kind == self.kind and record.namespace == self.namespace and record.name in self.names

    def covers(self, job: RemoteJob) -> bool:
        """Return whether a job is the Workload's by its names; its marks are ignored."""
        record = job.record
        if record.namespace == self.namespace and record.workload == self.workload:
            return True
        # A job that names another Workload belongs to that one, unless the hub's job is where they meet.
        return self.is_called_like(job) and (job.is_shared or not record.workload)


def is_ours(job: JobRecord, identity: HubIdentity, authorship: Authorship) -> bool:
    """Return whether a job bears all the marks that we write: origin, hub, worker, and the UID of the hub's job."""
    return bool(job.hub_uid) and identity.owns(job.origin, job.hub) and authorship.wrote(job.cluster)


def own_jobs(
    claim: Claim, found: Iterable[RemoteJob], identity: HubIdentity, authorship: Authorship
) -> tuple[RemoteJob, ...]:
    """Return this hub's jobs that belong to a Workload, each once."""
    own = {job.record.uid: job for job in found if is_ours(job.record, identity, authorship) and claim.covers(job)}
    return tuple(own.values())


def foreign_jobs(
    claim: Claim, found: Iterable[RemoteJob], identity: HubIdentity, authorship: Authorship
) -> tuple[RemoteJob, ...]:
    """Return the jobs that are not ours and stand where a copy of the hub's job belongs."""
    return tuple(job for job in found if claim.is_called_like(job) and not is_ours(job.record, identity, authorship))


def foreign_in_the_way(foreign: Iterable[RemoteJob], members: Iterable[JobRecord]) -> tuple[RemoteJob, ...]:
    """Return the foreign jobs in whose place a copy is still to come; of a job that is deleted none will."""
    staying = {(member.namespace, member.name) for member in members if not member.deleted}
    return tuple(job for job in foreign if (job.record.namespace, job.record.name) in staying)


def wants_job(sibling: HubRecord, cluster: WorkerName, our_checks: frozenset[str], *, holds_replica: bool) -> bool:
    """Tell whether another Workload of the same job runs in its copy on a worker, or may do so any moment.

    A slice that is to replace another takes over its job before it has a replica of its own.
    """
    entry = sibling.check(our_checks)
    is_over = sibling.deleted or sibling.is_true("Finished") or not sibling.is_true("QuotaReserved")
    if entry is None or entry.state is CheckState.REJECTED or is_over:
        return False
    if sibling.cluster_name:
        return sibling.cluster_name == cluster
    return holds_replica or (sibling.elastic and sibling.replaces_slice)


def jobs_to_remove(jobs: Iterable[RemoteJob], wanted: Collection[str]) -> tuple[RemoteJob, ...]:
    """Return the jobs that go with their Workload; one that Workloads share goes with the last of them.

    `wanted` are the UIDs of jobs that another Workload wants.
    """
    return tuple(job for job in jobs if not (job.is_shared and job.record.uid in wanted))


def removals(jobs: Iterable[RemoteJob]) -> tuple[RemovedJob, ...]:
    """Name the jobs that are yet to be deleted."""
    return tuple(RemovedJob(job.kind.gvk, job.record.name, job.record.uid) for job in jobs if not job.record.deleted)
