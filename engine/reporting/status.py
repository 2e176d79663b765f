"""Conditions and events that Kueue writes on workloads, as values.

Each function returns what is written at one moment; `put` folds it into what is there by the rule of Kubernetes: the
transition time moves only when the status does. `generation` is the workload's, carried as observedGeneration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from config.api.meta import Condition
from config.names import KUEUE_GROUP
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.gate_dialect import BLOCKED_ON_PREEMPTION_GATES, QUOTA_RESERVATION_BLOCKED
from engine.vocabulary.messages import PREEMPTION_GATED, PreemptionReason, cut_for_condition, cut_for_event

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"

PENDING: Final = "Pending"
INADMISSIBLE: Final = "Inadmissible"
GATED: Final = "PreemptionGated"

_RESET_BY_RESERVATION: Final = (EVICTED, PREEMPTED, BLOCKED_ON_PREEMPTION_GATES, QUOTA_RESERVATION_BLOCKED)
_POD_GROUP_ANNOTATION: Final = f"{KUEUE_GROUP}/is-group-workload"
_REQUEUED_AFTER: Final = frozenset({PREEMPTED, "NodeFailures"})


class UnadmittedReason(StrEnum):
    """Reasons of QuotaReserved=False with the gate UnadmittedWorkloadsObservability."""

    WAITING_FOR_QUOTA = "WaitingForQuota"
    EXCEEDS_MAX_QUOTA = "ExceedsMaxQuota"
    NO_MATCHING_FLAVOR = "NoMatchingFlavor"
    TOPOLOGY_PLACEMENT_FAILED = "TopologyPlacementFailed"
    WAITING_FOR_PREEMPTED_WORKLOADS = "WaitingForPreemptedWorkloads"
    SUSPENDED = "Suspended"
    MISCONFIGURED = "Misconfigured"
    PENDING_EVALUATION = "PendingEvaluation"
    ADMISSION_GATED = "AdmissionGated"


class EventType(StrEnum):
    """Types of Kubernetes events."""

    NORMAL = "Normal"
    WARNING = "Warning"


@dataclass(frozen=True, slots=True)
class WorkloadEvent:
    """One event on a workload."""

    type: EventType
    reason: str
    message: str


class PriorityParts(NamedTuple):
    """A workload's priority as events print it."""

    base: int
    boost: int

    def __str__(self) -> str:
        """Write the sum and where it comes from."""
        return f"{self.base + self.boost} (base: {self.base}, boost: {self.boost})"


def put(conditions: Mapping[str, Condition], condition: Condition) -> dict[str, Condition]:
    """Return the conditions with one written over them."""
    previous = conditions.get(condition.type)
    if previous is not None and previous.status == condition.status:
        condition = replace(condition, last_transition_ns=previous.last_transition_ns)
    return {**conditions, condition.type: condition}


def reserve_quota(
    conditions: Mapping[str, Condition], cluster_queue: str, now_ns: int, generation: int
) -> dict[str, Condition]:
    """Return the conditions after quota was reserved: what stood against the workload is over."""
    message = f"Quota reserved in ClusterQueue {cluster_queue}"
    result = put(conditions, _holds(QUOTA_RESERVED, QUOTA_RESERVED, message, now_ns, generation))
    for condition_type in _RESET_BY_RESERVATION:
        previous = result.get(condition_type)
        if previous is not None and previous.is_true:
            text = f"Previously: {previous.message}"
            result = put(result, _fails(condition_type, QUOTA_RESERVED, text, now_ns, generation))
    return result


def admitted(now_ns: int, generation: int) -> Condition:
    """Return Admitted=True."""
    return _holds(ADMITTED, "Admitted", "The workload is admitted", now_ns, generation)


def awaits_checks(now_ns: int, generation: int) -> Condition:
    """Return Admitted=False of a workload that has quota but not passed its checks, as the detailed reasons put it."""
    text = "The workload has not all checks ready"
    return _fails(ADMITTED, "UnsatisfiedAdmissionChecks", text, now_ns, generation)


def not_admitted(now_ns: int, generation: int, gates: FeatureGates, *, all_checks_ready: bool) -> Condition:
    """Return Admitted=False of a workload that lost its reservation."""
    if all_checks_ready or gates.unadmitted_workloads_observability:
        return _fails(ADMITTED, "NoReservation", "The workload has no reservation", now_ns, generation)
    text = "The workload has no reservation and not all checks ready"
    return _fails(ADMITTED, "NoReservationUnsatisfiedChecks", text, now_ns, generation)


def quota_not_reserved(
    message: str, now_ns: int, generation: int, gates: FeatureGates, reason: UnadmittedReason | None = None
) -> Condition:
    """Return QuotaReserved=False after an attempt; the detailed reason shows only with its gate."""
    shown = reason if reason is not None and gates.unadmitted_workloads_observability else PENDING
    return _fails(QUOTA_RESERVED, shown, message, now_ns, generation)


