"""Scenarios of `turnstile predict-pods --batch`: objects, and one of the pods or groups that wait."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group, predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodCycleOutcome, PodCycleResult, PodForecast
from engine.pods.values.values import SchedulerMode

_RELEASES: Final = (SchedulerMode.V1_36, SchedulerMode.V1_37)
_LISTS: Final = {
    "nodes": "Node",
    "podGroups": "PodGroup",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "pods": "Pod",
}


class PodScenarioError(ValueError):
    """A scenario that does not say what it must."""


def answer(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a scenario for every release; raises `ValueError` for one that cannot be used."""
    given = scenario.get("input")
    if not isinstance(given, dict):
        raise PodScenarioError("input is missing or not an object")
    model = PodModel.of(_objects(given))
    for dangling in model.dangling():
        raise dangling
    forecasts = {mode: _predict(model, given.get("preemptor"), mode) for mode in _RELEASES}
    refused = next(
        (one.outcome for one in forecasts.values() if one.outcome.result is PodCycleResult.UNSUPPORTED), None
    )
    if refused is not None:
        return {"unsupported": refused.reason.text if refused.reason else ""}
    return {"expect": {str(mode): _of_release(one) for mode, one in forecasts.items()}}


def _of_release(forecast: PodForecast) -> dict[str, Any]:
    """Return the outcomes; a list that may lack some says so."""
    outcomes = list(map(_outcome, forecast.outcomes))
    return {"outcomes": outcomes} if forecast.is_complete else {"outcomes": outcomes, "complete": False}


def _objects(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field, kind in _LISTS.items():
        entries = [] if given.get(field) is None else given[field]
        if not isinstance(entries, list):
            raise PodScenarioError(f"input.{field} is not a list")
        for index, raw in enumerate(entries):
            if not isinstance(raw, dict):
                raise PodScenarioError(f"input.{field}[{index}] is not an object")
            yield {**raw, "kind": kind}


def _predict(model: PodModel, preemptor: object, mode: SchedulerMode) -> PodForecast:
    if not isinstance(preemptor, dict):
        raise PodScenarioError("input.preemptor is missing or not an object")
    key = ObjectKey(str(preemptor.get("namespace") or "default"), str(preemptor.get("name") or ""))
    match preemptor.get("kind"):
        case "Pod":
            return predict_pod(model, key, mode)
        case "PodGroup":
            return predict_group(model, key, mode)
        case other:
            raise PodScenarioError(f'input.preemptor.kind: "{other}" is not allowed: Pod, PodGroup')


def _outcome(outcome: PodCycleOutcome) -> dict[str, Any]:
    return {
        "result": outcome.result,
        "victims": list(map(str, outcome.victims)),
        "nominated": {str(pod): node for pod, node in sorted(outcome.nominated.items())},
        "bound": {str(pod): node for pod, node in sorted(outcome.bound.items())},
    }
