"""Forecasts of scheduling cycles for people and for programs: sentences and tables, or plain data."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from config.api.meta import ObjectKey
from config.api.quantity import format_request
from engine.pods.answer import EvictedUnit, Forecast, Outcome, Reason, ReasonCode, Result
from engine.pods.explanation import NodeVerdict, ReprieveStep
from engine.pods.load import Shortage

_HEADER: Final = ("KIND", "NAME", "RESULT", "EVICTED UNITS", "PODS", "NODES")


def as_data(forecast: Forecast) -> dict[str, Any]:
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


def as_table(forecasts: Sequence[Forecast]) -> str:
    """Return one row per forecast, and below the table why each is so."""
    rows = [_HEADER, *map(_row, forecasts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for forecast in forecasts:
        lines += [
            "",
            f"{forecast.kind} {forecast.key}: {forecast.outcome.result} (kube-scheduler {forecast.mode})",
            *(f"  {line}" for line in _sentences(forecast)),
        ]
    return "\n".join(lines)


def _row(forecast: Forecast) -> tuple[str, ...]:
    outcome = forecast.outcome
    nodes = sorted({*outcome.nominated.values(), *outcome.bound.values()})
    return (
        forecast.kind,
        str(forecast.key),
        outcome.result,
        str(len(outcome.units)),
        str(len(outcome.victims)),
        ",".join(nodes) or "-",
    )


def _sentences(forecast: Forecast) -> Iterator[str]:
    outcome = forecast.outcome
    if outcome.reason is not None:
        yield reason_text(outcome.reason)
    yield from (_unit_sentence(unit) for unit in outcome.units)
    yield from (f"would bind {pod} to {node}" for pod, node in sorted(outcome.bound.items()))
    if outcome.result is not Result.SCHEDULED:
        yield from (f"would nominate {pod} to {node}" for pod, node in sorted(outcome.nominated.items()))
    for number, other in enumerate(forecast.alternatives, start=1):
        yield f"the scheduler chooses freely; possibility {number}: {_short(other)}"
    if not forecast.is_complete:
        yield "there are more possibilities than are listed"
    if forecast.is_order_dependent:
        yield "another order of the members' arrival would lead to another outcome"
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
    budget = ", overdrawing a PodDisruptionBudget" if unit.is_violating else ""
    ending = f", of which {len(unit.terminating)} terminating already" if unit.terminating else ""
    return f"would evict {name} of priority {unit.priority}{budget}{ending}"


def _short(outcome: Outcome) -> str:
    places = outcome.bound if outcome.result is Result.SCHEDULED else outcome.nominated
    where = ", ".join(f"{pod} to {node}" for pod, node in sorted(places.items()))
    return f"{outcome.result}, victims {', '.join(map(str, outcome.victims)) or 'nobody'}" + (
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
    budget = ", which would overdraw a budget" if step.is_violating else ""
    if step.is_kept:
        return f"{step.unit} of priority {step.priority}{budget} can stay"
    why = "; ".join(map(str, step.shortages)) or "the group would not find room"
    where = f" on {step.node}" if step.node else ""
    return f"{step.unit} of priority {step.priority}{budget} must go{where}: {why}"


def _outcome(outcome: Outcome) -> dict[str, Any]:
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
