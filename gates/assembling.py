"""From what the caches hold to the view that decisions look at."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from config.names import MULTIKUEUE_NAME
from engine.forecasting.forecast import Forecast
from engine.outlook.values import PodOutlook
from gates.dialect import KUEUE, Dialect
from gates.forecasts import Witness
from gates.jobs.kinds import JobKind
from gates.jobs.records import JobRecord
from gates.jobs.status import has_ended, stopped_status
from gates.jobs.syncing import JobContext, MemberSync, most_urgent, sync_member
from gates.marks import HubIdentity
from gates.pod_records import PodWitness
from gates.records import CheckEntry, HubRecord, Owner, ReplicaRecord
from gates.shape import SpecShape, drift_between
from gates.view import (
    NEVER_OUT_OF_SYNC,
    Check,
    CheckState,
    Component,
    Drift,
    GateSupport,
    Group,
    HubWorkload,
    JobSync,
    Ownership,
    Reach,
    Replica,
    Worker,
)


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
class WorkerFacts:
    """What the shell knows of one worker that concerns one Workload."""

    name: str
    position: int | None
    reach: Reach
    lost_since_ns: int | None = None
    clock_skew_ns: int = 0
    dialect: Dialect = KUEUE
    gates: GateSupport = GateSupport.HONOURED
    replica: ReplicaRecord | None = None
    jobs: tuple[JobRecord, ...] = ()
    """Remote jobs with our origin that belong to this Workload."""
    foreign_workload: bool = False
    foreign_job: bool = False
    serves_kind: bool = True
    confirmed: frozenset[str] = frozenset()
    """UIDs of replicas whose opening was seen to take effect."""
    busy: bool = False
    problem: str = ""
    forecast: Forecast | None = None
    forecast_reliable: bool = True
    witness: Witness | None = None
    pods: PodOutlook | None = None
    pod_witness: PodWitness | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All that is known about one hub Workload at one moment."""

    hub: HubRecord
    our_checks: frozenset[str]
    jobs: HubJobs
    workers: tuple[WorkerFacts, ...]
    siblings: tuple[HubRecord, ...] = ()
    departed: bool = False
    """The hub's object is gone; `hub` is its last state."""


def assemble(snapshot: Snapshot, identity: HubIdentity, managed_by: str, now: str) -> Group:
    """Build the view."""
    hub = snapshot.hub
    entry = hub.check(snapshot.our_checks)
    ownership, owner_text = _ownership(hub.owner, snapshot.jobs, managed_by)
    workload = HubWorkload(
        namespace=hub.namespace,
        name=hub.name,
        uid=hub.uid,
        resource_version=hub.resource_version,
        conditions=hub.conditions,
        deleted=hub.deleted or snapshot.departed,
        check=Check(entry.name, entry.state, entry.message, entry.retry_count) if entry is not None else None,
        other_checks_ready=_others_ready(hub.checks, entry),
        cluster_name=hub.cluster_name,
        nominated=hub.nominated,
        openings=hub.openings,
        winner=hub.winner,
        round_started_ns=hub.round_started_ns,
        forecast=hub.forecast,
        ownership=ownership,
        owner_text=owner_text,
        managed_by_path=_managed_by_path(snapshot.jobs.kind),
        elastic=hub.elastic,
        replaces_slice=hub.replaces_slice,
        component=_component(snapshot),
        topology_due=_topology_due(snapshot),
        job_readable=snapshot.jobs.kind is None or snapshot.jobs.known,
        job_to_stop=bool(jobs_to_stop(snapshot.jobs, now)),
    )
    context = JobContext(hub.name, sum(count for _, count in hub.shape.counts) if hub.shape else 0, now)
    return Group(workload, tuple(_worker(facts, snapshot, identity, context) for facts in snapshot.workers))


def plan_jobs(jobs: HubJobs, remote: Sequence[JobRecord], context: JobContext) -> tuple[MemberSync, ...]:
    """Decide about every job object of a Workload on one worker."""
    if jobs.kind is None or not jobs.known:
        return ()
    copies = {(job.namespace, job.name): job for job in remote}
    return tuple(
        sync_member(jobs.kind, member, copies.get((member.namespace, member.name)), context) for member in jobs.members
    )


def jobs_to_stop(jobs: HubJobs, now: str) -> list[tuple[JobRecord, dict[str, Any]]]:
    """Return the hub's jobs that look as if they ran, each with the status of one that nobody runs."""
    if jobs.kind is None:
        return []
    found = ((member, stopped_status(jobs.kind, member.body, now)) for member in jobs.members)
    return [(member, status) for member, status in found if status is not None]


def _worker(facts: WorkerFacts, snapshot: Snapshot, identity: HubIdentity, context: JobContext) -> Worker:
    hub, record = snapshot.hub, facts.replica
    ours = record is not None and not record.is_variant and identity.owns(record.origin, record.hub)
    mine = ours and record is not None and record.hub_uid == hub.uid
    replica = _replica(record, facts.dialect, hub) if mine and record is not None else None
    jobs = tuple(job for job in facts.jobs if identity.owns(job.origin, job.hub))
    return Worker(
        name=facts.name,
        position=facts.position,
        reach=facts.reach,
        lost_since_ns=facts.lost_since_ns,
        clock_skew_ns=facts.clock_skew_ns,
        gates=facts.gates,
        replica=replica,
        foreign_replica=facts.foreign_workload or (record is not None and not ours),
        stale_uid=record.uid if ours and not mine and record is not None else "",
        job_present=bool(jobs),
        job_ended=bool(jobs) and all(has_ended(snapshot.jobs.kind, job.body) for job in jobs),
        job_sync=_job_sync(replica, facts, snapshot.jobs, jobs, context),
        out_of_sync=hub.out_of_sync.get(facts.name, NEVER_OUT_OF_SYNC),
        opening_confirmed=replica is not None and replica.uid in facts.confirmed,
        serves_kind=facts.serves_kind,
        busy=facts.busy,
        problem=facts.problem,
        forecast=facts.forecast,
        forecast_reliable=facts.forecast_reliable,
        witness=facts.witness,
        pods=facts.pods,
        pod_witness=facts.pod_witness,
    )


