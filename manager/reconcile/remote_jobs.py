"""Collects from the caches what `gates.jobs.belonging` is asked about: the jobs of one Workload on one worker."""

from dataclasses import dataclass

from config.api.meta import ObjectKey
from gates.assembly.job_plans import HubJobs
from gates.jobs.belonging import Claim, RemoteJob, foreign_jobs, is_ours, own_jobs, wants_job
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.model.marks import HubIdentity
from gates.wire.records import HubRecord, ReplicaRecord
from manager.clusters.hub import HubLink
from manager.clusters.worker import WorkerLink
from workerclient.objects.cache import Unreadable


@dataclass(frozen=True, slots=True)
class JobsThere:
    """The jobs of one Workload on one worker."""

    own: tuple[RemoteJob, ...] = ()
    foreign: tuple[RemoteJob, ...] = ()
    """Jobs of another hub with the same origin that are where ours belong."""
    wanted: frozenset[str] = frozenset()
    """UIDs of own jobs that another Workload of the hub's job wants there."""
    unreadable: tuple[Unreadable, ...] = ()
    """Objects with the names of our jobs that cannot be read."""


def claim_of(record: HubRecord, jobs: HubJobs) -> Claim:
    """Return how a Workload recognises its jobs; the hub's job may be gone already."""
    names = {member.name for member in jobs.members}
    if record.owner is not None and jobs.kind is not None:
        names.add(record.owner.name)
    return Claim(record.namespace, record.name, jobs.kind, frozenset(names))


class RemoteJobs:
    """Finds jobs on workers."""

    def __init__(self, hub: HubLink, identity: HubIdentity) -> None:
        self._hub = hub
        self._identity = identity

    def find(self, link: WorkerLink, claim: Claim) -> JobsThere:
        """Return what is known of a Workload's jobs on a worker."""
        named = ((link.kinds[gvk], job) for gvk, job in link.jobs_of(ObjectKey(claim.namespace, claim.workload)))
        found = [RemoteJob(kind, job) for kind, job in named]
        unreadable = []
        for name in sorted(claim.names) if claim.kind is not None else ():
            job = self._called(link, claim, name)
            if isinstance(job, Unreadable):
                unreadable.append(job)
            elif job is not None and claim.kind is not None:
                found.append(RemoteJob(claim.kind, job))
        own = own_jobs(claim, found, self._identity, link.authorship)
        wanted = frozenset(job.record.uid for job in own if job.is_shared and self._is_wanted(link, claim, job))
        foreign = foreign_jobs(claim, found, self._identity, link.authorship)
        return JobsThere(own, foreign, wanted, tuple(unreadable))

    def is_own(self, link: WorkerLink, claim: Claim, kind: JobKind, job: JobRecord) -> bool:
        """Return whether a job that was just read is the Workload's."""
        return is_ours(job, self._identity, link.authorship) and claim.covers(RemoteJob(kind, job))

    def siblings(self, kind: JobKind, job: ObjectKey, besides: ObjectKey) -> list[ObjectKey]:
        """Return the other Workloads of the hub's job of that name."""
        return sorted(key for key in self._hub.workloads_of_job(kind, job) if key != besides)

    def _called(self, link: WorkerLink, claim: Claim, name: str) -> JobRecord | Unreadable | None:
        return link.jobs[claim.kind.gvk].cache.get(ObjectKey(claim.namespace, name)) if claim.kind is not None else None

    def _is_wanted(self, link: WorkerLink, claim: Claim, job: RemoteJob) -> bool:
        place = job.record.key
        siblings = self.siblings(job.kind, place, ObjectKey(claim.namespace, claim.workload))
        return any(self._wants(link, key) for key in siblings)

    def _wants(self, link: WorkerLink, key: ObjectKey) -> bool:
        sibling = self._hub.workload(key)
        if not isinstance(sibling, HubRecord):
            return sibling is not None  # one that cannot be read may want it
        replica = link.replica(key)
        holds = (
            isinstance(replica, ReplicaRecord)
            and not replica.deleted
            and replica.hub_uid == sibling.uid
            and self._identity.owns(replica.origin, replica.hub)
            and link.authorship.wrote(replica.cluster)
        )
        return wants_job(sibling, link.name, self._hub.our_checks(), holds_replica=holds)
