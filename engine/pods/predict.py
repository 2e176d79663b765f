"""The entrance: what one kube-scheduler cycle does for a pending Pod or PodGroup.

Invariant: the model is not changed, and equal models give equal answers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from config.api.meta import ObjectKey
from engine.pods.search.group_preemption import GroupCycle
from engine.pods.search.pod_preemption import PodCycle
from engine.pods.state.model import PodModel
from engine.pods.state.snapshot import SMALLEST_SAMPLE, NodeSnapshot
from engine.pods.values.answer import PodCycleOutcome, PodCycleResult, PodForecast, Reason, ReasonCode, UnitKind
from engine.pods.values.membership import mismatch
from engine.pods.values.unmodelled import concerns
from engine.pods.values.values import PendingPod, PodGroup, SchedulerMode
from engine.vocabulary.effort import Effort

FREE_CHOICES: Final = 512
"""How many ways are followed where the scheduler chooses freely; beyond it an answer is marked incomplete."""
_COMPOSITE: Final = "spec.parentCompositePodGroupName"


class NotPendingError(ValueError):
    """Asked about a pod or group for which no pod waits for a node."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a forecast goes where much is possible."""

    choices: int = FREE_CHOICES
    effort: Effort = field(default_factory=Effort)
    """Beyond it `TooMuchEffortError` is raised."""


def predict_pod(
    model: PodModel,
    key: ObjectKey,
    mode: SchedulerMode = SchedulerMode.V1_37,
    *,
    explain: bool = False,
    bounds: Bounds | None = None,
) -> PodForecast:
    """Forecast a pending pod; a member of a group is scheduled with its group, so the answer is the group's."""
    bounds = bounds or Bounds()
    pod = model.pending.get(key)
    if pod is None:
        raise NotPendingError(f"Pod {key} is not waiting for a node")
    if pod.group is not None:
        return predict_group(model, pod.group, mode, explain=explain, bounds=bounds)
    if pod.is_terminating:
        raise NotPendingError(f"Pod {key} is being deleted and will not be scheduled")
    snapshot = NodeSnapshot(model, [key], bounds.effort)
    refused = _unsupported(model, UnitKind.POD, key, [pod], mode)
    if refused is not None:
        return refused
    forecast = PodCycle(snapshot, pod, mode, limit=_limit(snapshot, bounds), explains=explain).run()
    return _with_approximations(forecast, model, [pod])


def predict_group(
    model: PodModel,
    key: ObjectKey,
    mode: SchedulerMode = SchedulerMode.V1_37,
    *,
    explain: bool = False,
    bounds: Bounds | None = None,
) -> PodForecast:
    """Forecast a group of which pods are pending."""
    bounds = bounds or Bounds()
    waiting = model.pending_members(key)
    members = [pod for pod in waiting if not pod.is_terminating]
    if not members:
        raise NotPendingError(f"PodGroup {key} has no pod that waits for a node")
    group = model.groups.get(key)
    gate = _gate(model, key, group, len(waiting))
    if group is None or gate is not None:
        return PodForecast(UnitKind.POD_GROUP, key, mode, (PodCycleOutcome(PodCycleResult.GATED, reason=gate),))
    refused = _unsupported(model, UnitKind.POD_GROUP, key, members, mode)
    if refused is not None:
        return refused
    disagreement = mismatch(group, members, model.bound_members(key).values(), mode)
    if disagreement is not None:
        return PodForecast(UnitKind.POD_GROUP, key, mode, (PodCycleOutcome(PodCycleResult.ERROR, reason=disagreement),))
    snapshot = NodeSnapshot(model, (pod.key for pod in waiting), bounds.effort)
    forecast = GroupCycle(snapshot, group, members, mode, limit=_limit(snapshot, bounds), explains=explain).run()
    return _with_approximations(forecast, model, members)


def _limit(snapshot: NodeSnapshot, bounds: Bounds) -> int:
    """Return how many free choices are followed: where the scheduler samples nodes, listing ties has no meaning."""
    return 1 if len(snapshot.nodes) >= SMALLEST_SAMPLE else bounds.choices


def _gate(model: PodModel, key: ObjectKey, group: PodGroup | None, waiting: int) -> Reason | None:
    if group is None:
        text = f'waiting for pods\'s pod group "{key.name}" to appear in scheduling queue'
        return Reason(ReasonCode.WAITING_FOR_POD_GROUP, text)
    pods = waiting + len(model.bound_members(key))
    if group.min_count is None or pods >= group.min_count:
        return None
    text = (
        f'PodGroup "{key}": spec.schedulingPolicy.gang.minCount: {group.min_count} is more than the {pods} pods that '
        f"name the group: waiting for minCount pods from a gang to appear in scheduling queue"
    )
    return Reason(ReasonCode.WAITING_FOR_MIN_COUNT, text)


def _unsupported(
    model: PodModel, kind: UnitKind, key: ObjectKey, pods: Sequence[PendingPod], mode: SchedulerMode
) -> PodForecast | None:
    field = next(_unsupported_fields(model, kind, key, pods), None)
    if field is None:
        return None
    reason = Reason(ReasonCode.UNSUPPORTED, field)
    return PodForecast(kind, key, mode, (PodCycleOutcome(PodCycleResult.UNSUPPORTED, reason=reason),))


def _unsupported_fields(model: PodModel, kind: UnitKind, key: ObjectKey, pods: Sequence[PendingPod]) -> Iterator[str]:
    for pod in pods:
        yield from (f'Pod "{pod.key}": {field}' for field in pod.unsupported)
    if kind is UnitKind.POD_GROUP:
        yield from (f'PodGroup "{key}": {field}' for field in model.groups[key].unsupported)
    for group in model.groups.values():
        if _COMPOSITE in group.unsupported:
            yield f'PodGroup "{group.key}": {_COMPOSITE}'
    for bound in model.opinionated_pods():
        for term in bound.keeps_away:
            if any(concerns(term, pod) for pod in pods):
                yield f'Pod "{bound.key}": {term.field}'


def _with_approximations(forecast: PodForecast, model: PodModel, pods: Sequence[PendingPod]) -> PodForecast:
    found = dict.fromkeys([*forecast.approximate, *_approximations(model, pods)])
    return replace(forecast, approximate=tuple(found))


def _approximations(model: PodModel, pods: Sequence[PendingPod]) -> Iterator[str]:
    """Yield what steers the choice among feasible nodes and is not counted."""
    for pod in pods:
        yield from (f'Pod "{pod.key}": {field}' for field in pod.approximate)
    for bound in model.opinionated_pods():
        for term in bound.attracts:
            if any(concerns(term, pod) for pod in pods):
                yield f'Pod "{bound.key}": {term.field}'
    wanted = {image for pod in pods for image in pod.images}
    for image in _unevenly_present(model, wanted):
        yield f'image "{image}" is on some nodes only, which the scheduler prefers'


def _unevenly_present(model: PodModel, wanted: Iterable[str]) -> Iterator[str]:
    nodes = [state.node for state in model.nodes.values() if state.node is not None]
    for image in sorted(wanted):
        holders = sum(image in node.images for node in nodes)
        if 0 < holders < len(nodes):
            yield image
