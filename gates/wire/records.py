"""Workloads as the caches keep them: frozen, small, without pod templates.

A hub Workload that may still be dispatched keeps what a replica needs as compact JSON, because a decoded pod template
takes many times the memory and reading it again for each worker would cost a request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from config.api.identifiers import NO_WORKER, ClusterUID, ReplicaUID, WorkerName
from config.api.meta import Condition, ObjectKey
from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.dialect import GateEntry, gate_opened_ns
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import CheckState
from gates.model.openings import Opening, Winner
from gates.model.shape import SpecShape
from gates.model.view import OutOfSync
from gates.wire.eligibility import ELIGIBLE, QueueEligibility


@dataclass(frozen=True, slots=True)
class CheckEntry:
    """One entry of `status.admissionChecks`; its place in the list is its index there."""

    name: str
    state: CheckState
    message: str
    retry_count: int


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner reference, or what Kueue's annotations say instead."""

    api_version: str
    kind: str
    name: str
    uid: str = ""

    @property
    def gvk(self) -> str:
        """Write group, version and kind as Kueue's messages do."""
        return f"{self.api_version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class RecordedAssignment:
    """What matters of `status.admission.podSetAssignments`; its place in the list is its index there."""

    name: str
    has_topology: bool
    delayed: bool
    count: int | None = None
    """For how many pods there is quota; None where all of them have it."""
    usage: tuple[tuple[str, str], ...] = ()
    """What the hub's quota is charged for it, as quantities."""


@dataclass(frozen=True, slots=True)
class HubRecord:
    """A hub Workload."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    generation: int
    conditions: Mapping[str, Condition]
    condition_order: tuple[str, ...]
    checks: tuple[CheckEntry, ...]
    deleted: bool = False
    created_ns: int = 0
    queue: str = ""
    """The LocalQueue."""
    priority: int = 0
    cluster_queue: str = ""
    """Where the hub reserved quota."""
    cluster_name: WorkerName = NO_WORKER
    nominated: tuple[WorkerName, ...] = ()
    openings: tuple[Opening, ...] = ()
    winner: Winner | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Annotations of ours that do not hold what we write there, with what is wrong with them."""
    eligibility: QueueEligibility = ELIGIBLE
    evictions: int = 0
    """How often Kueue evicted the Workload, by its own count."""
    round_started_ns: int | None = None
    forecast: ForecastRecord | None = None
    out_of_sync: Mapping[str, OutOfSync] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)
    """Annotations about the workers that it may go to."""
    owner: Owner | None = None
    component_index: int | None = None
    elastic: bool = False
    replaces_slice: bool = False
    assignments: tuple[RecordedAssignment, ...] = ()
    shape: SpecShape | None = None
    kueue_wrote: str = ""
    """When Kueue's own MultiKueue controller last wrote the status, as the hub's API server noted it."""
    document: bytes = b""
    """Labels, annotations and spec as JSON while a replica may still have to be made; empty afterwards."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    def check(self, ours: frozenset[str]) -> CheckEntry | None:
        """Return the first entry that names one of our checks."""
        return next((entry for entry in self.checks if entry.name in ours), None)

    def is_true(self, condition: str) -> bool:
        """Return whether a condition is True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"


@dataclass(frozen=True, slots=True)
class ReplicaRecord:
    """A Workload on a worker that carries our origin."""

    namespace: str
    name: str
    uid: ReplicaUID
    resource_version: str
    generation: int
    created_ns: int
    origin: str
    hub: ClusterUID
    hub_uid: str
    born_from: str
    """Digest of the hub's spec at its creation."""
    conditions: Mapping[str, Condition]
    condition_order: tuple[str, ...]
    spec_gates: tuple[str, ...]
    gates: tuple[GateEntry, ...]
    finalizers: tuple[str, ...]
    shape: SpecShape
    topology: frozenset[str] = frozenset()
    """Pod sets that have a topology assignment."""
    deleted: bool = False
    born_gated: bool = False
    is_variant: bool = False
    """A variant that the worker's Kueue made of our replica: it bears our marks but is not ours."""
    has_variants: bool = False
    cluster: WorkerName = NO_WORKER
    """The worker's name under which it was written."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Return whether the worker is done with it."""
        return self._is_true("Finished")

    def waits_behind_gate(self, dialect: GateDialect) -> bool:
        """Return whether it has no quota and cannot get any by preempting."""
        is_gated = MULTIKUEUE_NAME in self.spec_gates and gate_opened_ns(self.gates, dialect) is None
        return is_gated and not self._is_true("QuotaReserved")

    def _is_true(self, condition: str) -> bool:
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"
