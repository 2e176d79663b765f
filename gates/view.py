"""What a decision about one hub Workload may look at: frozen, complete, and free of I/O.

The shell fills these values from its caches; the deciders in this package never see a raw object. Times are
nanoseconds since the epoch on the hub's clock unless a field says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.meta import Condition
from engine.forecasting.forecast import Forecast
from engine.outlook.values import PodOutlook
from gates.forecasts import ForecastRecord, Witness
from gates.pod_records import PodWitness


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
    """The job asks for something that cannot be had across clusters."""
    OWNERLESS = "ownerless"
    UNKNOWN = "unknown"
    """The job cannot be read, or is not there: nobody is rejected for that, and nothing is dispatched."""


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
    """The Workload is over without a job of ours: make sure that none of somebody else's is in its place."""
    COPY_STATUS = "copy-status"
    FORWARD = "forward"
    """The hub's job changed in a way that the running copy takes over."""
    DEFERRED = "deferred"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Check:
    """The Workload's entry for our AdmissionCheck."""

    name: str
    state: CheckState
    message: str = ""
    retry_count: int = 0


@dataclass(frozen=True, slots=True)
class Replica:
    """A Workload copy on a worker that carries our origin and this hub Workload's UID."""

    uid: str
    resource_version: str
    conditions: Mapping[str, Condition]
    has_gate: bool
    gate_open: bool = False
    gate_opened_ns: int | None = None
    """Transition time of the open gate as the worker's object states it."""
    other_gate_closed: bool = False
    signal_ns: int | None = None
    """Worker-clock time of the signal while it is True with reason PreemptionGated; None otherwise."""
    drift: Drift = Drift.NONE

    def is_true(self, condition: str) -> bool:
        """Tell whether a condition stands at True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"

    def since_ns(self, condition: str) -> int:
        """Return the transition time of a condition that is present."""
        return self.conditions[condition].last_transition_ns


@dataclass(frozen=True, slots=True)
class OutOfSync:
    """How often a worker found a job different from its replica, and the replica of the last time."""

    count: int = 0
    replica_uid: str = ""


NEVER_OUT_OF_SYNC: Final = OutOfSync()


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker cluster as seen for this Workload."""

    name: str
    position: int | None
    """Index in the MultiKueueConfig's list, which is the order of preference; None when it is no longer listed."""
    reach: Reach = Reach.SYNCED
    lost_since_ns: int | None = None
    clock_skew_ns: int = 0
    """How far the worker's clock runs ahead of the hub's."""
    gates: GateSupport = GateSupport.HONOURED
    replica: Replica | None = None
    foreign_replica: bool = False
    """A Workload of the same name that is not ours stands in the way."""
    stale_uid: str = ""
    """A replica of ours that was made for an earlier hub Workload of the same name."""
    job_present: bool = False
    """A remote job with our origin exists, whether or not its replica does."""
    job_ended: bool = False
    """The remote job is known to be over, so that what is known of it is its last word."""
    job_sync: JobSync = JobSync.NONE
    out_of_sync: OutOfSync = NEVER_OUT_OF_SYNC
    opening_confirmed: bool = False
    """This process saw the recorded opening take effect on the replica. Lost with a restart, which errs to waiting."""
    serves_kind: bool = True
    """The cluster knows the kind of the Workload's job."""
    busy: bool = False
    """An action of ours is on its way there, or rests after a failure: nothing new is begun."""
    problem: str = ""
    """What last went wrong there with this Workload."""
    forecast: Forecast | None = None
    """What the worker would do with the Workload if its gate were open; None where nobody asked, or nobody knows."""
    forecast_reliable: bool = True
    """Whether forecasts for this worker were right often enough."""
    witness: Witness | None = None
    """What happened there since the gate was opened; None while that is not completely known."""
    pods: PodOutlook | None = None
    """What would become of the Workload's pods there once it has quota; None where nobody asked, or nobody knows."""
    pod_witness: PodWitness | None = None
    """What was seen of its pods since the gate was opened."""

    @property
    def listed(self) -> bool:
        """Tell whether the cluster is still part of the configuration."""
        return self.position is not None

    @property
    def order(self) -> tuple[int, str]:
        """Return the deterministic tie-break between workers."""
        return (self.position if self.position is not None else 1 << 30, self.name)


@dataclass(frozen=True, slots=True)
class Opening:
    """A gate opening that was decided: on the hub object before the worker is touched."""

    cluster: str
    replica_uid: str
    opened_ns: int


@dataclass(frozen=True, slots=True)
class Winner:
    """The replica that was chosen to run: on the hub object before its job is created."""

    cluster: str
    replica_uid: str
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
    winner: Winner | None = None
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
    """The hub's job still says that it runs, as its copy on a worker did last."""

    @property
    def attempt_ns(self) -> int:
        """Return since when the hub's quota is reserved."""
        reserved = self.conditions.get("QuotaReserved")
        return reserved.last_transition_ns if reserved is not None else 0

    def is_true(self, condition: str) -> bool:
        """Tell whether a condition stands at True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"


@dataclass(frozen=True, slots=True)
class Group:
    """Everything one decision looks at: the hub Workload and its place on every worker."""

    workload: HubWorkload
    workers: tuple[Worker, ...]
    listed: tuple[Worker, ...] = field(init=False, repr=False, compare=False)
    """The workers of the configuration in order of preference."""
    holders: tuple[Worker, ...] = field(init=False, repr=False, compare=False)
    """The listed, readable workers that hold a replica, in order of preference."""

    def __post_init__(self) -> None:
        listed = tuple(sorted((w for w in self.workers if w.listed), key=lambda w: w.order))
        object.__setattr__(self, "listed", listed)
        holders = tuple(w for w in listed if w.replica is not None and w.reach is Reach.SYNCED)
        object.__setattr__(self, "holders", holders)

    def worker(self, name: str) -> Worker | None:
        """Find a worker by name."""
        return next((worker for worker in self.workers if worker.name == name), None)
