"""What Kueue's workload controller writes on a Workload besides what the scheduler writes.

Pure: one reconcile of a Workload gives at most one change, and writing it causes the next reconcile. Invariant: after
the last one, at the same time, a reconcile changes nothing. Order and wording are Kueue v0.19.1's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from config.api.meta import NANOSECONDS, ZERO_TIME_NS, Condition, Raw, conditions, format_time, is_true, parse_time
from engine.cycles.object_events import WorkloadPhase
from engine.cycles.settling import status_with_gates
from engine.reporting import status as written
from engine.reporting.status_writes import Eviction, Status, evicted_status, generation_of, status_with, with_status
from engine.vocabulary.messages import cut_for_condition
from localcluster.kueue.profile import KueueProfile

DEACTIVATION_TARGET: Final = "DeactivationTarget"
DEACTIVATED: Final = "Deactivated"

_LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
_CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
_DRAIN: Final = "HoldAndDrain"


@dataclass(frozen=True, slots=True)
class WorkloadContext:
    """What a reconcile of a Workload takes into account besides it."""

    profile: KueueProfile
    now_ns: int
    local_queue: Raw | None = None
    cluster_queue: Raw | None = None


def wants_deactivation(raw: Raw) -> bool:
    """Return whether deactivation of the Workload was requested and is still to be done."""
    return _is_active(raw) and not is_finished(raw) and is_true(conditions(raw), DEACTIVATION_TARGET)


def is_finished(raw: Raw) -> bool:
    """Return whether the Workload is over."""
    return WorkloadPhase.of(raw) is WorkloadPhase.FINISHED


def next_status(raw: Raw, around: WorkloadContext) -> Status | None:
    """Return the status after the next change, None if the workload controller has nothing to change."""
    before = raw.get("status") or {}
    return next((after for after in _changes(raw, around) if after is not None and after != before), None)


def _changes(raw: Raw, around: WorkloadContext) -> Iterator[Status | None]:
    """Yield what each rule would write; the first that makes a difference is written."""
    if around.profile.honours_gates:
        yield status_with_gates(raw, around.now_ns, around.profile.dialect)
    if is_finished(raw):
        return
    yield _with_retry_time(raw, around)
    if not _is_active(raw):
        yield _deactivated(raw, around)
        return
    yield _requeued(raw, around)
    if WorkloadPhase.of(raw).holds_quota:
        yield _with_checks(raw, around)
        yield _admitted(raw, around)
        yield _judged_by_checks(raw, around)
        yield _drained(raw, around)


def _with_retry_time(raw: Raw, around: WorkloadContext) -> Status | None:
    """Note until when a check that wants to be retried makes the Workload wait."""
    status = raw.get("status") or {}
    state = status.get("requeueState") or {}
    requeue_at = parse_time(state["requeueAt"]) if state.get("requeueAt") else ZERO_TIME_NS
    retry_ns = max(map(_retry_time, _checks(raw)), default=ZERO_TIME_NS)
    if retry_ns <= max(around.now_ns, requeue_at):
        return None
    return {**status, "requeueState": {**state, "requeueAt": format_time(retry_ns)}}


def _retry_time(check: Raw) -> int:
    after, since = check.get("requeueAfterSeconds"), check.get("lastTransitionTime")
    if check.get("state") != "Retry" or after is None or not since:
        return ZERO_TIME_NS
    return parse_time(since) + int(after) * NANOSECONDS


def _deactivated(raw: Raw, around: WorkloadContext) -> Status | None:
    known = conditions(raw)
    status = {name: value for name, value in (raw.get("status") or {}).items() if name != "requeueState"}
    target = known.get(DEACTIVATION_TARGET)
    if is_true(known, written.EVICTED):
        return status if "requeueState" in (raw.get("status") or {}) else None
    message, cause = "The workload is deactivated", ""
    if target is not None:
        message, cause = f"{message} due to {target.message}", target.reason
        others = [entry for entry in status["conditions"] if entry["type"] != DEACTIVATION_TARGET]
        status = {**status, "conditions": others}
    return _evicted(with_status(raw, status), Eviction(DEACTIVATED, message, cause), around)


def _requeued(raw: Raw, around: WorkloadContext) -> Status | None:
    """Let a Workload queue again whose reason to stay out is gone."""
    known = conditions(raw)
    requeued = known.get(written.REQUEUED)
    if requeued is None or requeued.status != "False":
        return None
    texts = {DEACTIVATED: ("Reactivated", "The workload was reactivated")}
    if _stop_policy(around.local_queue) == "None":
        texts[_LOCAL_QUEUE_STOPPED] = "LocalQueueRestarted", "The LocalQueue was restarted after being stopped"
    if _stop_policy(around.cluster_queue) == "None":
        texts[_CLUSTER_QUEUE_STOPPED] = "ClusterQueueRestarted", "The ClusterQueue was restarted after being stopped"
    if requeued.reason not in texts:
        return None
    again = Condition(written.REQUEUED, "True", *texts[requeued.reason], around.now_ns, generation_of(raw))
    return status_with(raw, written.put(known, again))


def _with_checks(raw: Raw, around: WorkloadContext) -> Status | None:
    """Give every check that the assigned flavors ask for a state, and drop the others."""
    if around.cluster_queue is None:
        return None
    status = raw["status"]
    flavors = {
        flavor
        for assignment in status["admission"].get("podSetAssignments") or ()
        for flavor in (assignment.get("flavors") or {}).values()
    }
    strategy = around.cluster_queue["spec"].get("admissionChecksStrategy") or {}
    rules = strategy.get("admissionChecks") or ()
    wanted = {rule["name"] for rule in rules if not rule.get("onFlavors") or flavors & set(rule["onFlavors"])}
    known = {check["name"]: check for check in _checks(raw)}
    if known.keys() == wanted:
        return None
    new = {"state": "Pending", "message": "", "lastTransitionTime": format_time(around.now_ns)}
    kept = [check for name, check in known.items() if name in wanted]
    states = [*kept, *({"name": name, **new} for name in sorted(wanted - known.keys()))]
    others = {name: value for name, value in status.items() if name != "admissionChecks"}
    return {**others, "admissionChecks": states} if states else others


def _admitted(raw: Raw, around: WorkloadContext) -> Status | None:
    known = conditions(raw)
    if is_true(known, written.ADMITTED) or any(check.get("state") != "Ready" for check in _checks(raw)):
        return None
    return status_with(raw, written.put(known, written.admitted(around.now_ns, generation_of(raw))))


def _judged_by_checks(raw: Raw, around: WorkloadContext) -> Status | None:
    """Deactivate what a check rejected, and evict what a check wants to see again."""
    known = conditions(raw)
    if is_true(known, written.EVICTED):
        return None
    if rejected := _in_state(raw, "Rejected"):
        text = cut_for_condition(_name_checks(rejected, "Rejected"))
        target = Condition(DEACTIVATION_TARGET, "True", "AdmissionCheck", text, around.now_ns, generation_of(raw))
        return status_with(raw, written.put(known, target))
    if retried := _in_state(raw, "Retry"):
        return _evicted(raw, Eviction("AdmissionCheck", f"Evicted due to {_name_checks(retried, 'Retry')}"), around)
    return None


def _drained(raw: Raw, around: WorkloadContext) -> Status | None:
    known = conditions(raw)
    if not is_true(known, written.ADMITTED) or is_true(known, written.EVICTED):
        return None
    if _stop_policy(around.local_queue) == _DRAIN:
        return _evicted(raw, Eviction(_LOCAL_QUEUE_STOPPED, "The LocalQueue is stopped"), around)
    if _stop_policy(around.cluster_queue) == _DRAIN:
        return _evicted(raw, Eviction(_CLUSTER_QUEUE_STOPPED, "The ClusterQueue is stopped"), around)
    return None


def _evicted(raw: Raw, eviction: Eviction, around: WorkloadContext) -> Status:
    return evicted_status(raw, eviction, around.now_ns, around.profile.dialect)


def _name_checks(checks: Sequence[Raw], state: str) -> str:
    named = [f'"{check["name"]}"' + (f" ({check['message']})" if check.get("message") else "") for check in checks]
    noun = "AdmissionChecks" if len(checks) > 1 else "AdmissionCheck"
    return f"{noun} in {state} state: {'; '.join(named)}"


def _in_state(raw: Raw, state: str) -> list[Raw]:
    return sorted((check for check in _checks(raw) if check.get("state") == state), key=lambda check: check["name"])


def _checks(raw: Raw) -> Sequence[Raw]:
    return (raw.get("status") or {}).get("admissionChecks") or ()


def _is_active(raw: Raw) -> bool:
    return (raw.get("spec") or {}).get("active") is not False


def _stop_policy(queue: Raw | None) -> str:
    return (queue["spec"].get("stopPolicy") or "None") if queue is not None else ""
