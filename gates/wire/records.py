"""Workloads as the caches keep them: frozen, small, without pod templates.

A hub Workload that may still be dispatched keeps what a replica needs as compact JSON, because a decoded pod template
takes many times the memory and reading it again for each worker would cost a request.
"""

import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Final

from config.api.meta import Condition, Obj, ObjectKey
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.model import marks
from gates.model.dialect import GateEntry, gate_entries, gate_opened_ns
from gates.model.fields import (
    block,
    compact_json,
    condition_map,
    flag,
    items,
    needed_text,
    refusal,
    refuses_odd_shapes,
    text,
    text_map,
    texts,
    time_ns,
    whole,
)
from gates.model.forecasts import ForecastRecord
from gates.model.names import ReplicaUID
from gates.model.shape import DEFAULT_POD_SET, MOST_PODS, SpecShape, spec_shape
from gates.model.view import CheckState, Opening, OutOfSync, Winner
from gates.wire.own_records import OwnRecords

_STATES: Final = frozenset(CheckState)
_MOST_OWNERS: Final = 10_000
"""Every pod of a group owns its Workload."""


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
    cluster_queue: str = ""
    """Where the hub reserved quota."""
    cluster_name: str = ""
    nominated: tuple[str, ...] = ()
    openings: tuple[Opening, ...] = ()
    winner: Winner | None = None
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Annotations of ours that do not hold what we write there, with what is wrong with them."""
    evictions: int = 0
    """How often Kueue evicted the Workload, by its own count."""
    round_started_ns: int | None = None
    forecast: ForecastRecord | None = None
    out_of_sync: Mapping[str, OutOfSync] = field(default_factory=dict)
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
        """Tell whether a condition is True."""
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
    hub: str
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
    cluster: str = ""
    """The worker's name under which it was written."""

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def is_finished(self) -> bool:
        """Tell whether the worker is done with it."""
        return self._is_true("Finished")

    def waits_behind_gate(self, dialect: GateDialect) -> bool:
        """Tell whether it has no quota and cannot get any by preempting."""
        is_gated = MULTIKUEUE_NAME in self.spec_gates and gate_opened_ns(self.gates, dialect) is None
        return is_gated and not self._is_true("QuotaReserved")

    def _is_true(self, condition: str) -> bool:
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"


@refuses_odd_shapes
def hub_record(raw: Obj, kinds: Container[str] = ()) -> HubRecord:
    """Read a hub Workload; `kinds` are the kinds of jobs that are taken. Raises ValueError for an invalid object."""
    metadata, spec, status = _parts(raw)
    annotations = text_map(metadata, "annotations", "metadata")
    conds = condition_map(status)
    checks = tuple(_check_entry(entry, place) for place, entry in items(status, "admissionChecks", "status"))
    finished = "Finished" in conds and conds["Finished"].status == "True"
    may_be_copied = bool(checks) and not finished
    ours = OwnRecords(annotations)
    return HubRecord(
        namespace=text(metadata, "namespace", "metadata"),
        name=needed_text(metadata, "name", "metadata"),
        uid=needed_text(metadata, "uid", "metadata"),
        resource_version=needed_text(metadata, "resourceVersion", "metadata"),
        generation=whole(metadata, "generation", "metadata"),
        conditions=conds,
        condition_order=tuple(conds),
        checks=checks,
        deleted=_is_deleted(metadata),
        created_ns=time_ns(metadata, "creationTimestamp", "metadata") or 0,
        queue=sys.intern(text(spec, "queueName", "spec")),
        cluster_queue=text(block(status, "admission", "status"), "clusterQueue", "status.admission"),
        cluster_name=text(status, "clusterName", "status"),
        nominated=texts(status, "nominatedClusterNames", "status"),
        openings=ours.openings,
        winner=ours.winner,
        round_started_ns=ours.round_started_ns,
        forecast=ours.forecast,
        out_of_sync=ours.out_of_sync,
        unreadable=ours.problems,
        evictions=_evictions(status),
        owner=_owner(metadata, annotations, kinds),
        component_index=_whole(annotations, marks.COMPONENT_INDEX),
        elastic=annotations.get(marks.ELASTIC) == "true",
        replaces_slice=marks.REPLACED_SLICE in annotations,
        assignments=_assignments(status),
        shape=spec_shape(spec) if may_be_copied else None,
        kueue_wrote=_last_write(metadata, MULTIKUEUE_NAME),
        document=_document(metadata, spec) if may_be_copied else b"",
    )


def _parts(raw: Obj) -> tuple[Obj, Obj, Obj]:
    if not isinstance(raw, dict):
        raise refusal("the object", raw, "a map")
    return block(raw, "metadata", ""), block(raw, "spec", ""), block(raw, "status", "")


def _is_deleted(metadata: Obj) -> bool:
    return bool(text(metadata, "deletionTimestamp", "metadata"))


