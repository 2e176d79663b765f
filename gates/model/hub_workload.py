"""The hub's Workload as a decision sees it: frozen and free of API details. Times are on the hub's clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import Condition, ObjectKey
from gates.model.forecasts import ForecastRecord
from gates.model.openings import Opening, Winner
from gates.targets.rules import NO_RULES, TargetRules


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


@dataclass(frozen=True, slots=True)
class Check:
    """The Workload's entry for our AdmissionCheck."""

    name: str
    state: CheckState
    message: str = ""
    retry_count: int = 0


@dataclass(frozen=True, slots=True)
class Component:
    """Place of a Workload among the component Workloads of one job (LeaderWorkerSet)."""

    complete: bool
    is_primary: bool
    sibling_clusters: frozenset[WorkerName] = frozenset()


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
    cluster_name: WorkerName = NO_WORKER
    nominated: tuple[WorkerName, ...] = ()
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
    targets: TargetRules = NO_RULES
    """Which workers it may go to."""
    elastic: bool = False
    replaces_slice: bool = False
    component: Component | None = None
    topology_due: bool = False
    """The winner has a topology assignment that the hub's pod sets still wait for."""
    job_readable: bool = True
    """Whether the state of the hub's job is known, also if there is no job."""
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
        """Return whether a condition is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"
