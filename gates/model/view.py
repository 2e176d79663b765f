"""What a decision about one hub Workload depends on: frozen, complete, and free of I/O.

The shell fills these values from its caches; the deciders in this package never see a raw object. Times are
nanoseconds since the epoch on the hub's clock unless a field says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.identifiers import NO_REPLICA, ReplicaUID, WorkerName
from config.api.meta import Condition
from engine.forecasting.forecast import Forecast
from engine.pod_outlook.values import PodOutlook
from gates.model.forecasts import Witness
from gates.model.hub_workload import HubWorkload
from gates.model.job_plan import PlannedJob, RemovedJob
from gates.model.local_actions import WorkerNews
from gates.model.openings import Steady
from gates.model.pod_records import PodWitness
from gates.targets.matching import MILLION
from gates.targets.rules import Exclusion, ExclusionRule


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
    """The Workload is over without a job of this hub: make sure that no foreign job is in its place."""
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
class Replica:
    """A replica on a worker that carries our origin and this hub Workload's UID."""

    uid: ReplicaUID
    resource_version: str
    conditions: Mapping[str, Condition]
    has_gate: bool
    gate_open: bool = False
    gate_shown: bool = True
    """The worker's Kueue showed on this replica that it knows of the gate; one that ignores gates never does."""
    preempted_ns: int | None = None
    """When others were last preempted for it although its gate was closed all the time, on the worker's clock."""
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
    def has_yet_to_show(self) -> bool:
        """Return whether nothing shows yet that its closed gate is honoured."""
        return self.has_gate and not self.gate_open and not self.gate_shown

    @property
    def lost_gate(self) -> bool:
        """Return whether it was created with a gate that is gone, as one that a conversion of its API drops is."""
        return not self.has_gate and not self.made_ungated

    @property
    def removable(self) -> bool:
        """Return whether there is anything left to do to have it removed."""
        return not self.leaving or self.in_use

    def is_true(self, condition: str) -> bool:
        """Return whether a condition is True."""
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

    name: WorkerName
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
    """Whether gates are known to hold for this Workload there, now."""
    ungated_allowed: bool = False
    """Its policy is to use it like one that honours gates, whatever it does."""
    exclusion: Exclusion | None = None
    """The rule that keeps the Workload from it; None if it may go there."""
    group_preference: int = 0
    """Above 0 where others of the Workload's affinity group are, below 0 where those of its anti-affinity group are."""
    weight: int = MILLION
    """In millionths: among equals, the worker with more is preferred."""
    price: int = 0
    """What an hour of the Workload costs there, in millionths."""
    is_silent: bool = False
    """Its Kueue has not reacted to another Workload's replica for a while, so nothing is tried there."""
    answers: bool = True
    """It answered a probe for this Workload a moment ago."""
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
    jobs_to_remove: tuple[RemovedJob, ...] = ()
    """Its jobs that are to go with the Workload and were not deleted yet."""
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
        """Return whether it holds an object that we created and have not deleted yet."""
        replica = self.replica is not None and self.replica.removable
        stale = bool(self.stale_uid) and not self.stale_leaving
        return replica or stale or (self.job_present and not self.job_leaving and not self.job_kept)

    @property
    def may_ignore_gates(self) -> bool:
        """Return whether a replica there has to be expected to preempt while its gate is closed."""
        return self.gates is not GateSupport.HONOURED and not self.ungated_allowed

    @property
    def listed(self) -> bool:
        """Return whether the cluster is still part of the configuration."""
        return self.position is not None

    @property
    def keeps_replica(self) -> bool:
        """Return whether its replica stays although the worker is cordoned: it has quota, or may preempt already."""
        replica, excluded = self.replica, self.exclusion
        if excluded is None or excluded.rule is not ExclusionRule.CORDONED or replica is None or replica.leaving:
            return False
        return replica.is_true("QuotaReserved") or replica.gate_open or not replica.has_gate

    @property
    def preference(self) -> tuple[int, int, int]:
        """Return how workers compare that are equally suitable: by groups, then weight, then price; the least first."""
        return (-self.group_preference, -self.weight, self.price)

    @property
    def order(self) -> tuple[int, WorkerName]:
        """Return the deterministic tie-break between workers."""
        return (self.position if self.position is not None else 1 << 30, self.name)


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

    def worker(self, name: WorkerName) -> WorkerView | None:
        """Find a worker by name."""
        return next((worker for worker in self.workers if worker.name == name), None)
