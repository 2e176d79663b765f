"""From what the caches hold to the view that decisions are made from."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from config.api.identifiers import NO_REPLICA, WorkerName
from config.names import MULTIKUEUE_NAME
from engine.forecasting.forecast import Forecast
from engine.objects.workloads import AdmittedWorkload
from engine.pod_outlook.values import PodOutlook
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import shows_gate
from gates.assembly.job_plans import HubJobs, job_context, jobs_to_stop, plan_jobs
from gates.assembly.targets import TargetFacts, rules_of, with_targets
from gates.decision.ledger import lost
from gates.jobs.belonging import RemoteJob, is_ours, jobs_to_remove, removals
from gates.jobs.kinds import JobKind
from gates.jobs.status import has_ended
from gates.jobs.syncing import JobContext
from gates.model.dialect import gate_opened_ns, gate_requested_ns, is_open
from gates.model.forecasts import Witness
from gates.model.hub_workload import Check, CheckState, Component, HubWorkload, Ownership
from gates.model.identity import Authorship
from gates.model.job_plan import PlannedJob
from gates.model.local_actions import WorkerNews
from gates.model.marks import FINALIZER, GATE_OPENINGS, WINNER, HubIdentity
from gates.model.openings import Opening, Steady
from gates.model.pod_records import PodWitness
from gates.model.shape import SpecShape, drift_between
from gates.model.view import NEVER_OUT_OF_SYNC, Drift, GateSupport, Reach, Replica, WorkerView, WorkloadView
from gates.targets.affinity import NO_PEERS, Peers
from gates.targets.matching import WorkerTraits
from gates.wire.records import CheckEntry, HubRecord, Owner, ReplicaRecord


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What the shell knows of one worker that concerns one Workload."""

    name: WorkerName
    position: int | None
    reach: Reach
    lost_since_ns: int | None = None
    lost_for_ns: int | None = None
    clock_skew_ns: int = 0
    clock_uncertainty_ns: int = 0
    dialect: GateDialect = GateDialect.KUEUE
    gates: GateSupport = GateSupport.HONOURED
    is_silent: bool = False
    answers: bool = True
    replica: ReplicaRecord | None = None
    preempted_ns: int | None = None
    """When others were last preempted for the replica, if its gate was closed all the time."""
    jobs: tuple[RemoteJob, ...] = ()
    """Our remote jobs that belong to this Workload."""
    wanted_jobs: frozenset[str] = frozenset()
    """UIDs of those that another Workload of the hub's job wants there, too."""
    removal_tried_ns: int = 0
    foreign_workload: bool = False
    foreign_job: bool = False
    serves_kind: bool = True
    settled_jobs: Mapping[str, PlannedJob] = field(default_factory=dict)
    """By UID, what was done about a remote job without changing anything."""
    settled_spec: tuple[str, int, SpecShape] | None = None
    """The replica and its generation that the worker did not let be brought in line with this spec of the hub."""
    confirmed: frozenset[str] = frozenset()
    """UIDs of replicas whose opening was seen to take effect."""
    opening_on_its_way: bool = False
    effect_ns: int | None = None
    tried_ns: int | None = None
    busy: bool = False
    problem: str = ""
    forecast: Forecast | None = None
    forecast_reliable: bool = True
    forecast_wait_ns: int = 0
    witness: Witness | None = None
    pods: PodOutlook | None = None
    pod_witness: PodWitness | None = None
    news: frozenset[WorkerNews] = frozenset()
    """What was not noted yet."""
    requests: tuple[Callable[[], None], ...] = ()
    """Each has a missing forecast made; for the shell, once that was decided."""
    promise: AdmittedWorkload | None = None
    """The quota that the Workload would take there."""
    traits: WorkerTraits = field(default_factory=WorkerTraits)
    authorship: Authorship = field(default_factory=Authorship)
    """Which objects there were written by this worker's name."""


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What this process knows of windows beside the record."""

    steady: Steady | None = None
    restarted_ns: int = 0
    remembered: tuple[Opening, ...] = ()
    """The openings that the record held when this process last wrote or read it."""


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
    aliases: Mapping[WorkerName, WorkerName] = field(default_factory=dict)
    """Names that are not in use themselves, each with the worker that leads to the same cluster."""
    windows: WindowFacts = field(default_factory=WindowFacts)
    peers: Peers = NO_PEERS
    """The other Workloads of its affinity groups."""

    def current(self, name: WorkerName) -> WorkerName:
        """Return the worker that a name stands for."""
        return self.aliases.get(name, name)

    def renamed(self, openings: Iterable[Opening]) -> tuple[Opening, ...]:
        """Return openings under the names that are in use."""
        return tuple(replace(each, cluster=self.current(each.cluster)) for each in openings)


def assemble(snapshot: Snapshot, identity: HubIdentity, managed_by: str, now: str) -> WorkloadView:
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
        cluster_name=snapshot.current(hub.cluster_name),
        nominated=hub.nominated,
        openings=snapshot.renamed(hub.openings),
        lost_openings=snapshot.renamed(lost(snapshot.windows.remembered, hub.openings)),
        openings_unreadable=GATE_OPENINGS in hub.unreadable,
        evictions=hub.evictions,
        winner=replace(hub.winner, cluster=snapshot.current(hub.winner.cluster)) if hub.winner is not None else None,
        winner_unreadable=WINNER in hub.unreadable,
        unreadable=tuple(hub.unreadable.values()),
        round_started_ns=hub.round_started_ns,
        forecast=hub.forecast,
        ownership=ownership,
        owner_text=owner_text,
        managed_by_path=_managed_by_path(snapshot.jobs.kind),
        targets=rules_of(hub, snapshot.jobs),
        elastic=hub.elastic,
        replaces_slice=hub.replaces_slice,
        component=_component(snapshot),
        topology_due=_topology_due(snapshot),
        job_readable=snapshot.jobs.kind is None or snapshot.jobs.known,
        job_to_stop=bool(jobs_to_stop(snapshot.jobs, now)),
    )
    context = job_context(hub, now)
    found = (_worker(facts, snapshot, identity, context) for facts in snapshot.workers)
    traits = {facts.name: facts.traits for facts in snapshot.workers}
    workers = with_targets(found, TargetFacts(workload.targets, hub, snapshot.peers), traits)
    return WorkloadView(workload, workers, snapshot.windows.steady, snapshot.windows.restarted_ns)


def _worker(facts: WorkerFacts, snapshot: Snapshot, identity: HubIdentity, context: JobContext) -> WorkerView:
    """Return one worker; one whose objects cannot be understood is out of sight, and the others are as they are."""
    try:
        return _understood(facts, snapshot, identity, context)
    except Exception as error:  # noqa: BLE001 - the boundary of a worker: its objects must not hold up the others
        problem = f"worker {facts.name}: what it holds cannot be understood: {type(error).__name__}: {error}"
        return WorkerView(
            facts.name, facts.position, Reach.UNREADABLE, gates=facts.gates, busy=facts.busy, problem=problem
        )


def _understood(facts: WorkerFacts, snapshot: Snapshot, identity: HubIdentity, context: JobContext) -> WorkerView:
    hub, record = snapshot.hub, facts.replica
    wrote = record is not None and facts.authorship.wrote(record.cluster)
    ours = wrote and record is not None and not record.is_variant and identity.owns(record.origin, record.hub)
    mine = ours and record is not None and record.hub_uid == hub.uid
    replica = _replica(record, facts, hub) if mine and record is not None else None
    jobs = tuple(job for job in facts.jobs if is_ours(job.record, identity, facts.authorship))
    to_remove = jobs_to_remove(jobs, facts.wanted_jobs)
    plan = plan_jobs(
        replica,
        snapshot.jobs,
        jobs,
        replace(context, settled=facts.settled_jobs),
        is_ready=_is_ready(snapshot),
        foreign=facts.foreign_job,
    )
    news = facts.news if _may_try_gates(facts, snapshot) else facts.news - {WorkerNews.GATE_TRIAL_OPEN}
    return WorkerView(
        name=facts.name,
        position=facts.position,
        reach=facts.reach,
        lost_since_ns=facts.lost_since_ns,
        lost_for_ns=facts.lost_for_ns,
        clock_skew_ns=facts.clock_skew_ns,
        clock_uncertainty_ns=facts.clock_uncertainty_ns,
        gates=GateSupport.UNKNOWN if WorkerNews.GATE_TRIAL_OPEN in news else facts.gates,
        is_silent=facts.is_silent,
        answers=facts.answers,
        replica=replica,
        foreign_replica=facts.foreign_workload or (record is not None and not ours),
        stale_uid=record.uid if ours and not mine and record is not None else NO_REPLICA,
        stale_leaving=ours and not mine and record is not None and not _is_removable(record),
        job_present=bool(jobs),
        job_leaving=bool(to_remove) and all(job.record.deleted for job in to_remove),
        job_kept=bool(jobs) and not to_remove,
        jobs_to_remove=removals(to_remove),
        job_ended=bool(jobs) and all(has_ended(job.kind, job.record.body) for job in jobs),
        job_sync=plan.sync,
        job_plan=plan.members,
        removal_tried_ns=facts.removal_tried_ns,
        out_of_sync=hub.out_of_sync.get(facts.name, NEVER_OUT_OF_SYNC),
        opening_confirmed=replica is not None and replica.uid in facts.confirmed,
        opening_on_its_way=facts.opening_on_its_way,
        effect_ns=facts.effect_ns,
        tried_ns=facts.tried_ns,
        serves_kind=facts.serves_kind,
        busy=facts.busy,
        problem=facts.problem,
        forecast=facts.forecast,
        forecast_reliable=facts.forecast_reliable,
        forecast_wait_ns=facts.forecast_wait_ns,
        witness=facts.witness,
        pods=facts.pods,
        pod_witness=facts.pod_witness,
        news=news,
    )


def _may_try_gates(facts: WorkerFacts, snapshot: Snapshot) -> bool:
    """Return whether the Workload is about to get a replica, which would show whether the worker honours gates."""
    check = snapshot.hub.check(snapshot.our_checks)
    is_waiting = check is not None and check.state is CheckState.PENDING and snapshot.hub.is_true("QuotaReserved")
    return is_waiting and facts.position is not None and facts.replica is None


def _is_ready(snapshot: Snapshot) -> bool:
    entry = snapshot.hub.check(snapshot.our_checks)
    return entry is not None and entry.state is CheckState.READY


def _is_removable(record: ReplicaRecord) -> bool:
    return not record.deleted or FINALIZER in record.finalizers


def _replica(record: ReplicaRecord, facts: WorkerFacts, hub: HubRecord) -> Replica:
    dialect, is_settled = facts.dialect, facts.settled_spec == (record.uid, record.generation, hub.shape)
    opened_ns = gate_opened_ns(record.gates, dialect)
    closed = {name for name in record.spec_gates if name != MULTIKUEUE_NAME}
    closed -= {gate.name for gate in record.gates if is_open(gate, dialect)}
    return Replica(
        uid=record.uid,
        resource_version=record.resource_version,
        conditions=record.conditions,
        has_gate=MULTIKUEUE_NAME in record.spec_gates,
        made_ungated=not record.born_gated and MULTIKUEUE_NAME not in record.spec_gates,
        created_ns=record.created_ns,
        gate_open=opened_ns is not None,
        gate_shown=shows_gate(record, dialect),
        preempted_ns=facts.preempted_ns,
        gate_opened_ns=opened_ns,
        other_gate_closed=bool(closed),
        # What leaves is neither let preempt nor brought in line.
        signal_ns=None if record.deleted else gate_requested_ns(record.conditions, dialect),
        drift=Drift.NONE if record.deleted else _drift(record, hub.shape, elastic=hub.elastic, is_settled=is_settled),
        leaving=record.deleted,
        in_use=FINALIZER in record.finalizers,
    )


def _drift(record: ReplicaRecord, wanted: SpecShape | None, *, elastic: bool, is_settled: bool) -> Drift:
    """Compare with the hub; what the worker's API server changed at creation, or does not let change, is no drift.

    What cannot be brought in line in place is another matter: such a copy is made again.
    """
    if wanted is None:
        return Drift.NONE
    untouched = record.generation == 1 and record.born_from == wanted.digest
    shape = replace(record.shape, digest=wanted.digest) if untouched else record.shape
    drift = drift_between(wanted, shape, elastic=elastic)
    return Drift.NONE if is_settled and drift is not Drift.OTHER else drift


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
        sibling_clusters=frozenset(snapshot.current(s.cluster_name) for s in snapshot.siblings if s.cluster_name),
    )


def _topology_due(snapshot: Snapshot) -> bool:
    """Return whether the winner has the topology that the hub's pod sets wait for."""
    hub = snapshot.hub
    name = snapshot.current(hub.cluster_name)
    winner = next((facts.replica for facts in snapshot.workers if facts.name == name), None)
    holders = [winner] if winner is not None else [f.replica for f in snapshot.workers if _is_admitted(f.replica)]
    placed: Mapping[str, bool] = {name: True for record in holders if record is not None for name in record.topology}
    waiting = [assignment.name for assignment in hub.assignments if assignment.delayed]
    return bool(waiting) and all(placed.get(name, False) for name in waiting)


def _is_admitted(record: ReplicaRecord | None) -> bool:
    admitted = record.conditions.get("Admitted") if record is not None else None
    return admitted is not None and admitted.status == "True"
