"""The status that Kueue writes on a workload at each change of its state, as the new status beside the old one.

Pure functions from a raw Workload to a raw status; which change it is was decided elsewhere. What is written is what
Kueue v0.19.1 writes, observable details included. Nothing is copied that does not change.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.api.meta import NANOSECONDS, Condition, ObjectKey, conditions, format_time, object_key
from config.api.quantity import format_request
from engine.reporting import status as written
from engine.reporting.status import WorkloadEvent
from engine.requests.requests import WorkloadRequest
from engine.search.gating import CLOSED
from engine.topology.wire import encode
from engine.vocabulary.assignment import Assignment, PodSetAssignment
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.gate_dialect import GateDialect
from engine.vocabulary.messages import PreemptionReason, check_reset_message
from engine.vocabulary.topology import DelayedTopology

Status = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StatusWrite:
    """A status to write, fenced by the version that it was computed from, and the events that go with it."""

    key: ObjectKey
    uid: str
    resource_version: str
    before: Status
    after: Status
    events: tuple[WorkloadEvent, ...] = ()

    @property
    def changes_status(self) -> bool:
        """Return whether there is anything to write besides events."""
        return self.before != self.after

    @property
    def changed_conditions(self) -> tuple[Condition, ...]:
        """The conditions whose status, reason or message is new, sorted by type."""
        before, after = conditions({"status": self.before}), conditions({"status": self.after})
        return tuple(after[name] for name in sorted(after) if _said(before.get(name)) != _said(after[name]))

    def merge_patch(self) -> dict[str, Any]:
        """Return the write as a JSON merge patch of the status subresource, which fails if the object is another."""
        metadata = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {
            "metadata": {name: value for name, value in metadata.items() if value},
            "status": _merge_patch(self.before, self.after),
        }


def write(raw: Mapping[str, Any], after: Status, events: Iterable[WorkloadEvent] = ()) -> StatusWrite:
    """Return the write that gives a raw Workload a new status."""
    metadata = raw["metadata"]
    uid, version = metadata.get("uid") or "", metadata.get("resourceVersion") or ""
    return StatusWrite(object_key(raw), uid, version, raw.get("status") or {}, after, tuple(events))


def with_status(raw: Mapping[str, Any], after: Status) -> dict[str, Any]:
    """Return the Workload after the write."""
    return {**raw, "status": after}


def refused_status(
    raw: Mapping[str, Any], condition: Condition, request: WorkloadRequest, now_ns: int, gates: FeatureGates
) -> Status:
    """Return the status of a workload that was tried and not admitted."""
    after = _without(_with_conditions(raw, unreserved(raw, condition, now_ns, gates)), "admission")
    requests = [
        {"name": pod_set.name, "resources": _formatted(pod_set.requests, pod_set.requests)}
        for pod_set in request.pod_sets
    ]
    return after if after.get("resourceRequests") == requests else {**after, "resourceRequests": requests}


def gated_status(
    raw: Mapping[str, Any], refused: Status, now_ns: int, dialect: GateDialect = GateDialect.KUEUE
) -> Status:
    """Return the status of a workload that would preempt, were its gate open; `refused` is what it would be otherwise.

    Where the signal stands already, Kueue writes nothing at all, even if something else is to be said.
    """
    signal = written.blocked_on_gates(now_ns, generation_of(raw), dialect.signal)
    before = conditions(raw)
    if written.put(before, signal) == before:
        return raw.get("status") or {}
    return _with_conditions({"status": refused}, written.put(conditions({"status": refused}), signal))


def reserved_status(
    raw: Mapping[str, Any],
    cluster_queue: str,
    assignment: Assignment,
    checks: Iterable[str],
    now_ns: int,
    gates: FeatureGates,
) -> Status:
    """Return the status of a workload that gets quota; `checks` are those that it must pass for its flavors."""
    generation = generation_of(raw)
    after = written.reserve_quota(conditions(raw), cluster_queue, now_ns, generation)
    states = {check.get("name"): check.get("state") for check in _list(raw, "admissionChecks")}
    is_ready = all(state == "Ready" for state in states.values())
    is_placed = not any(pod_set.delayed_topology is DelayedTopology.PENDING for pod_set in assignment.pod_sets)
    is_ready = is_ready and is_placed
    if set(checks) <= states.keys() and (is_ready or gates.unadmitted_workloads_observability):
        condition = written.admitted if is_ready else written.awaits_checks
        after = written.put(after, condition(now_ns, generation))
    pod_sets = [
        {
            "name": pod_set.name,
            "flavors": {resource: choice.flavor for resource, choice in pod_set.flavors.items()},
            "resourceUsage": _formatted(pod_set.requests, pod_set.flavors),
            "count": pod_set.count,
            **_topology(pod_set, gates),
        }
        for pod_set in assignment.pod_sets
    ]
    admission = {"clusterQueue": cluster_queue, "podSetAssignments": pod_sets}
    return {**_without(_with_conditions(raw, after), "resourceRequests"), "admission": admission}


def _topology(pod_set: PodSetAssignment, gates: FeatureGates) -> dict[str, Any]:
    """Return where the pods of a pod set go, as far as it was decided."""
    found: dict[str, Any] = {}
    if pod_set.topology is not None:
        by_prefix = gates.tas_assignments_encoding_by_hostname_prefix
        found["topologyAssignment"] = encode(pod_set.topology, by_hostname_prefix=by_prefix)
    if pod_set.delayed_topology is not None:
        found["delayedTopologyRequest"] = str(pod_set.delayed_topology)
    return found


@dataclass(frozen=True, slots=True)
class Eviction:
    """Why a workload is told to go."""

    reason: str
    message: str
    cause: str = ""
    """What led to a deactivation."""


def preempted_status(
    raw: Mapping[str, Any],
    reason: PreemptionReason,
    message: str,
    now_ns: int,
    dialect: GateDialect = GateDialect.KUEUE,
) -> Status:
    """Return the status of a victim."""
    after = written.put(conditions(raw), written.preempted(reason, message, now_ns))
    victim = with_status(raw, _with_conditions(raw, after))
    return evicted_status(victim, Eviction(written.PREEMPTED, message), now_ns, dialect)


def evicted_status(
    raw: Mapping[str, Any], eviction: Eviction, now_ns: int, dialect: GateDialect = GateDialect.KUEUE
) -> Status:
    """Return the status of a workload that is told to go: its gates close, but it keeps its quota until it has."""
    reason = f"{eviction.reason}DueTo{eviction.cause}" if eviction.cause else eviction.reason
    after = written.evict(conditions(raw), reason, eviction.message, now_ns, generation_of(raw))
    result = _without(_with_conditions(raw, after), "clusterName", "nominatedClusterNames", "unhealthyNodes")
    time = format_time(now_ns)
    if "admissionChecks" in result:
        result = {**result, "admissionChecks": [_reset_check(check, time) for check in result["admissionChecks"]]}
    if "preemptionGates" in result:
        closed = {dialect.state_field: CLOSED, "lastTransitionTime": time}
        result = {**result, "preemptionGates": [{**gate, **closed} for gate in result["preemptionGates"]]}
    return {**result, "schedulingStats": _count_eviction(result.get("schedulingStats") or {}, eviction)}


def released_status(raw: Mapping[str, Any], now_ns: int, gates: FeatureGates) -> Status:
    """Return the status of an evicted workload whose job has stopped."""
    before = conditions(raw)
    eviction, generation = before[written.EVICTED], generation_of(raw)
    is_pod_owned = gates.skip_reassignment_for_pod_owned_workloads and written.is_owned_by_single_pod(raw)
    requeued = written.requeued(eviction, now_ns, generation, is_pod_owned=is_pod_owned)
    pending = written.UnadmittedReason.PENDING_EVALUATION
    condition = written.quota_not_reserved(eviction.message, now_ns, generation, gates, pending)
    after = unreserved(raw, condition, now_ns, gates)
    result = _without(_with_conditions(raw, written.put(after, requeued)), "admission")
    admitted = before.get(written.ADMITTED)
    if admitted is None or not admitted.is_true:
        return result
    seconds = (now_ns - admitted.last_transition_ns) // NANOSECONDS
    return {
        **result,
        "accumulatedPastExecutionTimeSeconds": result.get("accumulatedPastExecutionTimeSeconds", 0) + seconds,
    }


def unreserved(raw: Mapping[str, Any], condition: Condition, now_ns: int, gates: FeatureGates) -> dict[str, Condition]:
    """Return the conditions of a workload without quota: QuotaReserved as given, and Admitted in line with it."""
    after = written.put(conditions(raw), condition)
    admitted = after.get(written.ADMITTED)
    if gates.unadmitted_workloads_observability or (admitted is not None and admitted.is_true):
        ready = all(check.get("state") == "Ready" for check in _list(raw, "admissionChecks"))
        lost = written.not_admitted(now_ns, generation_of(raw), gates, all_checks_ready=ready)
        after = written.put(after, lost)
    return after


def status_with(raw: Mapping[str, Any], changed: Mapping[str, Condition]) -> Status:
    """Return the status with these conditions in place of the old ones."""
    return _with_conditions(raw, changed)


def generation_of(raw: Mapping[str, Any]) -> int:
    """Return the generation of the object."""
    return int(raw["metadata"].get("generation") or 0)


def _with_conditions(raw: Mapping[str, Any], after: Mapping[str, Condition]) -> dict[str, Any]:
    """Return the status with other conditions; those that did not change stay as they are written."""
    status = raw.get("status") or {}
    before = conditions(raw)
    entries = {entry["type"]: entry for entry in status.get("conditions") or ()}
    for name, condition in after.items():
        if before.get(name) != condition:
            entries[name] = _entry(condition)
    return {**status, "conditions": list(entries.values())} if entries else dict(status)


def _entry(condition: Condition) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": format_time(condition.last_transition_ns),
    }
    if condition.observed_generation:
        entry["observedGeneration"] = condition.observed_generation
    return entry


def _formatted(amounts: Mapping[str, int], resources: Iterable[str]) -> dict[str, str]:
    return {resource: format_request(resource, amounts[resource]) for resource in resources if resource in amounts}


def _without(status: Status, *fields: str) -> dict[str, Any]:
    return {name: value for name, value in status.items() if name not in fields}


def _list(raw: Mapping[str, Any], field: str) -> Sequence[Mapping[str, Any]]:
    return (raw.get("status") or {}).get(field) or ()


def _reset_check(check: Mapping[str, Any], time: str) -> Mapping[str, Any]:
    state = check.get("state") or ""
    if state == "Pending":
        return check
    reset = {"name": check["name"], "state": "Pending", "message": check_reset_message(state)}
    reset["lastTransitionTime"] = time
    if check.get("requeueAfterSeconds") is not None:
        reset["requeueAfterSeconds"] = check["requeueAfterSeconds"]
    if state == "Retry":
        reset["retryCount"] = (check.get("retryCount") or 0) + 1
    return reset


def _count_eviction(stats: Mapping[str, Any], eviction: Eviction) -> dict[str, Any]:
    evictions = [dict(entry) for entry in stats.get("evictions") or ()]
    for entry in evictions:
        if entry.get("reason") == eviction.reason and (entry.get("underlyingCause") or "") == eviction.cause:
            entry["count"] = entry.get("count", 0) + 1
            break
    else:
        evictions.append({"reason": eviction.reason, "underlyingCause": eviction.cause, "count": 1})
    return {**stats, "evictions": evictions}


def _said(condition: Condition | None) -> tuple[str, str, str] | None:
    return None if condition is None else (condition.status, condition.reason, condition.message)


def _merge_patch(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    patch: dict[str, Any] = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            inner = _merge_patch(old, value)
            if inner:
                patch[name] = inner
        elif name not in before or old != value:
            patch[name] = value
    return patch
