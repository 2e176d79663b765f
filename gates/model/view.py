"""What a decision about one hub Workload depends on: frozen, complete, and free of I/O.

The shell fills these values from its caches; the deciders in this package never see a raw object. Times are
nanoseconds since the epoch on the hub's clock unless a field says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.meta import Condition, ObjectKey
from engine.forecasting.forecast import Forecast
from engine.pod_outlook.values import PodOutlook
from gates.model.forecasts import ForecastRecord, Witness
from gates.model.job_plan import PlannedJob
from gates.model.local_actions import WorkerNews
from gates.model.names import NO_REPLICA, ReplicaUID
from gates.model.pod_records import PodWitness


class CheckState(StrEnum):
    """States of an entry in `status.admissionChecks`."""

    PENDING = "Pending"
    READY = "Ready"
    RETRY = "Retry"
    REJECTED = "Rejected"


class Ownership(StrEnum):
    """What the hub knows about the job that owns the Workload."""

    MANAGED = "managed"
    NOT_MANAGED = "not-managed"
    NO_ADAPTER = "no-adapter"
    UNSUPPORTED = "unsupported"
    """The job asks for something that is not supported across clusters."""
    OWNERLESS = "ownerless"
    UNKNOWN = "unknown"
    """The job cannot be read, or is absent: the Workload is not rejected for that, and nothing is dispatched."""


class Drift(StrEnum):
    """How a replica's spec differs from the hub's, preemption gates left aside."""

    NONE = "none"
    PRIORITY = "priority"
    SCALE_DOWN = "scale-down"
    OTHER = "other"


class Reach(StrEnum):
    """Whether absence on a worker may be believed.

    SYNCED is the only value under which a missing replica means that there is none.
    """

    SYNCED = "synced"
    UNREADABLE = "unreadable"
    LOST = "lost"


class GateSupport(StrEnum):
    """Whether a worker's Kueue honours preemption gates."""

    HONOURED = "honoured"
    UNKNOWN = "unknown"
    MISSING = "missing"


class JobSync(StrEnum):
    """What the adapter would do with the remote job now."""

    NONE = "none"
    CREATE = "create"
    VERIFY = "verify"
    """The Workload is over without a job of ours: make sure that no foreign job is in its place."""
    COPY_STATUS = "copy-status"
    FORWARD = "forward"
    """The hub's job changed in a way that is forwarded to the running remote job."""
    DEFERRED = "deferred"
    LEAVING = "leaving"
    """One of our jobs that was deleted is still in its place: nothing begins before it is gone."""
    FOREIGN = "foreign"
    OUTGROWN = "outgrown"
    """An elastic job has more pods than the Workload has quota for, and its remote job does not exist yet."""


@dataclass(frozen=True, slots=True)
class Check:
    """The Workload's entry for our AdmissionCheck."""

    name: str
    state: CheckState
    message: str = ""
    retry_count: int = 0


