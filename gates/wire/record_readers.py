"""Workloads as clusters send them, read into records; raises `UnusableFieldError` for what has an odd shape."""

import sys
from collections.abc import Container, Mapping
from typing import Final

from config.api.identifiers import ReplicaUID, WorkerName
from config.api.meta import Obj
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from gates.model import marks
from gates.model.dialect import gate_entries
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
from gates.model.hub_workload import CheckState
from gates.model.shape import DEFAULT_POD_SET, MOST_PODS, spec_shape
from gates.targets.rules import target_annotations
from gates.wire.eligibility import queue_eligibility
from gates.wire.own_records import OwnRecords
from gates.wire.records import CheckEntry, HubRecord, Owner, RecordedAssignment, ReplicaRecord

_STATES: Final = frozenset(CheckState)


_MOST_OWNERS: Final = 10_000
"""Every pod of a group owns its Workload."""


_HIGHEST_PRIORITY: Final = 2**31


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
        priority=_priority(spec),
        cluster_queue=text(block(status, "admission", "status"), "clusterQueue", "status.admission"),
        cluster_name=WorkerName(text(status, "clusterName", "status")),
        nominated=tuple(WorkerName(name) for name in texts(status, "nominatedClusterNames", "status")),
        openings=ours.openings,
        winner=ours.winner,
        round_started_ns=ours.round_started_ns,
        forecast=ours.forecast,
        out_of_sync=ours.out_of_sync,
        targets=target_annotations(annotations),
        unreadable=ours.problems,
        eligibility=queue_eligibility(metadata, spec, status),
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


def _priority(spec: Obj) -> int:
    value = spec.get("priority")
    return value if type(value) is int and abs(value) <= _HIGHEST_PRIORITY else 0


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
            tuple(sorted((name, str(amount)) for name, amount in block(entry, "resourceUsage", place).items())),
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
