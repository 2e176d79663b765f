"""Workloads as the caches keep them: frozen, small, without pod templates.

A hub Workload that may still be copied keeps what a copy needs as compact JSON, because a decoded pod template takes
many times the memory and reading it again for each worker would cost a request.
"""

import json
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from config.api.meta import Condition, conditions, parse_time
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from gates import marks
from gates.forecasts import ForecastRecord, parse_record
from gates.ledger import parse_openings
from gates.shape import SpecShape, spec_shape
from gates.view import CheckState, Opening, OutOfSync, Winner
from gates.winner import parse_winner

Obj = dict[str, Any]


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
class PodSetAssignment:
    """What matters of `status.admission.podSetAssignments`; its place in the list is its index there."""

    name: str
    has_topology: bool
    delayed: bool


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
    round_started_ns: int | None = None
    forecast: ForecastRecord | None = None
    out_of_sync: Mapping[str, OutOfSync] = field(default_factory=dict)
    owner: Owner | None = None
    component_index: int | None = None
    elastic: bool = False
    replaces_slice: bool = False
    assignments: tuple[PodSetAssignment, ...] = ()
    shape: SpecShape | None = None
    kueue_wrote: str = ""
    """When Kueue's own MultiKueue controller last wrote the status, as the hub's API server noted it."""
    document: bytes = b""
    """Labels, annotations and spec as JSON while a replica may still have to be made; empty afterwards."""

    def check(self, ours: frozenset[str]) -> CheckEntry | None:
        """Return the first entry that names one of our checks."""
        return next((entry for entry in self.checks if entry.name in ours), None)

    def is_true(self, condition: str) -> bool:
        """Tell whether a condition stands at True."""
        found = self.conditions.get(condition)
        return found is not None and found.status == "True"


@dataclass(frozen=True, slots=True)
class ReplicaRecord:
    """A Workload on a worker that carries our origin."""

    namespace: str
    name: str
    uid: str
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
    gate_entries: tuple[Obj, ...]
    finalizers: tuple[str, ...]
    shape: SpecShape
    topology: frozenset[str] = frozenset()
    """Pod sets that have a topology assignment."""
    deleted: bool = False
    born_gated: bool = False
    is_variant: bool = False
    """One of the variants that the worker's Kueue made of a replica of ours: it bears our marks and is not ours."""
    has_variants: bool = False

    @property
    def is_finished(self) -> bool:
        """Tell whether the worker is done with it."""
        finished = self.conditions.get("Finished")
        return finished is not None and finished.status == "True"


def hub_record(raw: Obj, kinds: Container[str] = ()) -> HubRecord:
    """Read a hub Workload; `kinds` are the kinds of jobs that are taken. Raises ValueError for what makes no sense."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    annotations = metadata.get("annotations") or {}
    conds = conditions(status)
    checks = tuple(_check_entry(entry) for entry in status.get("admissionChecks") or ())
    finished = "Finished" in conds and conds["Finished"].status == "True"
    may_be_copied = bool(checks) and not finished
    created = metadata.get("creationTimestamp")
    return HubRecord(
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=metadata.get("generation") or 0,
        conditions=conds,
        condition_order=_order(status),
        checks=checks,
        deleted=bool(metadata.get("deletionTimestamp")),
        created_ns=parse_time(created) if created else 0,
        queue=sys.intern(str(spec.get("queueName") or "")),
        cluster_queue=str((status.get("admission") or {}).get("clusterQueue") or ""),
        cluster_name=status.get("clusterName") or "",
        nominated=tuple(status.get("nominatedClusterNames") or ()),
        openings=parse_openings(annotations.get(marks.GATE_OPENINGS)),
        winner=parse_winner(annotations.get(marks.WINNER)),
        round_started_ns=_whole(annotations, marks.ROUND_STARTED),
        forecast=parse_record(annotations.get(marks.FORECAST)),
        out_of_sync=_out_of_sync(annotations),
        owner=_owner(metadata, annotations, kinds),
        component_index=_whole(annotations, marks.COMPONENT_INDEX),
        elastic=annotations.get(marks.ELASTIC) == "true",
        replaces_slice=marks.REPLACED_SLICE in annotations,
        assignments=_assignments(status),
        shape=spec_shape(spec) if may_be_copied else None,
        kueue_wrote=_last_write(metadata, MULTIKUEUE_NAME),
        document=_document(metadata, spec) if may_be_copied else b"",
    )


def _last_write(metadata: Obj, manager: str) -> str:
    """Return the time of a field manager's last write; the API server writes all times in one form, so they compare."""
    entries = metadata.get("managedFields") or ()
    return max((str(entry.get("time") or "") for entry in entries if entry.get("manager") == manager), default="")