@dataclass(frozen=True, slots=True)
class Replica:
    """A replica on a worker that carries our origin and this hub Workload's UID."""

    uid: ReplicaUID
    resource_version: str
    conditions: Mapping[str, Condition]
    has_gate: bool
    gate_open: bool = False
    made_ungated: bool = False
    """It was created without a gate, because its worker was the only one, or its window was open."""
    created_ns: int = 0
    """When it was created, on the worker's clock; 0 if unknown."""
    gate_opened_ns: int | None = None
    """Transition time of the open gate as the worker's object states it."""
    other_gate_closed: bool = False
    signal_ns: int | None = None
    """Worker-clock time of the signal while it is True with reason PreemptionGated; None otherwise."""
    drift: Drift = Drift.NONE
    leaving: bool = False
    """It was deleted and is not gone yet: it keeps its name and what it says counts, but nothing begins with it."""
    in_use: bool = False
    """It bears Kueue's finalizer, without which it cannot go."""

    @property
    def removable(self) -> bool:
        """Tell whether there is anything left to do to have it removed."""
        return not self.leaving or self.in_use

    def is_true(self, condition: str) -> bool:
        """Tell whether a condition is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"

    def since_ns(self, condition: str) -> int:
        """Return the transition time of a condition that is present."""
        return self.conditions[condition].last_transition_ns


@dataclass(frozen=True, slots=True)
class OutOfSync:
    """How often a worker found a job different from its replica, and the replica of the last time."""

    count: int = 0
    replica_uid: ReplicaUID = NO_REPLICA


NEVER_OUT_OF_SYNC: Final = OutOfSync()


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker cluster as seen for this Workload."""

    name: str
    position: int | None
    """Index in the MultiKueueConfig's list, which is the order of preference; None when it is no longer listed."""
    reach: Reach = Reach.SYNCED
    lost_since_ns: int | None = None
    clock_skew_ns: int = 0
    """How far the worker's clock runs ahead of the hub's."""
    clock_uncertainty_ns: int = 0
    """By how much that may be wrong."""
    lost_for_ns: int | None = None
    """How long it has been unreachable, by a clock that cannot be set; None where only `lost_since_ns` is known."""
    gates: GateSupport = GateSupport.HONOURED
    replica: Replica | None = None
    foreign_replica: bool = False
    """A Workload of the same name that is not ours blocks the replica."""
    stale_uid: ReplicaUID = NO_REPLICA
    """Our replica of an earlier hub Workload of the same name."""
    stale_leaving: bool = False
    """That replica was deleted and is only waited for."""
    job_present: bool = False
    """One of our jobs exists there, whether or not its replica does."""
    job_leaving: bool = False
    """All its jobs that are to go were deleted and are only waited for; they may still run."""
    job_kept: bool = False
    """Other Workloads of the hub's job run in it there, so that it stays when this one goes."""
    removal_tried_ns: int = 0
    """For how long this process has been waiting for a job there to be gone, so that another worker's may begin."""
    job_ended: bool = False
    """The remote job is known to be over, so that what is known of it is its last word."""
    job_sync: JobSync = JobSync.NONE
    job_plan: tuple[PlannedJob, ...] = ()
    """What a synchronisation of the job does now, for each object that needs anything."""
    out_of_sync: OutOfSync = NEVER_OUT_OF_SYNC
    opening_confirmed: bool = False
    """This process saw the recorded opening take effect on the replica. Lost with a restart, which errs to waiting."""
    opening_on_its_way: bool = False
    """A request that lets the worker preempt was sent, or is about to be, and its result is not known yet."""
    effect_ns: int | None = None
    """By when the recorded opening took effect there, on the steady clock; None while this process has not seen it."""
    tried_ns: int | None = None
    """When this process last gave up a request for the recorded opening that may have arrived, on the steady clock.

    0 if nothing of what it tried can have arrived, None if it tried nothing.
    """
    serves_kind: bool = True
    """The cluster knows the kind of the Workload's job."""
    busy: bool = False
    """An action is in flight there, or waits after a failure: nothing new is started."""
    problem: str = ""
    """What last went wrong there with this Workload."""
    forecast: Forecast | None = None
    """What the worker would do with the Workload if its gate were open; None if that was not asked, or is not known."""
    forecast_reliable: bool = True
    """Whether forecasts for this worker were right often enough."""
    forecast_wait_ns: int = 0
    """How long it is worth waiting for a forecast that is being made; 0 if none is."""
    witness: Witness | None = None
    """What happened there since the gate was opened; None while that is not completely known."""
    pods: PodOutlook | None = None
    """What would become of the Workload's pods there once it has quota; None if that was not asked, or is not known."""
    pod_witness: PodWitness | None = None
    """What was seen of its pods since the gate was opened."""
    news: frozenset[WorkerNews] = frozenset()
    """What this process has not noted yet."""

    @property
    def removable(self) -> bool:
        """Tell whether it holds an object that we created and have not deleted yet."""
        replica = self.replica is not None and self.replica.removable
        stale = bool(self.stale_uid) and not self.stale_leaving
        return replica or stale or (self.job_present and not self.job_leaving and not self.job_kept)

    @property
    def listed(self) -> bool:
        """Tell whether the cluster is still part of the configuration."""
        return self.position is not None

    @property
    def order(self) -> tuple[int, str]:
        """Return the deterministic tie-break between workers."""
        return (self.position if self.position is not None else 1 << 30, self.name)