def _last_write(metadata: Obj, manager: str) -> str:
    """Return the time of a field manager's last write; the API server writes all times in one form, so they compare."""
    entries = items(metadata, "managedFields", "metadata")
    return max((text(entry, "time", place) for place, entry in entries if entry.get("manager") == manager), default="")


@refuses_odd_shapes
def replica_record(raw: Obj) -> ReplicaRecord:
    """Read a Workload on a worker; raises ValueError for an invalid object."""
    metadata, spec, status = _parts(raw)
    labels, annotations = text_map(metadata, "labels", "metadata"), text_map(metadata, "annotations", "metadata")
    conds = condition_map(status)
    return ReplicaRecord(
        namespace=text(metadata, "namespace", "metadata"),
        name=needed_text(metadata, "name", "metadata"),
        uid=ReplicaUID(needed_text(metadata, "uid", "metadata")),
        resource_version=needed_text(metadata, "resourceVersion", "metadata"),
        generation=whole(metadata, "generation", "metadata"),
        created_ns=time_ns(metadata, "creationTimestamp", "metadata") or 0,
        origin=marks.origin_of(metadata),
        hub=marks.hub_of(metadata),
        hub_uid=marks.hub_uid_of(metadata),
        born_from=annotations.get(marks.SPEC_DIGEST, ""),
        born_gated=annotations.get(marks.GATED) == "true",
        conditions=conds,
        condition_order=tuple(conds),
        spec_gates=tuple(needed_text(gate, "name", place) for place, gate in items(spec, "preemptionGates", "spec")),
        gates=gate_entries(status),
        finalizers=texts(metadata, "finalizers", "metadata"),
        shape=spec_shape(spec),
        topology=frozenset(entry.name for entry in _assignments(status) if entry.has_topology),
        deleted=_is_deleted(metadata),
        is_variant=_is_variant(metadata),
        has_variants=labels.get(marks.CONCURRENT_PARENT) == "true",
        cluster=marks.cluster_of(metadata),
    )


def _is_variant(metadata: Obj) -> bool:
    """Concurrent admission copies labels and annotations of a Workload to its variants, which it owns."""
    owners = items(metadata, "ownerReferences", "metadata", _MOST_OWNERS)
    return any(owner.get("kind") == "Workload" and _group(owner, place) == KUEUE_GROUP for place, owner in owners)


def _group(owner: Obj, place: str) -> str:
    return text(owner, "apiVersion", place).partition("/")[0]


def _check_entry(entry: Obj, place: str) -> CheckEntry:
    state = text(entry, "state", place) or CheckState.PENDING
    if state not in _STATES:
        raise refusal(f"{place}.state", state, " or ".join(sorted(_STATES)))
    name, message = needed_text(entry, "name", place), text(entry, "message", place)
    return CheckEntry(name, CheckState(state), message, whole(entry, "retryCount", place))


def _owner(metadata: Obj, annotations: Mapping[str, str], kinds: Container[str]) -> Owner | None:
    """Choose the owner that says how to run the Workload; annotations come first if they name a kind that is taken."""
    gvk, name = annotations.get(marks.JOB_OWNER_GVK) or "", annotations.get(marks.JOB_OWNER_NAME) or ""
    if name and gvk in kinds:
        api_version, _, kind = gvk.partition(", Kind=")
        return Owner(api_version, kind, name)
    references = list(items(metadata, "ownerReferences", "metadata", _MOST_OWNERS))
    controllers = (each for each in references if flag(each[1], "controller", each[0]))
    chosen = next(controllers, references[0] if references else None)
    if chosen is None:
        return None
    place, owner = chosen
    api_version, kind = needed_text(owner, "apiVersion", place), needed_text(owner, "kind", place)
    return Owner(api_version, kind, needed_text(owner, "name", place), text(owner, "uid", place))


def _assignments(status: Obj) -> tuple[RecordedAssignment, ...]:
    admission = block(status, "admission", "status")
    return tuple(
        RecordedAssignment(
            text(entry, "name", place) or DEFAULT_POD_SET,
            bool(entry.get("topologyAssignment")),
            entry.get("delayedTopologyRequest") == "Pending",
            whole(entry, "count", place, largest=MOST_PODS) if entry.get("count") is not None else None,
        )
        for place, entry in items(admission, "podSetAssignments", "status.admission")
    )


def _document(metadata: Obj, spec: Obj) -> bytes:
    labels, annotations = text_map(metadata, "labels", "metadata"), metadata.get("annotations") or {}
    return compact_json({"labels": labels, "annotations": annotations, "spec": spec}, "spec")


def _whole(annotations: Mapping[str, str], name: str) -> int | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"annotation {name} is {text!r}: expected a whole number") from None


def _evictions(status: Obj) -> int:
    """Sum up Kueue's counters of evictions; what is no counter counts for nothing."""
    entries = (status.get("schedulingStats") or {}).get("evictions") or ()
    counts = (entry.get("count") for entry in entries)
    return sum(count for count in counts if isinstance(count, int))
