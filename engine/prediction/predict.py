"""The facade: what would Kueue do with this pending workload, if its turn came now?"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, QueueRefusal, enter, enter_as_head
from engine.objects.workloads import AdmittedWorkload, IdleWorkload
from engine.reporting.caveats import Caveats, caveats_of, in_flight_labels
from engine.reporting.explanation import ExplanationRecorder
from engine.search.gating import has_closed_gate
from engine.search.nomination import (
    MAX_TIES_FOLLOWED,
    Nominated,
    NominationSearch,
    TargetTies,
    explore_targets,
    fits_after,
)
from engine.search.search import PreemptionTarget
from engine.search.second_pass import admitted_assignment, enter_second_pass
from engine.search.ties import Choices
from engine.search.topology_step import topology_step
from engine.vocabulary.assignment import Assignment, AssignmentMode, PodSetAssignment, ScanMemory
from engine.vocabulary.decision import Outcome, PodSetPrediction, Prediction
from engine.vocabulary.errors import FieldError, InvalidObjectError
from engine.vocabulary.messages import NO_LONGER_FITS, PREEMPTION_GATED, with_pending_preemption
from engine.vocabulary.topology import FitCheck

MAX_WAYS_FOLLOWED: Final = 256
"""How many ways through a nomination are followed, each with other answers of its searches, before it says so."""

NOT_EXHAUSTIVE: Final = "not all ties explored"


def predict(
    model: ClusterModel,
    key: ObjectKey,
    now_ns: int,
    *,
    explain: bool = False,
    as_head: bool = False,
    memory: ScanMemory = (),
) -> Prediction:
    """Return what Kueue would do with a workload.

    With `explain`, also what was tried on the way. With `as_head`, whatever the state of its queues and back-off. The
    flavor scan goes on from `memory`, where the one of its last turn ended.
    """
    workload = model.workload(key)
    if workload is None:
        return Prediction(key, Outcome.NOT_QUEUED, "the workload does not exist")
    if isinstance(workload, AdmittedWorkload):
        if workload.second_pass is not None and model.follows_topology:
            return _predict_second_pass(model, workload, workload.second_pass, now_ns)
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
        found = _predict_entry(model, entry, now_ns, memory, explain=explain)
        return _with_caveats(found, caveats, model)
    except FieldError as error:
        raise InvalidObjectError("Workload", str(key), error) from None


def _predict_second_pass(
    model: ClusterModel, workload: AdmittedWorkload, raw: Mapping[str, Any], now_ns: int
) -> Prediction:
    """Return where the pods of a workload go that has its quota and waited for its nodes."""
    try:
        entry = enter_second_pass(model, workload, raw)
        if isinstance(entry, QueueRefusal):
            return Prediction(workload.key, entry.outcome, entry.message, entry.cluster_queue)
        caveats = caveats_of(model, entry)
        if caveats.unsupported is not None:
            queue = entry.queue.name
            return Prediction(workload.key, Outcome.UNSUPPORTED, caveats.unsupported, queue, labels=caveats.labels)
        search = NominationSearch(
            model, entry.workload, entry.queue, entry.spec, entry.demands, now_ns, holds_quota=True
        )
        return _with_caveats(judge(model, entry, search.resume(admitted_assignment(entry))), caveats, model)
    except FieldError as error:
        raise InvalidObjectError("Workload", str(workload.key), error) from None


def _with_caveats(prediction: Prediction, caveats: Caveats, model: ClusterModel) -> Prediction:
    labels = (*caveats.labels, *in_flight_labels(model, (victim.key for victim in prediction.victims)))
    if not labels:
        return prediction
    outcome = Outcome.AMBIGUOUS if caveats.is_ambiguous else prediction.outcome
    return replace(prediction, outcome=outcome, labels=(*prediction.labels, *labels))


def _predict_entry(
    model: ClusterModel, entry: NominatedWorkload, now_ns: int, memory: ScanMemory, *, explain: bool
) -> Prediction:
    ties = explore_targets(MAX_TIES_FOLLOWED)
    choices = Choices()
    first = _nominate(model, entry, now_ns, choices, ties, memory, explain=explain)
    distinct = [replace(first, explanation=None)]
    scripts = deque(choices.other_ways(0))
    followed = 1
    while scripts and followed < MAX_WAYS_FOLLOWED:
        script = scripts.popleft()
        choices = Choices(script)
        other = _nominate(model, entry, now_ns, choices, ties, memory)
        if other not in distinct:
            distinct.append(other)
        followed += 1
        scripts.extend(choices.other_ways(len(script)))
    is_exhaustive = ties.is_exhaustive and not scripts
    if len(distinct) == 1 and is_exhaustive:
        return first
    labels = () if is_exhaustive else (NOT_EXHAUSTIVE,)
    return replace(first, outcome=Outcome.AMBIGUOUS, alternatives=tuple(distinct), labels=labels)


def _nominate(
    model: ClusterModel,
    entry: NominatedWorkload,
    now_ns: int,
    choices: Choices,
    ties: TargetTies,
    memory: ScanMemory,
    *,
    explain: bool = False,
) -> Prediction:
    nomination = NominationSearch(
        model,
        entry.workload,
        entry.queue,
        entry.spec,
        entry.demands,
        now_ns,
        memory=memory,
        choices=choices,
        ties=ties,
    )
    if not explain:
        return judge(model, entry, nomination.run())
    recorder = nomination.trace = ExplanationRecorder(nomination.preemptor())
    prediction = judge(model, entry, nomination.run())
    return replace(prediction, explanation=recorder.explanation())


def judge(model: ClusterModel, entry: NominatedWorkload, nominated: Nominated) -> Prediction:
    """Say what becomes of a nominated workload that has the cycle for itself."""
    assignment, targets = nominated
    fits = _fit_check(model, entry, assignment, targets)
    outcome, message = _outcome(model, entry, assignment, targets, fits)
    return Prediction(
        key=entry.workload.key,
        outcome=outcome,
        message=message,
        cluster_queue=entry.queue.name,
        mode=assignment.mode,
        pod_sets=tuple(map(pod_set_prediction, assignment.pod_sets)),
        reduced_counts=reduced_counts(entry, assignment),
        borrowing=None if assignment.mode is AssignmentMode.NO_FIT else assignment.borrowing,
        nomination_message=assignment.message,
        fits=fits,
        scan_memory=assignment.scan_memory,
        victims=tuple(sorted(target.as_victim() for target in targets)),
    )


def _fit_check(
    model: ClusterModel, entry: NominatedWorkload, assignment: Assignment, targets: Sequence[PreemptionTarget]
) -> FitCheck | None:
    """Return what the check within the cycle says, if the workload comes so far."""
    if assignment.mode is AssignmentMode.NO_FIT or (assignment.mode is AssignmentMode.PREEMPT and not targets):
        return None
    if not fits_after(targets, entry.queue, assignment.usage):
        return FitCheck.NO_QUOTA
    topology = topology_step(model, entry)
    return FitCheck.OK if topology is None or topology.fits(assignment, targets) else FitCheck.NO_TOPOLOGY


def _outcome(
    model: ClusterModel,
    entry: NominatedWorkload,
    assignment: Assignment,
    targets: Sequence[PreemptionTarget],
    fits: FitCheck | None,
) -> tuple[Outcome, str]:
    message = assignment.message
    if assignment.mode is AssignmentMode.NO_FIT:
        return Outcome.NO_FIT, message
    if assignment.mode is AssignmentMode.FIT:
        return (Outcome.ADMIT, message) if fits is FitCheck.OK else (Outcome.SKIPPED, NO_LONGER_FITS)
    if not targets:
        return Outcome.PREEMPT_NO_CANDIDATES, message
    if has_closed_gate(entry.workload.raw, model.configuration):
        return Outcome.GATED, PREEMPTION_GATED
    if fits is not FitCheck.OK:
        return Outcome.SKIPPED, NO_LONGER_FITS
    return Outcome.PREEMPT, with_pending_preemption(message, len(targets))


def pod_set_prediction(assignment: PodSetAssignment) -> PodSetPrediction:
    """Say what a pod set would get."""
    flavors = assignment.flavors
    return PodSetPrediction(
        name=assignment.name,
        count=assignment.count,
        flavors={resource: choice.flavor for resource, choice in flavors.items()},
        usage={resource: assignment.requests.get(resource, 0) for resource in flavors},
        modes={resource: choice.mode for resource, choice in flavors.items()},
        borrow_levels={resource: choice.borrow_level for resource, choice in flavors.items()},
        mode=assignment.mode,
        topology=assignment.topology,
        delayed_topology=assignment.delayed_topology,
        shortage=assignment.shortage,
    )


def reduced_counts(entry: NominatedWorkload, assignment: Assignment) -> dict[str, int]:
    """Return the pod sets that would run with fewer pods than asked for."""
    if assignment.mode is AssignmentMode.NO_FIT:
        return {}
    asked = {demand.name: demand.count for demand in entry.demands}
    return {pod_set.name: pod_set.count for pod_set in assignment.pod_sets if pod_set.count < asked[pod_set.name]}
