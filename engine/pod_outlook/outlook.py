"""The entrance: what becomes of a Workload's pods on the nodes of one worker.

The pods of the workloads that lose their quota for it are on their way out by then: both are followed, that they are
gone when the new pods arrive, and that they still hold their nodes.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from config.api.meta import NANOSECONDS, ObjectKey
from engine.pod_outlook.room import certainly_fit
from engine.pod_outlook.values import PodCost, PodOutcome, PodOutlook, PodVerdict, PodVictim, unsupported
from engine.pod_outlook.ways import MOST_OUTCOMES, MOST_STEPS, End, UnsupportedError, Way, Ways
from engine.pods.state.model import PodModel
from engine.pods.values.resources import CPU
from engine.pods.values.unmodelled import concerns
from engine.pods.values.values import BoundPod, PendingPod, SchedulerMode
from engine.vocabulary.effort import Effort

_MILLI: Final = 1000


def pod_outlook(
    model: PodModel,
    pod_sets: Sequence[Sequence[PendingPod]],
    mode: SchedulerMode,
    now_ns: int,
    leaving: Collection[ObjectKey] = (),
    effort: Effort | None = None,
) -> PodOutlook:
    """Return what kube-scheduler does with these pods, of which each set holds equal ones.

    `leaving` are the pods of the workloads that are preempted for them. What is left of the effort is below 0 if it was
    given up for that.
    """
    pods = [pod for each in pod_sets for pod in each]
    refused = _refusal(model, [each[0] for each in pod_sets])
    if refused:
        return unsupported(refused, now_ns, str(mode))
    emptied = _emptied(model, leaving)
    starts = [emptied]
    if any(model.bound_pod(key) is not None for key in leaving):
        starts.append(_terminating(model, leaving))
    approximate = tuple(_rivals(model, pods))
    if not any(pod.group is not None for pod in pods) and all(certainly_fit(start, pod_sets) for start in starts):
        outcomes = (PodOutcome(),)
        return PodOutlook(
            PodVerdict.FITS, now_ns, str(mode), pods=len(pods), outcomes=outcomes, approximate=approximate
        )
    ways = Ways(mode, pod_sets, effort or Effort(MOST_STEPS))
    try:
        _follow_all(ways, starts, pod_sets, leaving)
    except UnsupportedError as error:
        return unsupported(str(error), now_ns, str(mode))
    approximate = (*ways.approximate, *approximate)
    return _of_ends(
        ways, model, PodOutlook(PodVerdict.FITS, now_ns, str(mode), pods=len(pods), approximate=approximate)
    )


def _follow_all(
    ways: Ways, starts: Sequence[PodModel], pod_sets: Sequence[Sequence[PendingPod]], leaving: Collection[ObjectKey]
) -> None:
    emptied, *crowded = starts
    for pods in ways.orders(pod_sets):
        for is_patient in (False, True):
            arrived = _with_arrivals(emptied, pods)
            ways.follow(Way(arrived, ways.queue_of(arrived, pods), is_patient=is_patient))
        for start in crowded:
            arrived = _with_arrivals(start, pods)
            gone = frozenset(key for key in leaving if start.bound_pod(key) is not None)
            ways.follow(Way(arrived, ways.queue_of(arrived, pods), leaving=gone))


def _refusal(model: PodModel, pods: Sequence[PendingPod]) -> str:
    """Return what of pods, one of each kind, is not modelled; what concerns groups is found when their cycle is."""
    for pod in pods:
        if pod.unsupported:
            return f'Pod "{pod.key}": {pod.unsupported[0]}'
        for bound in model.opinionated_pods():
            for term in bound.keeps_away:
                if concerns(term, pod):
                    return f'Pod "{bound.key}": {term.field}'
    return ""


def _emptied(model: PodModel, leaving: Iterable[ObjectKey]) -> PodModel:
    fork = model.fork()
    for key in leaving:
        fork.put_pod(key, None)
    return fork


def _terminating(model: PodModel, leaving: Iterable[ObjectKey]) -> PodModel:
    fork = model.fork()
    for key in leaving:
        pod = fork.bound_pod(key)
        fork.put_pod(key, None if pod is None else replace(pod, is_terminating=True))
    return fork


def _with_arrivals(model: PodModel, pods: Iterable[PendingPod]) -> PodModel:
    fork = model.fork()
    for pod in pods:
        fork.put_pod(pod.key, pod)
    return fork


def _rivals(model: PodModel, pods: Sequence[PendingPod]) -> Iterable[str]:
    """Yield that others wait for nodes too, and may be faster when room appears."""
    highest = max((pod.priority for pod in pods), default=0)
    waiting = sum(
        not pod.is_terminating and not pod.nominated_node and pod.priority >= highest and not pod.unsupported
        for pod in model.pending.values()
    )
    if waiting:
        yield f"{waiting} other pod(s) of at least this priority wait for a node and may be faster"


def _of_ends(ways: Ways, model: PodModel, empty: PodOutlook) -> PodOutlook:
    ends = list(ways.ends.values())
    outcomes = tuple(_outcome(end) for end in ends)
    is_complete = ways.is_complete and bool(outcomes)
    first = ends[0] if ends else End((), 0, "")
    message = _message(first, empty.pods)
    if not is_complete or len(outcomes) > 1:
        verdict = PodVerdict.AMBIGUOUS
        message = f"{len(outcomes)} outcomes are possible" if is_complete else ways.reason
    elif first.unplaced:
        verdict = PodVerdict.CANNOT
    else:
        verdict = PodVerdict.EVICTS if first.victims else PodVerdict.FITS
    return replace(
        empty,
        verdict=verdict,
        message=message,
        victims=first.victims,
        outcomes=outcomes[:MOST_OUTCOMES],
        is_complete=is_complete,
        cost=pod_cost(model, first.victims, empty.made_ns),
    )


def _outcome(end: End) -> PodOutcome:
    return PodOutcome(tuple(victim.written for victim in end.victims), end.unplaced == 0)


def _message(end: End, pods: int) -> str:
    return f"{end.unplaced} of {pods} pods find no node: {end.problem}" if end.unplaced else ""


def pod_cost(model: PodModel, victims: Iterable[PodVictim], now_ns: int) -> PodCost:
    """Add up what evicting these pods destroys."""
    found = [pod for victim in victims if (pod := model.bound_pod(victim.key)) is not None]
    accelerators = [index for index, name in enumerate(model.resources.names) if "/" in name]
    return PodCost(
        pods=len(found),
        accelerator_seconds=sum(_held(pod, accelerators, now_ns) for pod in found),
        cpu_seconds=sum(_held(pod, [CPU], now_ns) for pod in found) // _MILLI,
    )


def _held(pod: BoundPod, indexes: Sequence[int], now_ns: int) -> int:
    seconds = max(0, now_ns - pod.start_ns) // NANOSECONDS
    return seconds * sum(amount for index, amount in pod.footprint.requests if index in indexes)
