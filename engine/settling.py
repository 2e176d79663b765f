"""What Kueue's workload controller writes on a waiting workload when it looks at it, apart from the scheduler.

It closes preemption gates that have no state yet, ends a back-off whose time is over, and says which workloads have no
queue to wait in. Invariant: looking again at what was written writes nothing.
"""

from collections.abc import Mapping
from typing import Any

from config.api.meta import Condition, conditions, format_time, parse_time
from engine import status as written
from engine.features import FeatureGates
from engine.gating import CLOSED
from engine.messages import FAILED_ADMISSION_CHECKS, local_queue_inactive, local_queue_missing
from engine.model import ClusterModel
from engine.queueing import Refusal, enter_as_head, find_queue
from engine.status import UnadmittedReason
from engine.status_writes import GateDialect, Status, generation_of, status_with, unreserved, with_status
from engine.workloads import ADMISSION_GATED_BY, IdleWorkload, PendingWorkload

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
    """Return the status of a workload without quota after the controller has looked at it."""
    gates = model.configuration.gates
    if gates.multi_kueue_orchestrated_preemption:
        raw = with_status(raw, _with_gate_states(raw, now_ns, dialect))
    if _is_backing_off(raw, now_ns):
        return raw.get("status") or {}
    raw = with_status(raw, _without_backoff(raw, now_ns))
    if gates.admission_gated_by:
        condition = _admission_gate_condition(raw, now_ns, gates)
        if condition is not None:
            return status_with(raw, unreserved(raw, condition, now_ns, gates))
    if isinstance(workload, IdleWorkload):
        return raw.get("status") or {}
    condition = _blocking_condition(model, workload, raw, now_ns)
    if condition is not None:
        return status_with(raw, unreserved(raw, condition, now_ns, gates))
    return _with_admitted_in_line(raw, now_ns, gates)


def _admission_gate_condition(raw: Mapping[str, Any], now_ns: int, gates: FeatureGates) -> Condition | None:
    """Return what is said when the annotation that keeps a workload out of the queues appears or goes."""
    gated_by = (raw["metadata"].get("annotations") or {}).get(ADMISSION_GATED_BY)
    known = conditions(raw).get(written.QUOTA_RESERVED)
    is_told = known is not None and known.reason == UnadmittedReason.ADMISSION_GATED
    if bool(gated_by) == is_told:
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


def _with_gate_states(raw: Mapping[str, Any], now_ns: int, dialect: GateDialect) -> Status:
    """Close every gate that has no state, and forget the state of gates that are gone."""
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


def _is_backing_off(raw: Mapping[str, Any], now_ns: int) -> bool:
    requeue_at = ((raw.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return bool(requeue_at) and parse_time(requeue_at) > now_ns


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
    if isinstance(queue, Refusal):
        return UnadmittedReason.MISCONFIGURED, queue.message
    if not queue.is_active:
        refusal = enter_as_head(model, workload)
        if isinstance(refusal, Refusal):
            return UnadmittedReason.SUSPENDED, refusal.message
    return None


def _detailed_condition(
    model: ClusterModel, workload: PendingWorkload, raw: Mapping[str, Any], now_ns: int
) -> Condition | None:
    gates, generation = model.configuration.gates, generation_of(raw)
    known = conditions(raw).get(written.QUOTA_RESERVED)
    entry = enter_as_head(model, workload)
    if isinstance(entry, Refusal) and entry.message != FAILED_ADMISSION_CHECKS:
        misconfigured = UnadmittedReason.MISCONFIGURED
        return written.quota_not_reserved(entry.message, now_ns, generation, gates, misconfigured)
    if known is None and not gates.unadmitted_workloads_explicit_status:
        return None
    if known is not None and known.reason in _SET_BY_SCHEDULER:
        return Condition(known.type, "False", known.reason, known.message, now_ns, generation)
    pending = UnadmittedReason.PENDING_EVALUATION
    return written.quota_not_reserved(_PENDING_EVALUATION, now_ns, generation, gates, pending)
