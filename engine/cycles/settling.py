"""What Kueue's workload controller writes on a waiting workload when it reconciles it, apart from the scheduler.

It closes preemption gates that have no state yet, ends a back-off whose time is over, and says which workloads have no
queue to wait in. Invariant: reconciling what was written writes nothing.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from config.api.meta import NANOSECONDS, ZERO_TIME_NS, Condition, conditions, format_time, parse_time
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import QueueRefusal, enter_as_head, find_queue
from engine.objects.workloads import ADMISSION_GATED_BY, IdleWorkload, PendingWorkload
from engine.reporting import status as written
from engine.reporting.status import UnadmittedReason
from engine.reporting.status_writes import Status, generation_of, status_with, unreserved, with_status
from engine.requests.limit_ranges import NO_LIMIT_RANGES
from engine.requests.requests import workload_request
from engine.requests.resource_checks import outside_limit_ranges
from engine.search.gating import CLOSED
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.gate_dialect import GateDialect
from engine.vocabulary.messages import local_queue_inactive, local_queue_missing

_PENDING_EVALUATION = "Workload is pending evaluation in the scheduling queue"
_GATE_CLEARED = "AdmissionGatedBy cleared, waiting for quota reservation"
_SET_BY_SCHEDULER = frozenset(
    {
        UnadmittedReason.WAITING_FOR_QUOTA,
        UnadmittedReason.NO_MATCHING_FLAVOR,
        UnadmittedReason.EXCEEDS_MAX_QUOTA,
        UnadmittedReason.TOPOLOGY_PLACEMENT_FAILED,
        UnadmittedReason.WAITING_FOR_PREEMPTED_WORKLOADS,
        UnadmittedReason.PENDING_EVALUATION,
        "WaitingForPodsReady",
    }
)
_ENDED_BY_TIME = ("PodsReadyTimeout", "AdmissionCheck")


def settled_status(
    model: ClusterModel,
    workload: PendingWorkload | IdleWorkload,
    raw: Mapping[str, Any],
    now_ns: int,
    dialect: GateDialect = GateDialect.KUEUE,
) -> Status:
    """Return the status of a workload without quota after the controller has reconciled it."""
    gates = model.configuration.gates
    if gates.multi_kueue_orchestrated_preemption:
        raw = with_status(raw, status_with_gates(raw, now_ns, dialect))
    waiting = _backoff_status(raw, now_ns)
    if waiting is not None:
        return waiting
    condition = _admission_gate_condition(raw, now_ns, gates) if gates.admission_gated_by else None
    if condition is not None:
        return status_with(raw, unreserved(raw, condition, now_ns, gates))
    if isinstance(workload, IdleWorkload):
        return raw.get("status") or {}
    checked = _checks_status(model, workload, raw, now_ns)
    if checked is not None:
        return checked
    condition = _blocking_condition(model, workload, raw, now_ns)
    if condition is not None:
        return status_with(raw, unreserved(raw, condition, now_ns, gates))
    return _with_admitted_in_line(raw, now_ns, gates)


def status_with_gates(raw: Mapping[str, Any], now_ns: int, dialect: GateDialect) -> Status:
    """Return the status with a state for every gate: closed where there was none, forgotten where the gate is gone."""
    status = raw.get("status") or {}
    names = [gate["name"] for gate in (raw.get("spec") or {}).get("preemptionGates") or ()]
    before = status.get("preemptionGates") or []
    after = [state for state in before if state.get("name") in names]
    known = {state.get("name") for state in after}
    time = format_time(now_ns)
    after.extend(
        {"name": name, dialect.state_field: CLOSED, "lastTransitionTime": time} for name in names if name not in known
    )
    return status if after == before else {**status, "preemptionGates": after}


def _backoff_status(raw: Mapping[str, Any], now_ns: int) -> Status | None:
    """Return the status of a workload whose time has to come or has just come, None if it waits for no time."""
    status = raw.get("status") or {}
    state = status.get("requeueState") or {}
    requeue_at = parse_time(state["requeueAt"]) if state.get("requeueAt") else ZERO_TIME_NS
    retry_ns = max(map(_retry_time, status.get("admissionChecks") or ()), default=ZERO_TIME_NS)
    if retry_ns > max(now_ns, requeue_at):
        return {**status, "requeueState": {**state, "requeueAt": format_time(retry_ns)}}
    if requeue_at > now_ns:
        return status
    ended = _without_backoff(raw, now_ns)
    return None if ended == status else ended


def _retry_time(check: Mapping[str, Any]) -> int:
    after, since = check.get("requeueAfterSeconds"), check.get("lastTransitionTime")
    if check.get("state") != "Retry" or after is None or not since:
        return ZERO_TIME_NS
    return parse_time(since) + int(after) * NANOSECONDS


def _checks_status(
    model: ClusterModel, workload: PendingWorkload, raw: Mapping[str, Any], now_ns: int
) -> Status | None:
    """Return the status with a state for every check that all flavors of the ClusterQueue ask for, and no other."""
    queue = find_queue(model, workload)
    local_queue = model.local_queue(workload.key.namespace, workload.local_queue)
    if isinstance(queue, QueueRefusal) or local_queue is None or local_queue.is_stopped:
        return None
    flavors = set(queue.existing_spec.flavors)
    rules = queue.existing_spec.admission_checks
    wanted = sorted(name for name, on_flavors in rules.items() if not on_flavors or on_flavors >= flavors)
    status = raw.get("status") or {}
    known = {check.get("name"): check for check in status.get("admissionChecks") or ()}
    if known.keys() == set(wanted):
        return None
    new = {"state": "Pending", "message": "", "lastTransitionTime": format_time(now_ns)}
    states = [known.get(name) or {"name": name, **new} for name in wanted]
    others = {name: value for name, value in status.items() if name != "admissionChecks"}
    return {**others, "admissionChecks": states} if states else others


def _admission_gate_condition(raw: Mapping[str, Any], now_ns: int, gates: FeatureGates) -> Condition | None:
    """Return what is said when the annotation that keeps a workload out of the queues appears or goes."""
    gated_by = (raw["metadata"].get("annotations") or {}).get(ADMISSION_GATED_BY)
    known = conditions(raw).get(written.QUOTA_RESERVED)
    is_reported = known is not None and known.reason == UnadmittedReason.ADMISSION_GATED
    if bool(gated_by) == is_reported:
        return None
    generation = generation_of(raw)
    if not gated_by:
        pending = UnadmittedReason.PENDING_EVALUATION
        return written.quota_not_reserved(_GATE_CLEARED, now_ns, generation, gates, pending)
    message, reason = f"Admission is gated by: {gated_by}", UnadmittedReason.ADMISSION_GATED
    return Condition(written.QUOTA_RESERVED, "False", reason.value, message, now_ns, generation)


def _with_admitted_in_line(raw: Mapping[str, Any], now_ns: int, gates: FeatureGates) -> Status:
    known = conditions(raw)
    reserved = known.get(written.QUOTA_RESERVED)
    if reserved is None:
        return raw.get("status") or {}
    return status_with(raw, unreserved(raw, reserved, now_ns, gates))


def _without_backoff(raw: Mapping[str, Any], now_ns: int) -> Status:
    status = raw.get("status") or {}
    state = status.get("requeueState") or {}
    if "requeueAt" in state:
        status = {**status, "requeueState": {name: value for name, value in state.items() if name != "requeueAt"}}
    known = conditions(raw)
    requeued = known.get(written.REQUEUED)
    if requeued is None or requeued.status != "False" or requeued.reason not in _ENDED_BY_TIME:
        return status
    message = "The workload backoff was finished"
    over = Condition(written.REQUEUED, "True", "BackoffFinished", message, now_ns, generation_of(raw))
    return status_with({"status": status}, written.put(known, over))


def _blocking_condition(
    model: ClusterModel, workload: PendingWorkload, raw: Mapping[str, Any], now_ns: int
) -> Condition | None:
    """Return QuotaReserved=False with what keeps the workload out of every queue, None if nothing does."""
    gates = model.configuration.gates
    blocker = _queue_blocker(model, workload)
    if blocker is not None:
        reason, message = blocker
        return written.queue_blocked(message, now_ns, generation_of(raw), gates, reason)
    if not gates.unadmitted_workloads_observability:
        return None
    return _detailed_condition(model, workload, raw, now_ns)


def _queue_blocker(model: ClusterModel, workload: PendingWorkload) -> tuple[UnadmittedReason, str] | None:
    local_queue = model.local_queue(workload.key.namespace, workload.local_queue)
    if local_queue is None:
        return UnadmittedReason.MISCONFIGURED, local_queue_missing(workload.local_queue)
    if local_queue.is_stopped:
        return UnadmittedReason.SUSPENDED, local_queue_inactive(workload.local_queue)
    queue = find_queue(model, workload)
    if isinstance(queue, QueueRefusal):
        return UnadmittedReason.MISCONFIGURED, queue.message
    if not queue.is_active:
        refusal = enter_as_head(model, workload)
        if isinstance(refusal, QueueRefusal):
            return UnadmittedReason.SUSPENDED, refusal.message
    return None


def _detailed_condition(
    model: ClusterModel, workload: PendingWorkload, raw: Mapping[str, Any], now_ns: int
) -> Condition | None:
    gates, generation = model.configuration.gates, generation_of(raw)
    known = conditions(raw).get(written.QUOTA_RESERVED)
    wrong = _misconfiguration(model, workload, raw)
    if wrong is not None:
        misconfigured = UnadmittedReason.MISCONFIGURED
        return written.quota_not_reserved(wrong, now_ns, generation, gates, misconfigured)
    if known is None and not gates.unadmitted_workloads_explicit_status:
        return None
    if known is not None and known.reason in _SET_BY_SCHEDULER:
        return Condition(known.type, "False", known.reason, known.message, now_ns, generation)
    pending = UnadmittedReason.PENDING_EVALUATION
    return written.quota_not_reserved(_PENDING_EVALUATION, now_ns, generation, gates, pending)


def _misconfiguration(model: ClusterModel, workload: PendingWorkload, raw: Mapping[str, Any]) -> str | None:
    """Return why the workload could not be nominated; unlike the scheduler, the controller adjusts no resources."""
    namespace = workload.key.namespace
    entry = enter_as_head(model, workload)
    if isinstance(entry, QueueRefusal) and entry.is_about_namespace:
        return entry.message
    context = model.request_context(namespace)
    request = workload_request(raw, replace(context, limit_ranges=NO_LIMIT_RANGES, runtime_overheads={}))
    return request.inadmissible or outside_limit_ranges(request.pods, context.limit_ranges)