def _replica(record: ReplicaRecord, dialect: Dialect, hub: HubRecord) -> Replica:
    opened_ns = dialect.opened_ns(record.gate_entries)
    closed = {name for name in record.spec_gates if name != MULTIKUEUE_NAME}
    closed -= {str(entry.get("name")) for entry in record.gate_entries if dialect.is_open(entry)}
    return Replica(
        uid=record.uid,
        resource_version=record.resource_version,
        conditions=record.conditions,
        has_gate=MULTIKUEUE_NAME in record.spec_gates,
        gate_open=opened_ns is not None,
        gate_opened_ns=opened_ns,
        other_gate_closed=bool(closed),
        signal_ns=dialect.signal_ns(record.conditions),
        drift=_drift(record, hub.shape, elastic=hub.elastic),
    )


def _drift(record: ReplicaRecord, wanted: SpecShape | None, *, elastic: bool) -> Drift:
    """Compare with the hub; what the worker's own API server changed at the creation is no drift."""
    if wanted is None:
        return Drift.NONE
    untouched = record.generation == 1 and record.born_from == wanted.digest
    shape = replace(record.shape, digest=wanted.digest) if untouched else record.shape
    return drift_between(wanted, shape, elastic=elastic)


def _job_sync(
    replica: Replica | None,
    facts: WorkerFacts,
    hub_jobs: HubJobs,
    remote: tuple[JobRecord, ...],
    context: JobContext,
) -> JobSync:
    """Sum up what the job needs; a job is only created for a replica that is admitted and not over."""
    if replica is None:
        return JobSync.NONE
    sync = most_urgent(plan_jobs(hub_jobs, remote, context))
    if sync is not JobSync.CREATE:
        return sync
    if replica.is_true("Finished"):
        return JobSync.FOREIGN if facts.foreign_job else JobSync.VERIFY
    if replica.is_true("Evicted") or not replica.is_true("Admitted"):
        return JobSync.NONE
    return JobSync.FOREIGN if facts.foreign_job else JobSync.CREATE


def _ownership(owner: Owner | None, jobs: HubJobs, managed_by: str) -> tuple[Ownership, str]:
    if owner is None:
        return Ownership.OWNERLESS, ""
    if jobs.kind is None:
        return Ownership.NO_ADAPTER, owner.gvk
    if not jobs.known:
        return Ownership.UNKNOWN, jobs.problem
    if jobs.kind.managed_by is None:
        return Ownership.MANAGED, ""
    if not jobs.members:
        return Ownership.UNKNOWN, ""
    job = jobs.members[0]
    if job.manager != managed_by:
        return Ownership.NOT_MANAGED, job.manager
    return (Ownership.UNSUPPORTED, job.unsupported) if job.unsupported else (Ownership.MANAGED, "")


def _managed_by_path(kind: JobKind | None) -> str:
    return ".".join(kind.managed_by) if kind is not None and kind.managed_by else "spec.managedBy"


def _others_ready(checks: Iterable[CheckEntry], ours: CheckEntry | None) -> bool:
    return all(entry.state is CheckState.READY for entry in checks if entry is not ours)


def _component(snapshot: Snapshot) -> Component | None:
    """Find the Workload's place among those of its job; the lowest index that is not negative leads."""
    index, kind = snapshot.hub.component_index, snapshot.jobs.kind
    if index is None or kind is None or kind.size is None:
        return None
    indexes = [s.component_index for s in snapshot.siblings if s.component_index is not None]
    leading = min((i for i in (*indexes, index) if i >= 0), default=None)
    expected = snapshot.jobs.members[0].size if snapshot.jobs.members else None
    return Component(
        complete=expected is not None and len(snapshot.siblings) + 1 >= expected,
        is_primary=index == leading,
        sibling_clusters=frozenset(s.cluster_name for s in snapshot.siblings if s.cluster_name),
    )


def _topology_due(snapshot: Snapshot) -> bool:
    """Tell whether the winner has the topology that the hub's pod sets wait for."""
    hub = snapshot.hub
    winner = next((facts.replica for facts in snapshot.workers if facts.name == hub.cluster_name), None)
    holders = [winner] if winner is not None else [f.replica for f in snapshot.workers if _is_admitted(f.replica)]
    placed: Mapping[str, bool] = {name: True for record in holders if record is not None for name in record.topology}
    waiting = [assignment.name for assignment in hub.assignments if assignment.delayed]
    return bool(waiting) and all(placed.get(name, False) for name in waiting)


def _is_admitted(record: ReplicaRecord | None) -> bool:
    admitted = record.conditions.get("Admitted") if record is not None else None
    return admitted is not None and admitted.status == "True"
