"""Whether a pending workload is considered at all: its queues, its own state, its namespace, its resources.

The order of the checks is Kueue's, so that the message is the one a user would see.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.api.meta import conditions, format_time, parse_time
from config.api.selectors import matches_selector
from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.objects.specs import ClusterQueueSpec
from engine.objects.workloads import PendingWorkload
from engine.requests.demand import PodSetDemand, pod_set_demands
from engine.requests.requests import workload_request
from engine.vocabulary.decision import Outcome
from engine.vocabulary.messages import (
    FAILED_ADMISSION_CHECKS,
    cluster_queue_inactive,
    cluster_queue_missing,
    local_queue_inactive,
    local_queue_missing,
    namespace_mismatch,
    namespace_missing,
)


@dataclass(frozen=True, slots=True)
class QueueRefusal:
    """Why a workload is not nominated."""

    outcome: Outcome
    message: str
    cluster_queue: str = ""
    is_about_namespace: bool = False
    """Its namespace does not exist, or the ClusterQueue does not select it."""
    is_namespace_mismatch: bool = False


@dataclass(frozen=True, slots=True)
class NominatedWorkload:
    """A workload that is nominated: where it queues and what it needs."""

    workload: PendingWorkload
    queue: ClusterQueue
    spec: ClusterQueueSpec
    demands: tuple[PodSetDemand, ...]
    holds_quota: bool = False
    """It has its quota already and is in its second pass, for its nodes."""


def enter(model: ClusterModel, workload: PendingWorkload, now_ns: int) -> NominatedWorkload | QueueRefusal:
    """Return the workload ready for nomination, or why it is not."""
    queue = find_queue(model, workload)
    if isinstance(queue, QueueRefusal):
        return queue
    waiting = _why_waiting(model, workload, now_ns)
    if waiting is not None:
        return QueueRefusal(Outcome.NOT_QUEUED, waiting, queue.name)
    return enter_as_head(model, workload)


def enter_as_head(model: ClusterModel, workload: PendingWorkload) -> NominatedWorkload | QueueRefusal:
    """Return the workload ready for nomination, taking for granted that its queues have handed it out."""
    queue = find_queue(model, workload)
    if isinstance(queue, QueueRefusal):
        return queue
    refusal = _why_inadmissible(workload, queue) or _why_not_in_namespace(model, workload, queue)
    if refusal is not None:
        return refusal
    request = workload_request(workload.raw, model.request_context(workload.key.namespace))
    if request.inadmissible is not None:
        return QueueRefusal(Outcome.INADMISSIBLE, request.inadmissible, queue.name)
    return NominatedWorkload(workload, queue, queue.existing_spec, pod_set_demands(workload.raw, request))


def enter_unchecked(model: ClusterModel, workload: PendingWorkload) -> NominatedWorkload | QueueRefusal:
    """Return the workload ready for nomination although its namespace or its resources would keep it out."""
    queue = find_queue(model, workload)
    if isinstance(queue, QueueRefusal):
        return queue
    if not queue.is_active:
        return QueueRefusal(Outcome.INADMISSIBLE, cluster_queue_inactive(queue.name), queue.name)
    request = workload_request(workload.raw, model.request_context(workload.key.namespace))
    return NominatedWorkload(workload, queue, queue.existing_spec, pod_set_demands(workload.raw, request))


def find_queue(model: ClusterModel, workload: PendingWorkload) -> ClusterQueue | QueueRefusal:
    """Return the ClusterQueue to which the workload was submitted, or why there is none."""
    local_queue = model.local_queue(workload.key.namespace, workload.local_queue)
    if local_queue is None:
        return QueueRefusal(Outcome.NOT_QUEUED, local_queue_missing(workload.local_queue))
    queue = model.cluster_queue(local_queue.cluster_queue)
    if queue is None:
        name = local_queue.cluster_queue
        return QueueRefusal(Outcome.NOT_QUEUED, cluster_queue_missing(name), name)
    return queue


def _why_waiting(model: ClusterModel, workload: PendingWorkload, now_ns: int) -> str | None:
    local_queue = model.local_queue(workload.key.namespace, workload.local_queue)
    if local_queue is not None and local_queue.is_stopped:
        return local_queue_inactive(workload.local_queue)
    return _why_backing_off(workload.raw, now_ns)


def _why_backing_off(raw: Mapping[str, Any], now_ns: int) -> str | None:
    requeued = conditions(raw).get("Requeued")
    if requeued is not None and requeued.status == "False":
        return f"the workload is not requeued yet: {requeued.message or requeued.reason or 'Requeued is False'}"
    requeue_at = ((raw.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    if requeue_at and parse_time(requeue_at) > now_ns:
        return f"the workload is in back-off until {format_time(parse_time(requeue_at))}"
    return None


def _why_inadmissible(workload: PendingWorkload, queue: ClusterQueue) -> QueueRefusal | None:
    checks = (workload.raw.get("status") or {}).get("admissionChecks") or ()
    if any(check.get("state") in ("Retry", "Rejected") for check in checks):
        return QueueRefusal(Outcome.INADMISSIBLE, FAILED_ADMISSION_CHECKS, queue.name)
    if not queue.is_active:
        return QueueRefusal(Outcome.INADMISSIBLE, cluster_queue_inactive(queue.name), queue.name)
    return None


def _why_not_in_namespace(model: ClusterModel, workload: PendingWorkload, queue: ClusterQueue) -> QueueRefusal | None:
    namespace, is_capitalized = workload.key.namespace, _capitalizes(model)
    labels = model.namespace_labels(namespace)
    if labels is None:
        message = namespace_missing(namespace, is_capitalized=is_capitalized)
        return QueueRefusal(Outcome.INADMISSIBLE, message, queue.name, is_about_namespace=True)
    if not matches_selector(queue.existing_spec.namespace_selector, labels):
        message = namespace_mismatch(is_capitalized=is_capitalized)
        return QueueRefusal(
            Outcome.INADMISSIBLE, message, queue.name, is_about_namespace=True, is_namespace_mismatch=True
        )
    return None


def _capitalizes(model: ClusterModel) -> bool:
    return model.configuration.profile.switches.capitalizes_namespace_texts