def replica_record(raw: Obj) -> ReplicaRecord:
    """Read a Workload on a worker; raises ValueError for what makes no sense."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    annotations = metadata.get("annotations") or {}
    entries = status.get("preemptionGates") or []
    created = metadata.get("creationTimestamp")
    return ReplicaRecord(
        namespace=metadata.get("namespace") or "",
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=metadata.get("generation") or 0,
        created_ns=parse_time(created) if created else 0,
        origin=marks.origin_of(metadata),
        hub=marks.hub_of(metadata),
        hub_uid=marks.hub_uid_of(metadata),
        born_from=str(annotations.get(marks.SPEC_DIGEST) or ""),
        born_gated=annotations.get(marks.GATED) == "true",
        conditions=conditions(status),
        condition_order=_order(status),
        spec_gates=tuple(str(gate["name"]) for gate in spec.get("preemptionGates") or ()),
        gate_entries=tuple(dict(entry) for entry in entries),
        finalizers=tuple(metadata.get("finalizers") or ()),
        shape=spec_shape(spec),
        topology=frozenset(entry.name for entry in _assignments(status) if entry.has_topology),
        deleted=bool(metadata.get("deletionTimestamp")),
        is_variant=_is_variant(metadata),
        has_variants=(metadata.get("labels") or {}).get(marks.CONCURRENT_PARENT) == "true",
    )


def _is_variant(metadata: Obj) -> bool:
    """Concurrent admission copies labels and annotations of a Workload to its variants, which it owns."""
    owners = metadata.get("ownerReferences") or ()
    return any(owner.get("kind") == "Workload" and _group(owner) == KUEUE_GROUP for owner in owners)


def _group(owner: Obj) -> str:
    return str(owner.get("apiVersion") or "").partition("/")[0]


def _order(status: Obj) -> tuple[str, ...]:
    return tuple(str(entry["type"]) for entry in status.get("conditions") or ())


def _check_entry(entry: Obj) -> CheckEntry:
    state = CheckState(entry.get("state") or CheckState.PENDING)
    return CheckEntry(str(entry["name"]), state, str(entry.get("message") or ""), int(entry.get("retryCount") or 0))


def _owner(metadata: Obj, annotations: Mapping[str, str], kinds: Container[str]) -> Owner | None:
    """Choose the owner that says how to run the Workload; annotations come first if they name a kind that is taken."""
    gvk, name = annotations.get(marks.JOB_OWNER_GVK) or "", annotations.get(marks.JOB_OWNER_NAME) or ""
    if name and gvk in kinds:
        api_version, _, kind = gvk.partition(", Kind=")
        return Owner(api_version, kind, name)
    references = metadata.get("ownerReferences") or []
    chosen = next((each for each in references if each.get("controller")), references[0] if references else None)
    if chosen is None:
        return None
    return Owner(str(chosen["apiVersion"]), str(chosen["kind"]), str(chosen["name"]), str(chosen.get("uid") or ""))


def _assignments(status: Obj) -> tuple[PodSetAssignment, ...]:
    return tuple(
        PodSetAssignment(
            str(entry.get("name") or "main"),
            bool(entry.get("topologyAssignment")),
            entry.get("delayedTopologyRequest") == "Pending",
        )
        for entry in (status.get("admission") or {}).get("podSetAssignments") or ()
    )


def _document(metadata: Obj, spec: Obj) -> bytes:
    kept = {"labels": metadata.get("labels") or {}, "annotations": metadata.get("annotations") or {}, "spec": spec}
    return orjson.dumps(kept)


def _whole(annotations: Mapping[str, str], name: str) -> int | None:
    text = annotations.get(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"annotation {name} is {text!r}: expected a whole number") from None


def _out_of_sync(annotations: Mapping[str, str]) -> dict[str, OutOfSync]:
    text = annotations.get(marks.OUT_OF_SYNC)
    if not text:
        return {}
    try:
        found = json.loads(text).items()
        return {str(name): OutOfSync(int(entry["count"]), str(entry["replicaUID"])) for name, entry in found}
    except (AttributeError, LookupError, TypeError, ValueError):
        message = f"annotation {marks.OUT_OF_SYNC} is {text!r}: expected {{worker: {{count, replicaUID}}}}"
        raise ValueError(message) from None