@dataclass(frozen=True, slots=True)
class Steady:
    """A reading of a clock that cannot be set. Two readings can be compared only if they are of the same clock."""

    clock: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Opening:
    """A gate opening that was decided: on the hub object before the worker is touched."""

    cluster: str
    replica_uid: ReplicaUID
    """Empty for a replica without a gate, whose creation is its opening."""
    opened_ns: int
    """The start of the window by the wall clock, which people read."""
    attempt: str = ""
    """The hub's attempt that it belongs to; empty in a record of an earlier version."""
    steady: Steady | None = None
    """The start of the window by the steady clock, which the window is measured with."""
    took_effect: bool = False
    """The worker was seen to have taken it, so that its window began no later than recorded."""
    nudges: int = 0
    """How often the gate was closed and opened again, because the worker's Kueue had missed the opening."""
    nudged: Steady | None = None
    """When it was last closed for that."""
    entry_ns: int = 0
    """The time in the gate's entry on the worker, which tells our opening from another's; 0 if unknown."""
    by_others: int = 0
    """How often the gate was found open in this attempt although this process had not opened it."""
    turn: Steady | None = None
    """When the worker's window first began: opening the gate again within it does not make it a new window."""
    based_on: str = ""
    """The version of the replica under which it was first sent; empty if that is not known."""
    sent_within_ns: int = 0
    """For how long after its start it may be sent, as the timeout was then; 0 if that is not known."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The replica that was chosen to run: on the hub object before its job is created."""

    cluster: str
    replica_uid: ReplicaUID
    attempt_ns: int
    """Since when the hub's quota is reserved, which tells one attempt from the next."""


@dataclass(frozen=True, slots=True)
class Component:
    """Place of a Workload among the component Workloads of one job (LeaderWorkerSet)."""

    complete: bool
    is_primary: bool
    sibling_clusters: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HubWorkload:
    """The hub's Workload, reduced to what decides."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    deleted: bool = False
    check: Check | None = None
    other_checks_ready: bool = True
    cluster_name: str = ""
    nominated: tuple[str, ...] = ()
    openings: tuple[Opening, ...] = ()
    lost_openings: tuple[Opening, ...] = ()
    """Openings that this process knows of and that the record no longer names."""
    openings_unreadable: bool = False
    """The record of openings is there and cannot be read, so any gate may have been opened a moment ago."""
    evictions: int = 0
    """How often the hub evicted the Workload, as far as Kueue counts it."""
    winner: Winner | None = None
    winner_unreadable: bool = False
    """The record of the winner is there and cannot be read, so any worker may have been chosen."""
    unreadable: tuple[str, ...] = ()
    """What is wrong with our records, one sentence each."""
    round_started_ns: int | None = None
    forecast: ForecastRecord | None = None
    """The forecast behind the last opening."""
    ownership: Ownership = Ownership.MANAGED
    owner_text: str = ""
    managed_by_path: str = "spec.managedBy"
    elastic: bool = False
    replaces_slice: bool = False
    component: Component | None = None
    topology_due: bool = False
    """The winner has a topology assignment that the hub's pod sets still wait for."""
    job_readable: bool = True
    """Whether it is known how the hub's job stands, be it that there is none."""
    job_to_stop: bool = False
    """The hub's job still says that it runs, as the remote job did last."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def attempt_ns(self) -> int:
        """Return since when the hub's quota is reserved."""
        reserved = self.conditions.get("QuotaReserved")
        return reserved.last_transition_ns if reserved is not None else 0

    @property
    def attempt(self) -> str:
        """Name the hub's attempt: equal for as long as it keeps its quota, and another one whenever it got it again.

        The time alone has whole seconds, and a clock may be set; Kueue's count of evictions tells apart what it cannot.
        """
        return f"{self.attempt_ns}/{self.evictions}"

    def is_true(self, condition: str) -> bool:
        """Tell whether a condition is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """Everything one decision depends on: the hub Workload and its state on every worker."""

    workload: HubWorkload
    workers: tuple[WorkerView, ...]
    steady: Steady | None = None
    """What the steady clock shows now; None where windows are not measured, as in shadow mode."""
    restarted_ns: int = 0
    """When all windows last had to begin again, on the steady clock."""
    listed: tuple[WorkerView, ...] = field(init=False, repr=False, compare=False)
    """The workers of the configuration in order of preference."""
    holders: tuple[WorkerView, ...] = field(init=False, repr=False, compare=False)
    """The listed, readable workers that hold a replica, in order of preference."""

    def __post_init__(self) -> None:
        listed = tuple(sorted((w for w in self.workers if w.listed), key=lambda w: w.order))
        object.__setattr__(self, "listed", listed)
        holders = tuple(w for w in listed if w.replica is not None and w.reach is Reach.SYNCED)
        object.__setattr__(self, "holders", holders)

    def worker(self, name: str) -> WorkerView | None:
        """Find a worker by name."""
        return next((worker for worker in self.workers if worker.name == name), None)
