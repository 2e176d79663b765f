"""The sentences that Kueue writes about a workload it could not admit, or preempted.

Pure text with the exact wording of Kueue v0.19.1, so that a prediction can be compared with a worker character by
character. Which sentence applies is decided elsewhere; conditions and events are in `engine.reporting.status`.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

from config.api.quantity import format_amount, format_request

UNKNOWN: Final = "UNKNOWN"
FAILED_ADMISSION_CHECKS: Final = "The workload has failed admission checks"
OVERLAPPING_TARGETS: Final = "Workload has overlapping preemption targets with another workload"
FITS_AFTER_PREEMPTIONS: Final = f"{OVERLAPPING_TARGETS}, but will fit after these preemptions complete"
NO_LONGER_FITS: Final = "Workload no longer fits after processing another workload"
PREEMPTION_GATED: Final = "Workload requires preemption, but it's gated"

_MAX_CONDITION_BYTES: Final = 32 * 1024
_MAX_EVENT_BYTES: Final = 1024
_CUT: Final = " ..."


class PreemptionReason(StrEnum):
    """Why a workload is preempted: the reason of its Preempted condition."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    IN_COHORT_RECLAMATION = "InCohortReclamation"
    IN_COHORT_FAIR_SHARING = "InCohortFairSharing"
    IN_COHORT_RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    IN_CLUSTER_QUEUE_TIME_BASED = "InClusterQueueTimeBased"


_CAUSE_TEXT: Final = {
    PreemptionReason.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    PreemptionReason.IN_COHORT_RECLAMATION: "reclamation within the cohort",
    PreemptionReason.IN_COHORT_FAIR_SHARING: "Fair Sharing within the cohort",
    PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
    PreemptionReason.IN_CLUSTER_QUEUE_TIME_BASED: "time-based prioritization in the ClusterQueue",
}


def preemption_reason(message: str) -> PreemptionReason | None:
    """Return the reason that a message of a Preempted condition gives, also after the workload got quota again."""
    return next((reason for reason, text in _CAUSE_TEXT.items() if f"due to {text};" in message), None)


def cluster_queue_inactive(name: str) -> str:
    """Return the message for a workload whose ClusterQueue admits nothing."""
    return f"ClusterQueue {name} is inactive"


def cluster_queue_missing(name: str) -> str:
    """Return the controller's message for a ClusterQueue that does not exist."""
    return f"ClusterQueue {name} doesn't exist"


def local_queue_missing(name: str) -> str:
    """Return the message for a workload whose LocalQueue does not exist."""
    return f"LocalQueue {name} doesn't exist"


def local_queue_inactive(name: str) -> str:
    """Return the message for a workload whose LocalQueue is stopped."""
    return f"LocalQueue {name} is inactive"


def namespace_mismatch(*, is_capitalized: bool = False) -> str:
    """Return the message for a workload whose namespace the ClusterQueue does not select."""
    return f"{'W' if is_capitalized else 'w'}orkload namespace doesn't match ClusterQueue selector"


def namespace_missing(namespace: str, *, is_capitalized: bool = False) -> str:
    """Return the message for a workload whose namespace does not exist."""
    known = f'Namespace "{namespace}" not found'
    if is_capitalized:
        return f"Could not obtain workload namespace: {known}"
    return f'workload namespace "{namespace}" does not exist: {known}'


def resource_unavailable(resource: str) -> str:
    """Return the reason for a resource that no group of the ClusterQueue covers."""
    return f"resource {resource} unavailable in ClusterQueue"


def not_nominated(flavor: str, resource: str) -> str:
    """Return the reason for a flavor other than the nominated one, when an assignment is made again in its cycle."""
    return f"skipping flavor {flavor} as it is not found in the nomination mapping for resource {resource}"


def exceeds_capacity(resource: str, flavor: str, *, assumed: int, request: int, capacity: int) -> str:
    """Return the reason for a request that could not be met even if everything were free."""
    return (
        f"insufficient quota for {resource} in flavor {flavor}, "
        f"previously considered podsets requests ({format_amount(resource, assumed)}) + "
        f"current podset request ({format_request(resource, request)}) > "
        f"maximum capacity ({format_amount(resource, capacity)})"
    )


def exceeds_unused_quota(resource: str, flavor: str, missing: int) -> str:
    """Return the reason for a request that does not fit beside the current usage."""
    return (
        f"insufficient unused quota for {resource} in flavor {flavor}, {format_amount(resource, missing)} more needed"
    )


def assignment_message(reasons_by_pod_set: Iterable[tuple[str, Sequence[str]]]) -> str:
    """Join the reasons of every pod set that does not fit; reasons are sorted, never merged."""
    return "; ".join(
        f"couldn't assign flavors to pod set {name}: {', '.join(sorted(reasons))}"
        for name, reasons in reasons_by_pod_set
    )


def assignment_error(pod_set: str, error: str) -> str:
    """Return the message of an assignment that could not be evaluated; it replaces all others."""
    return f"failed to assign flavors to pod set {pod_set}: {error}"


def with_pending_preemption(message: str, victims: int) -> str:
    """Add how many workloads have to go first, those already evicted included."""
    return f"{message}. Pending the preemption of {victims} workload(s)"


def queue_path(names_from_root: Sequence[str]) -> str:
    """Return the path of a ClusterQueue from its top cohort down."""
    return "".join(f"/{name}" for name in names_from_root)


def preempted_message(
    *, preemptor_uid: str, preemptor_job_uid: str, reason: PreemptionReason, preemptor_path: str, preemptee_path: str
) -> str:
    """Return the message of the victim's Preempted and Evicted conditions."""
    uid, job_uid = preemptor_uid or UNKNOWN, preemptor_job_uid or UNKNOWN
    return (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to {_CAUSE_TEXT[reason]}; "
        f"preemptor path: {preemptor_path or UNKNOWN}; preemptee path: {preemptee_path or UNKNOWN}"
    )


def check_reset_message(previous_state: str) -> str:
    """Return the message of an admission check that eviction put back to Pending."""
    return f"Reset to Pending after eviction. Previously: {previous_state}"


def cut_for_condition(message: str) -> str:
    """Cut a message to what a condition can hold."""
    return _cut(message, _MAX_CONDITION_BYTES)


def cut_for_event(message: str) -> str:
    """Cut a message to what an event can hold."""
    return _cut(message, _MAX_EVENT_BYTES)


def _cut(message: str, limit: int) -> str:
    encoded = message.encode()
    if len(encoded) <= limit:
        return message
    return encoded[: limit - len(_CUT)].decode(errors="replace") + _CUT
