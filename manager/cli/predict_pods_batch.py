"""`turnstile predict-pods --batch`: one scenario per line in, one answer per line out, in the same order.

A scenario is a set of nodes, pods, PodGroups and PodDisruptionBudgets and one of the pods or groups that wait. It is
answered for every release. A line that cannot be used gets an answer with an `error` and the run goes on.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from config.api.meta import ObjectKey
from engine.pods.answer import Forecast, Outcome, Result
from engine.pods.model import PodModel
from engine.pods.predict import predict_group, predict_pod
from engine.pods.values import Mode

_RELEASES: Final = (Mode.V1_36, Mode.V1_37)
_LISTS: Final = {
    "nodes": "Node",
    "podGroups": "PodGroup",
    "podDisruptionBudgets": "PodDisruptionBudget",
    "pods": "Pod",
}


class ScenarioError(ValueError):
    """A scenario that does not say what it must."""


def answer_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Answer every line that is not blank."""
    for line in lines:
        if line.strip():
            yield orjson.dumps(_answer(line))


def _answer(line: bytes) -> dict[str, Any]:
    try:
        scenario = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return {"name": None, "error": f"the line is not JSON: {error}"}
    if not isinstance(scenario, dict):
        return {"name": None, "error": "the line is not a JSON object"}
    name = scenario.get("name")
    try:
        return {"name": name, **_expect(scenario)}
    except ValueError as error:
        return {"name": name, "error": str(error)}


def _expect(scenario: Mapping[str, Any]) -> dict[str, Any]:
    given = scenario.get("input")
    if not isinstance(given, dict):
        raise ScenarioError("input is missing or not an object")
    model = PodModel.of(_objects(given))
    for dangling in model.dangling():
        raise dangling
    forecasts = {mode: _predict(model, given.get("preemptor"), mode) for mode in _RELEASES}
    refused = next((one.outcome for one in forecasts.values() if one.outcome.result is Result.UNSUPPORTED), None)
    if refused is not None:
        return {"unsupported": refused.reason.text if refused.reason else ""}
    return {"expect": {str(mode): _of_release(one) for mode, one in forecasts.items()}}


def _of_release(forecast: Forecast) -> dict[str, Any]:
    """Return the outcomes; a list that may lack some says so."""
    outcomes = list(map(_outcome, forecast.outcomes))
    return {"outcomes": outcomes} if forecast.is_complete else {"outcomes": outcomes, "complete": False}


def _objects(given: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field, kind in _LISTS.items():
        entries = [] if given.get(field) is None else given[field]
        if not isinstance(entries, list):
            raise ScenarioError(f"input.{field} is not a list")
        for index, raw in enumerate(entries):
            if not isinstance(raw, dict):
                raise ScenarioError(f"input.{field}[{index}] is not an object")
            yield {**raw, "kind": kind}


def _predict(model: PodModel, preemptor: object, mode: Mode) -> Forecast:
    if not isinstance(preemptor, dict):
        raise ScenarioError("input.preemptor is missing or not an object")
    key = ObjectKey(str(preemptor.get("namespace") or "default"), str(preemptor.get("name") or ""))
    match preemptor.get("kind"):
        case "Pod":
            return predict_pod(model, key, mode)
        case "PodGroup":
            return predict_group(model, key, mode)
        case other:
            raise ScenarioError(f'input.preemptor.kind: "{other}" is not allowed: Pod, PodGroup')


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "result": outcome.result,
        "victims": list(map(str, outcome.victims)),
        "nominated": {str(pod): node for pod, node in sorted(outcome.nominated.items())},
        "bound": {str(pod): node for pod, node in sorted(outcome.bound.items())},
    }
