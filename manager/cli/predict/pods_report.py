"""Forecasts of scheduling cycles for people and for programs: sentences and tables, or plain data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from config.api.meta import Obj, ObjectKey
from config.api.quantity import format_request
from config.types.syntax import printable
from engine.pods.values.answer import (
    EvictedUnit,
    PodCycleOutcome,
    PodCycleResult,
    PodForecast,
    Reason,
    ReasonCode,
    UnitKind,
)
from engine.pods.values.explanation import NodeVerdict, ReprieveStep
from engine.pods.values.load import Shortage
from manager.cli.conventions.output import Report, TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.display.fitting import Priority

_NAMES: Final = {UnitKind.POD: "pod", UnitKind.POD_GROUP: "podgroup.scheduling.k8s.io"}


def report_of(forecasts: Sequence[PodForecast]) -> Report:
    """Return forecasts as the result of a command."""
    items = [as_data(forecast) for forecast in forecasts]
    names = [f"{_NAMES[forecast.kind]}/{forecast.key.name}" for forecast in forecasts]
    return Report(
        "PodPredictionList",
        {"items": items},
        lambda screen, is_wide: _lines(forecasts, items, screen, is_wide=is_wide),
        names,
    )


def as_data(forecast: PodForecast) -> dict[str, Any]:
    """Return a forecast as JSON data."""
    data: dict[str, Any] = {
        "kind": forecast.kind.value,
        "name": str(forecast.key),
        "mode": forecast.mode.value,
        **_outcome(forecast.outcome),
        "alternatives": [_outcome(outcome) for outcome in forecast.alternatives],
        "alternativesComplete": forecast.is_complete,
        "approximate": list(forecast.approximate),
        "orderDependent": forecast.is_order_dependent,
        "warnings": list(forecast.warnings),
    }
    if forecast.explanation is not None:
        data["explanation"] = {
            "nodes": [_node(verdict) for verdict in forecast.explanation.nodes],
            "reprieve": [_step(step) for step in forecast.explanation.steps],
            "placement": _places(forecast.explanation.placement),
        }
    return data


def _lines(
    forecasts: Sequence[PodForecast], items: Sequence[Obj], screen: TerminalScreen, *, is_wide: bool
) -> list[str]:
    """Return one row per forecast, and below the table why each is so."""
    if not forecasts:
        return ["no pod is pending"]
    lines = table(_COLUMNS, items, screen, is_wide=is_wide)
    for forecast in forecasts:
        head = f"{forecast.kind} {forecast.key}: {forecast.outcome.result} (kube-scheduler {forecast.mode})"
        lines += ["", *map(printable, (head, *(f"  {line}" for line in _sentences(forecast))))]
    return lines


def _nodes(item: Obj) -> str:
    return ",".join(sorted({*item["nominated"].values(), *item["bound"].values()}))


def _sentences(forecast: PodForecast) -> Iterator[str]:
    outcome = forecast.outcome
    if outcome.reason is not None:
        yield reason_text(outcome.reason)
    yield from (_unit_sentence(unit) for unit in outcome.units)
    yield from (f"would bind {pod} to {node}" for pod, node in sorted(outcome.bound.items()))
    if outcome.result is not PodCycleResult.SCHEDULED:
        yield from (f"would nominate {pod} to {node}" for pod, node in sorted(outcome.nominated.items()))
    for number, other in enumerate(forecast.alternatives, start=1):
        yield f"the scheduler's choice is not deterministic; possibility {number}: {_short(other)}"
    if not forecast.is_complete:
        yield "there are more possibilities than are listed"
    if forecast.is_order_dependent:
        yield "the outcome depends on the order in which members arrive"
    yield from (f"approximate: {text}" for text in forecast.approximate)
    yield from (f"warning: {text}" for text in forecast.warnings)
    if forecast.explanation is not None:
        yield from (_node_sentence(verdict) for verdict in forecast.explanation.nodes)
        yield from (_step_sentence(step) for step in forecast.explanation.steps)


def reason_text(reason: Reason) -> str:
    """Write a reason with its code in front."""
    if reason.code is ReasonCode.UNSUPPORTED:
        return f"unsupported: {reason.text}"
    return f"{reason.code}: {reason.text}"


def _unit_sentence(unit: EvictedUnit) -> str:
    name = f"{unit.kind} {unit.key}"
    if unit.pods != (unit.key,):
        name += f" ({', '.join(map(str, unit.pods))})"
    budget = ", violating a PodDisruptionBudget" if unit.is_violating else ""
    ending = f", of which {len(unit.terminating)} terminating already" if unit.terminating else ""
    return f"would evict {name} of priority {unit.priority}{budget}{ending}"


def _short(outcome: PodCycleOutcome) -> str:
    places = outcome.bound if outcome.result is PodCycleResult.SCHEDULED else outcome.nominated
    where = ", ".join(f"{pod} to {node}" for pod, node in sorted(places.items()))
    return f"{outcome.result}, victims {', '.join(map(str, outcome.victims)) or 'none'}" + (
        f", {where}" if where else ""
    )


def _node_sentence(verdict: NodeVerdict) -> str:
    chosen = " (chosen)" if verdict.is_chosen else ""
    details = [str(shortage) for shortage in verdict.shortages]
    if verdict.score is not None:
        score = verdict.score
        details.append(
            f"{score.victim_pods} pods, {score.violations} budget violations, highest priority {score.top_priority}"
        )
    details += map(_step_sentence, verdict.steps)
    return f"node {verdict.node}: {verdict.answer}{chosen}" + (f": {'; '.join(details)}" if details else "")


def _step_sentence(step: ReprieveStep) -> str:
    budget = ", which would violate a budget" if step.is_violating else ""
    if step.is_kept:
        return f"{step.unit} of priority {step.priority}{budget} can stay"
    why = "; ".join(map(str, step.shortages)) or "the group would not fit"
    where = f" on {step.node}" if step.node else ""
    return f"{step.unit} of priority {step.priority}{budget} must be evicted{where}: {why}"


def _outcome(outcome: PodCycleOutcome) -> dict[str, Any]:
    reason = outcome.reason
    return {
        "result": outcome.result.value,
        "reason": None if reason is None else {"code": _code(reason), "text": reason.text},
        "units": [_unit(unit) for unit in outcome.units],
        "victims": list(map(str, outcome.victims)),
        "nominated": _places(outcome.nominated),
        "bound": _places(outcome.bound),
    }


def _code(reason: Reason) -> str:
    return f"{reason.code}:{reason.text}" if reason.code is ReasonCode.UNSUPPORTED else reason.code.value


def _unit(unit: EvictedUnit) -> dict[str, Any]:
    return {
        "kind": unit.kind.value,
        "name": str(unit.key),
        "priority": unit.priority,
        "pods": list(map(str, unit.pods)),
        "violating": unit.is_violating,
        "terminating": list(map(str, unit.terminating)),
    }


def _places(places: Mapping[ObjectKey, str]) -> dict[str, str]:
    return {str(pod): node for pod, node in sorted(places.items())}


def _node(verdict: NodeVerdict) -> dict[str, Any]:
    data: dict[str, Any] = {"node": verdict.node, "answer": verdict.answer.value, "chosen": verdict.is_chosen}
    if verdict.shortages:
        data["shortages"] = list(map(_shortage, verdict.shortages))
    if verdict.score is not None:
        score = verdict.score
        data["score"] = {
            "budgetViolations": score.violations,
            "highestPriority": score.top_priority,
            "prioritySum": score.priority_sum,
            "pods": score.victim_pods,
            "earliestStartNanoseconds": score.earliest_start_ns,
        }
    if verdict.steps:
        data["reprieve"] = list(map(_step, verdict.steps))
    return data


def _step(step: ReprieveStep) -> dict[str, Any]:
    return {
        "unit": str(step.unit),
        "priority": step.priority,
        "violating": step.is_violating,
        "kept": step.is_kept,
        "node": step.node or None,
        "shortages": list(map(_shortage, step.shortages)),
    }


def _shortage(shortage: Shortage) -> dict[str, Any]:
    return {
        "resource": shortage.resource,
        "requested": format_request(shortage.resource, shortage.requested),
        "free": format_request(shortage.resource, shortage.free),
    }


_COLUMNS: Final = (
    TableColumn("KIND", lambda each: each["kind"], priority=Priority.EXTRA),
    TableColumn("NAME", lambda each: each["name"], priority=Priority.ESSENTIAL),
    TableColumn("RESULT", lambda each: each["result"], priority=Priority.ESSENTIAL),
    TableColumn("EVICTED UNITS", lambda each: len(each["units"])),
    TableColumn("PODS", lambda each: len(each["victims"]), priority=Priority.ESSENTIAL),
    TableColumn("NODES", lambda each: _nodes(each) or "-"),
)