def queue_blocked(
    message: str, now_ns: int, generation: int, gates: FeatureGates, reason: UnadmittedReason
) -> Condition:
    """Return QuotaReserved=False of a workload whose LocalQueue or ClusterQueue is missing or inactive."""
    shown = reason if gates.unadmitted_workloads_observability else INADMISSIBLE
    return _fails(QUOTA_RESERVED, shown, message, now_ns, generation)


def blocked_on_gates(now_ns: int, generation: int, condition_type: str = BLOCKED_ON_PREEMPTION_GATES) -> Condition:
    """Return the signal of a workload that would preempt, were its gate open."""
    return _holds(condition_type, GATED, PREEMPTION_GATED, now_ns, generation)


def preempted(reason: PreemptionReason, message: str, now_ns: int) -> Condition:
    """Return Preempted=True of a victim; Kueue sets no observedGeneration here."""
    return _holds(PREEMPTED, reason, message, now_ns, 0)


def evict(
    conditions: Mapping[str, Condition], reason: str, message: str, now_ns: int, generation: int
) -> dict[str, Condition]:
    """Return the conditions after an eviction was asked for: Evicted, and no gate signal any more."""
    result = put(conditions, _holds(EVICTED, reason, message, now_ns, generation))
    for signal in (BLOCKED_ON_PREEMPTION_GATES, QUOTA_RESERVATION_BLOCKED):
        if signal in result and result[signal].is_true:
            result = put(result, _fails(signal, reason, message, now_ns, generation))
    return result


def requeued(eviction: Condition, now_ns: int, generation: int, *, is_pod_owned: bool) -> Condition:
    """Return the Requeued condition of a victim whose job has stopped; a workload of one pod dies with it."""
    again = eviction.reason in _REQUEUED_AFTER and not is_pod_owned
    build = _holds if again else _fails
    return build(REQUEUED, eviction.reason, eviction.message, now_ns, generation)


def is_owned_by_single_pod(workload: Mapping[str, Any]) -> bool:
    """Return whether a raw Workload belongs to one plain Pod; a group of one can still receive a replacement."""
    metadata = workload.get("metadata") or {}
    if (metadata.get("annotations") or {}).get(_POD_GROUP_ANNOTATION) == "true":
        return False
    owners = [(owner.get("apiVersion"), owner.get("kind")) for owner in metadata.get("ownerReferences") or ()]
    return owners == [("v1", "Pod")]


def reservation_event(cluster_queue: str, waited_seconds: float, considered_flavors: str = "") -> WorkloadEvent:
    """Return the event of a reservation."""
    text = f"Quota reserved in ClusterQueue {cluster_queue}, wait time since queued was {waited_seconds:.0f}s"
    if considered_flavors:
        text += f"; Flavors considered: {considered_flavors}"
    return WorkloadEvent(EventType.NORMAL, QUOTA_RESERVED, cut_for_event(text))


def admission_event(cluster_queue: str) -> WorkloadEvent:
    """Return the event of an admission in the cycle of its reservation."""
    return WorkloadEvent(
        EventType.NORMAL, "Admitted", f"Admitted by ClusterQueue {cluster_queue}, wait time since reservation was 0s"
    )


def pending_event(condition: Condition) -> WorkloadEvent:
    """Return the warning that goes with QuotaReserved=False."""
    return WorkloadEvent(EventType.WARNING, condition.reason, cut_for_event(condition.message))


def preemption_events(
    message: str, preemptor: PriorityParts, victim: PriorityParts
) -> tuple[WorkloadEvent, WorkloadEvent]:
    """Return the events on the victim: it is evicted, and why."""
    priorities = _priorities(preemptor, victim)
    return (
        WorkloadEvent(EventType.NORMAL, "EvictedDueToPreempted", cut_for_event(message)),
        WorkloadEvent(EventType.NORMAL, PREEMPTED, f"{message}; {priorities}"),
    )


def preemptor_event(
    victim: str, victim_uid: str, cluster_queue: str, preemptor: PriorityParts, victim_priority: PriorityParts
) -> WorkloadEvent:
    """Return the event on the preemptor about one victim."""
    return WorkloadEvent(
        EventType.NORMAL,
        "PreemptedWorkload",
        f"Preempted workload {victim} (UID: {victim_uid}) in ClusterQueue {cluster_queue}; "
        f"{_priorities(preemptor, victim_priority)}",
    )


def _priorities(preemptor: PriorityParts, victim: PriorityParts) -> str:
    return f"preemptor effective priority: {preemptor}; preemptee effective priority: {victim}"


def _holds(condition_type: str, reason: str, message: str, now_ns: int, generation: int) -> Condition:
    return Condition(condition_type, "True", str(reason), cut_for_condition(message), now_ns, generation)


def _fails(condition_type: str, reason: str, message: str, now_ns: int, generation: int) -> Condition:
    return Condition(condition_type, "False", str(reason), cut_for_condition(message), now_ns, generation)
