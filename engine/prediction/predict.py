"""The facade: what would Kueue do with this pending workload, if its turn came now?"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, QueueRefusal, enter, enter_as_head
from engine.objects.workloads import AdmittedWorkload, IdleWorkload
from engine.reporting.caveats import Caveats, caveats_of, in_flight_labels
from engine.reporting.explanation import ExplanationRecorder
from engine.search.gating import has_closed_gate
from engine.search.nomination import Choices, Nominated, NominationSearch, fits_after
from engine.search.search import PreemptionTarget
from engine.vocabulary.assignment import Assignment, AssignmentMode, PodSetAssignment
from engine.vocabulary.decision import Outcome, PodSetPrediction, Prediction
from engine.vocabulary.errors import FieldError, InvalidObjectError
from engine.vocabulary.messages import NO_LONGER_FITS, PREEMPTION_GATED, with_pending_preemption

MAX_TIES_FOLLOWED: Final = 1024
"""How many ties are met, over all ways through them, before the answer says that it may not list every outcome."""

NOT_EXHAUSTIVE: Final = "not all ties explored"

_MIN_BRANCHES: Final = 4


def predict(
    model: ClusterModel, key: ObjectKey, now_ns: int, *, explain: bool = False, as_head: bool = False
) -> Prediction:
    """Return what Kueue would do with a workload.

    With `explain`, also what was looked at on the way. With `as_head`, whatever the state of its queues and back-off.
    """
    workload = model.workload(key)
    if workload is None:
        return Prediction(key, Outcome.NOT_QUEUED, "the workload does not exist")
    if isinstance(workload, AdmittedWorkload):
        message = f"the workload holds quota in ClusterQueue {workload.cluster_queue}"
        return Prediction(key, Outcome.NOT_QUEUED, message, labels=in_flight_labels(model, [key]))
    if isinstance(workload, IdleWorkload):
        return Prediction(key, Outcome.NOT_QUEUED, workload.cause)
    try:
        entry = enter_as_head(model, workload) if as_head else enter(model, workload, now_ns)
        if isinstance(entry, QueueRefusal):
            return Prediction(workload.key, entry.outcome, entry.message, entry.cluster_queue)
        caveats = caveats_of(model, entry)
        if caveats.unsupported is not None:
            return Prediction(key, Outcome.UNSUPPORTED, caveats.unsupported, entry.queue.name, labels=caveats.labels)
        return _with_caveats(_predict_entry(model, entry, now_ns, explain=explain), caveats, model)
    except FieldError as error:
        raise InvalidObjectError("Workload", str(key), error) from None


def _with_caveats(prediction: Prediction, caveats: Caveats, model: ClusterModel) -> Prediction:
    labels = (*caveats.labels, *in_flight_labels(model, (victim.key for victim in prediction.victims)))
    if not labels:
        return prediction
    outcome = Outcome.AMBIGUOUS if caveats.is_ambiguous else prediction.outcome
    return replace(prediction, outcome=outcome, labels=(*prediction.labels, *labels))


def _predict_entry(model: ClusterModel, entry: NominatedWorkload, now_ns: int, *, explain: bool) -> Prediction:
    choices = Choices()
    first = _nominate(model, entry, now_ns, choices, explain=explain)
    if not choices.options:
        return first
    return _with_alternatives(first, _branches(model, entry, now_ns, choices))


def _nominate(
    model: ClusterModel, entry: NominatedWorkload, now_ns: int, choices: Choices, *, explain: bool = False
) -> Prediction:
    nomination = NominationSearch(
        model, entry.workload, entry.queue, entry.spec, entry.demands, now_ns, choices=choices
    )
    if not explain:
        return judge(model, entry, nomination.run())
    recorder = nomination.trace = ExplanationRecorder(nomination.preemptor())
    prediction = judge(model, entry, nomination.run())
    return replace(prediction, explanation=recorder.explanation())


def judge(model: ClusterModel, entry: NominatedWorkload, nominated: Nominated) -> Prediction:
    """Say what becomes of a nominated workload that has the cycle for itself."""
    assignment, targets = nominated
    outcome, message = _outcome(model, entry, assignment, targets)
    return Prediction(
        key=entry.workload.key,
        outcome=outcome,
        message=message,
        cluster_queue=entry.queue.name,
        mode=assignment.mode,
        pod_sets=tuple(map(pod_set_prediction, assignment.pod_sets)),
        reduced_counts=reduced_counts(entry, assignment),
        borrowing=None if assignment.mode is AssignmentMode.NO_FIT else assignment.borrowing,
        victims=tuple(sorted(target.as_victim() for target in targets)),
    )


def _outcome(
    model: ClusterModel, entry: NominatedWorkload, assignment: Assignment, targets: Sequence[PreemptionTarget]
) -> tuple[Outcome, str]:
    message = assignment.message
    if assignment.mode is AssignmentMode.NO_FIT:
        return Outcome.NO_FIT, message
    if assignment.mode is AssignmentMode.FIT:
        return Outcome.ADMIT, message
    if not targets:
        return Outcome.PREEMPT_NO_CANDIDATES, message
    if has_closed_gate(entry.workload.raw, model.configuration.gates):
        return Outcome.GATED, PREEMPTION_GATED
    if not fits_after(targets, entry.queue, assignment.usage):
        return Outcome.SKIPPED, NO_LONGER_FITS
    return Outcome.PREEMPT, with_pending_preemption(message, len(targets))


def pod_set_prediction(assignment: PodSetAssignment) -> PodSetPrediction:
    """Say what a pod set would get."""
    flavors = assignment.flavors
    return PodSetPrediction(
        name=assignment.name,
        count=assignment.count,
        flavors={resource: choice.flavor for resource, choice in flavors.items()},
        usage={resource: assignment.requests[resource] for resource in flavors},
        modes={resource: choice.mode for resource, choice in flavors.items()},
        borrow_levels={resource: choice.borrow_level for resource, choice in flavors.items()},
    )


def reduced_counts(entry: NominatedWorkload, assignment: Assignment) -> dict[str, int]:
    """Return the pod sets that would run with fewer pods than asked for."""
    if assignment.mode is AssignmentMode.NO_FIT:
        return {}
    asked = {demand.name: demand.count for demand in entry.demands}
    return {pod_set.name: pod_set.count for pod_set in assignment.pod_sets if pod_set.count < asked[pod_set.name]}


def _branches(
    model: ClusterModel, entry: NominatedWorkload, now_ns: int, first: Choices
) -> Iterator[Prediction | None]:
    """Follow the other ways through every tie; None stands for those that were too many to follow."""
    scripts = _other_ways(first, 0)
    followed = 1
    limit = max(_MIN_BRANCHES, MAX_TIES_FOLLOWED // len(first.options))
    while scripts:
        if followed == limit:
            yield None
            return
        script = scripts.pop()
        choices = Choices(script)
        yield _nominate(model, entry, now_ns, choices)
        followed += 1
        scripts.extend(_other_ways(choices, len(script)))


def _other_ways(choices: Choices, start: int) -> list[tuple[int, ...]]:
    """Return the scripts that differ from what was taken at one later tie."""
    return [
        (*choices.taken[:position], other)
        for position in range(start, len(choices.taken))
        for other in range(1, choices.options[position])
    ]


def _with_alternatives(first: Prediction, others: Iterator[Prediction | None]) -> Prediction:
    distinct = [replace(first, explanation=None)]
    labels: tuple[str, ...] = ()
    for other in others:
        if other is None:
            labels = (NOT_EXHAUSTIVE,)
        elif other not in distinct:
            distinct.append(other)
    if len(distinct) == 1:
        return replace(first, labels=labels)
    return replace(first, outcome=Outcome.AMBIGUOUS, alternatives=tuple(distinct), labels=labels)
