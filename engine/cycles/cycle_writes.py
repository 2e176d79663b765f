"""Carries out what a cycle decided: admissions count at once, the others go back to their queue, and all get a status.

The status and events are what Kueue would write; they are collected here and written by the caller that runs the cycle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from config.api.meta import NANOSECONDS, ZERO_TIME_NS, ObjectKey, conditions, is_true, parse_time
from engine.cluster.cluster_queue import ClusterQueue
from engine.cycles.object_events import ObjectEvents
from engine.cycles.pending_queue import QueuedWorkload, QueuePlace, RequeueReason
from engine.cycles.verdicts import Head, HeadVerdict
from engine.objects.boost import effective_priority, priority_boost
from engine.prediction.predict import pod_set_prediction
from engine.reporting import status as written
from engine.reporting.status import PriorityParts, UnadmittedReason, WorkloadEvent
from engine.reporting.status_writes import (
    StatusWrite,
    gated_status,
    generation_of,
    preempted_status,
    refused_status,
    reserved_status,
    with_status,
    write,
)
from engine.search.search import PreemptionTarget
from engine.vocabulary.decision import Outcome, PodSetPrediction, Victim
from engine.vocabulary.gate_dialect import GateDialect
from engine.vocabulary.messages import FAILED_ADMISSION_CHECKS, preempted_message, queue_path

_JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"


@dataclass(frozen=True, slots=True)
class RefusedHead:
    """A head that was not nominated, and why."""

    item: QueuedWorkload
    cluster_queue: str
    message: str
    requeue: RequeueReason


@dataclass(frozen=True, slots=True)
class EntryResult:
    """What became of one head."""

    key: ObjectKey
    cluster_queue: str
    outcome: Outcome
    message: str
    pod_sets: tuple[PodSetPrediction, ...] = ()
    borrowing: int | None = None
    victims: tuple[Victim, ...] = ()
    requeue: RequeueReason | None = None
    """Why it went back to its queue; None if it was admitted."""
    place: QueuePlace | None = None
    """Where in its queue it went."""


class CycleWriter:
    """Carries out the verdicts of one cycle."""

    def __init__(self, events: ObjectEvents, now_ns: int, dialect: GateDialect) -> None:
        self._events = events
        self._model = events.model
        self._gates = events.model.configuration.gates
        self._now_ns = now_ns
        self._dialect = dialect
        self._entries: list[EntryResult] = []
        self._writes: list[StatusWrite] = []

    @property
    def entries(self) -> tuple[EntryResult, ...]:
        """What became of each head."""
        return tuple(self._entries)

    @property
    def writes(self) -> tuple[StatusWrite, ...]:
        """What is to be written."""
        return tuple(self._writes)

    def refuse(self, refused: RefusedHead) -> None:
        """Send back a head that was not nominated."""
        item = refused.item
        self._requeue(item, refused.requeue)
        self._write_refusal(item, refused.message, _cause_of_refusal(refused))
        self._entries.append(
            EntryResult(
                item.key,
                refused.cluster_queue,
                Outcome.INADMISSIBLE,
                refused.message,
                requeue=refused.requeue,
                place=self._events.queues.place_of(item.key),
            )
        )

    def carry_out(self, verdict: HeadVerdict) -> None:
        """Do what was decided about a head."""
        if verdict.outcome is Outcome.ADMIT:
            self._admit(verdict)
            self._note(verdict, requeue=None)
            return
        events: list[WorkloadEvent] = []
        if verdict.outcome is Outcome.PREEMPT:
            new = (target for target in verdict.targets if not target.workload.is_evicted)
            events.extend(self._evict(verdict.head, target) for target in new)
        item = verdict.head.item
        item.memory = verdict.memory
        self._requeue(item, verdict.requeue)
        if verdict.outcome is not Outcome.UNSUPPORTED:
            is_gated = verdict.outcome is Outcome.GATED
            self._write_refusal(item, verdict.message, verdict.cause, events, is_gated=is_gated)
        self._note(verdict, requeue=verdict.requeue)

    def _requeue(self, item: QueuedWorkload, reason: RequeueReason) -> None:
        self._events.queues.requeue(item, reason, self._now_ns)

    def _note(self, verdict: HeadVerdict, requeue: RequeueReason | None) -> None:
        assignment, key = verdict.assignment, verdict.head.key
        self._entries.append(
            EntryResult(
                key=key,
                cluster_queue=verdict.head.entry.queue.name,
                outcome=verdict.outcome,
                message=verdict.message,
                pod_sets=tuple(map(pod_set_prediction, assignment.pod_sets)),
                borrowing=None if verdict.outcome in (Outcome.NO_FIT, Outcome.UNSUPPORTED) else assignment.borrowing,
                victims=tuple(sorted(target.as_victim() for target in verdict.targets)),
                requeue=requeue,
                place=None if requeue is None else self._events.queues.place_of(key),
            )
        )

    def _admit(self, verdict: HeadVerdict) -> None:
        head, assignment = verdict.head, verdict.assignment
        raw = self._raw(head.key)
        queue = head.entry.queue
        flavors = {choice.flavor for pod_set in assignment.pod_sets for choice in pod_set.flavors.values()}
        checks = [name for name, on in head.entry.spec.admission_checks.items() if not on or on & flavors]
        after = reserved_status(raw, queue.name, assignment, checks, self._now_ns, self._gates)
        admitted = with_status(raw, after)
        reduced = self._model.reduce(admitted)
        if reduced is not None:
            self._events.assume(head.key, reduced[2])
        waited_seconds = (self._now_ns - _queued_since(raw)) / NANOSECONDS
        events = [written.reservation_event(queue.name, waited_seconds, verdict.considered)]
        if is_true(conditions(admitted), written.ADMITTED):
            events.append(written.admission_event(queue.name))
        self._writes.append(write(raw, after, events))

    def _evict(self, preemptor: Head, target: PreemptionTarget) -> WorkloadEvent:
        """Tell a victim to go; return the event on its preemptor."""
        raw, cause = self._raw(target.workload.key), self._raw(preemptor.key)
        message = preempted_message(
            preemptor_uid=cause["metadata"].get("uid") or "",
            preemptor_job_uid=(cause["metadata"].get("labels") or {}).get(_JOB_UID_LABEL) or "",
            reason=target.reason,
            preemptor_path=_path(preemptor.entry.queue),
            preemptee_path=_path(target.queue),
        )
        after = preempted_status(raw, target.reason, message, self._now_ns, self._dialect)
        priorities = self._priority(cause), self._priority(raw)
        self._writes.append(write(raw, after, written.preemption_events(message, *priorities)))
        victim, uid = str(target.workload.key), target.workload.uid
        return written.preemptor_event(victim, uid, target.queue.name, *priorities)

    def _write_refusal(
        self,
        item: QueuedWorkload,
        message: str,
        cause: UnadmittedReason | None,
        events: Sequence[WorkloadEvent] = (),
        *,
        is_gated: bool = False,
    ) -> None:
        raw, now_ns = self._raw(item.key), self._now_ns
        condition = written.quota_not_reserved(message, now_ns, generation_of(raw), self._gates, cause)
        if cause is None and self._gates.unadmitted_workloads_observability:
            # Kueue knows no cause where one resource fits and another is not covered; an API server refuses the write.
            condition = replace(condition, reason="")
        after = refused_status(raw, condition, item.request, now_ns, self._gates)
        if is_gated:
            after = gated_status(raw, after, now_ns, self._dialect)
        self._writes.append(write(raw, after, [*events, written.pending_event(condition)]))

    def _raw(self, key: ObjectKey) -> Mapping[str, Any]:
        return self._events.raw[key]

    def _priority(self, raw: Mapping[str, Any]) -> PriorityParts:
        base = (raw.get("spec") or {}).get("priority") or 0
        annotations = raw["metadata"].get("annotations")
        return PriorityParts(base, effective_priority(base, priority_boost(annotations, self._gates)) - base)


def _queued_since(raw: Mapping[str, Any]) -> int:
    requeued = conditions(raw).get(written.REQUEUED)
    if requeued is not None:
        return requeued.last_transition_ns
    created = raw["metadata"].get("creationTimestamp")
    return parse_time(created) if created else ZERO_TIME_NS


def _path(queue: ClusterQueue) -> str:
    return queue_path([node.name for node in (*reversed(queue.ancestors()), queue)])


def _cause_of_refusal(refused: RefusedHead) -> UnadmittedReason:
    if refused.message == FAILED_ADMISSION_CHECKS:
        return UnadmittedReason.PENDING_EVALUATION
    return UnadmittedReason.MISCONFIGURED
