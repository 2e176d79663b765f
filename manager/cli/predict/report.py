"""Predictions for people and for programs: sentences and tables, or plain data for JSON and YAML."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from config.api.meta import Obj
from config.api.quantity import format_amount, format_request
from config.names import KUEUE_GROUP
from config.types.syntax import printable
from engine.reporting.explanation import NominationExplanation, QueueTally, QuotaLevel, ResourceTrial, UnsuitableFlavor
from engine.vocabulary.decision import Outcome, PodSetPrediction, Prediction
from engine.vocabulary.topology import DelayedTopology
from manager.cli.conventions.output import Report, TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.display.fitting import Priority

_MOST_DOMAINS: Final = 12
"""So many domains are listed in a sentence; data has all of them."""


def report_of(predictions: Sequence[Prediction]) -> Report:
    """Return predictions as the result of a command."""
    items = [as_data(prediction) for prediction in predictions]
    names = [f"workload.{KUEUE_GROUP}/{prediction.key.name}" for prediction in predictions]
    return Report(
        "PredictionList",
        {"items": items},
        lambda screen, is_wide: _lines(predictions, items, screen, is_wide=is_wide),
        names,
    )


def as_data(prediction: Prediction) -> dict[str, Any]:
    """Return a prediction as JSON data; amounts are quantities as Kueue prints them."""
    data: dict[str, Any] = {
        "workload": str(prediction.key),
        "outcome": prediction.outcome.value,
        "clusterQueue": prediction.cluster_queue,
        "mode": str(prediction.mode),
        "message": prediction.message,
        "podSets": [_pod_set(pod_set) for pod_set in prediction.pod_sets],
        "borrowing": prediction.borrowing,
        "victims": [
            {
                "namespace": victim.key.namespace,
                "name": victim.key.name,
                "clusterQueue": victim.cluster_queue,
                "reason": victim.reason.value,
                **({"preemptionCost": victim.cost} if victim.cost else {}),
            }
            for victim in prediction.victims
        ],
        "labels": list(prediction.labels),
    }
    if prediction.reduced_counts:
        data["reducedCounts"] = dict(prediction.reduced_counts)
    if prediction.alternatives:
        data["alternatives"] = [as_data(alternative) for alternative in prediction.alternatives]
    if prediction.explanation is not None:
        data["explanation"] = [_step(step) for step in prediction.explanation.steps]
    return data


def _lines(
    predictions: Sequence[Prediction], items: Sequence[Obj], screen: TerminalScreen, *, is_wide: bool
) -> list[str]:
    """Return one row per prediction, and below the table why each is so."""
    if not predictions:
        return ["no workload is pending"]
    lines = table(_COLUMNS, items, screen, is_wide=is_wide)
    for prediction in predictions:
        told = [f"{prediction.key}: {prediction.outcome}", *(f"  {line}" for line in _sentences(prediction))]
        lines += ["", *map(printable, told)]
    return lines


def _flavors(item: Obj) -> str:
    return ",".join(
        f"{pod_set['name']}:{resource}={flavor}"
        for pod_set in item["podSets"]
        for resource, flavor in pod_set["flavors"].items()
    )


def _sentences(prediction: Prediction) -> Iterator[str]:
    if prediction.message:
        yield prediction.message
    for name, count in prediction.reduced_counts.items():
        yield f"pod set {name} would run with {count} pods"
    yield from _places(prediction)
    for victim in prediction.victims:
        cost = f" at a cost of {victim.cost}" if victim.cost else ""
        yield f"would preempt {victim.key} in ClusterQueue {victim.cluster_queue} ({victim.reason}){cost}"
    for number, alternative in enumerate(prediction.alternatives, start=1):
        names = ", ".join(str(victim.key) for victim in alternative.victims) or "none"
        yield f"Kueue's choice is not deterministic; possibility {number}: {alternative.outcome}, victims {names}"
    for label in prediction.labels:
        yield f"note: {label}"
    if prediction.explanation is not None:
        yield from _explain(prediction.explanation)


def _places(prediction: Prediction) -> Iterator[str]:
    """Say where pods go; what Kueue only keeps for a workload that it cannot place is not a place."""
    after = {Outcome.ADMIT: "", Outcome.PREEMPT: ", once the victims are gone"}.get(prediction.outcome)
    if after is None:
        return
    for pod_set in prediction.pod_sets:
        if pod_set.delayed_topology is DelayedTopology.PENDING:
            yield f"pod set {pod_set.name} gets its nodes later"
        if pod_set.topology is not None:
            domains = pod_set.topology.domains
            listed = ", ".join(f"{'/'.join(values)}: {count}" for values, count in domains[:_MOST_DOMAINS])
            more = f" and {len(domains) - _MOST_DOMAINS} more" if len(domains) > _MOST_DOMAINS else ""
            level = pod_set.topology.levels[-1]
            yield f"pod set {pod_set.name} goes to {level} {listed or 'no domain'}{more}{after}"


def _explain(explanation: NominationExplanation) -> Iterator[str]:
    for step in explanation.steps:
        names = ", ".join(step.pod_sets)
        if isinstance(step, UnsuitableFlavor):
            yield f"pod set {names}: {step.reason}"
            continue
        yield f"pod set {names}: {_trial_sentence(step)}"
        yield from (f"  {_level_sentence(level, step.resource)}" for level in step.levels)
        yield from (f"  {_tally_sentence(tally)}" for tally in step.candidates)


def _trial_sentence(trial: ResourceTrial) -> str:
    def amount(value: int) -> str:
        return format_amount(trial.resource, value)

    assumed = f" beside {amount(trial.assumed)} of earlier pod sets" if trial.assumed else ""
    borrowed = f", borrowing at level {trial.borrow_level}" if trial.borrow_level else ""
    return (
        f"{trial.resource} in flavor {trial.flavor}: needs {amount(trial.requested)}{assumed}, "
        f"{amount(trial.available)} free, {amount(trial.potential)} at most ({amount(trial.nominal)} nominal): "
        f"{trial.possibility.name.replace('_', ' ').lower()}{borrowed}"
    )


def _level_sentence(level: QuotaLevel, resource: str) -> str:
    kind = "cohort" if level.is_cohort else "ClusterQueue"
    parts = [
        f"{kind} {level.name}: {format_amount(resource, level.usage)} of {format_amount(resource, level.quota)} used"
    ]
    if level.kept:
        parts.append(f"{format_amount(resource, level.kept)} never lent")
    if level.borrowing_limit is not None:
        parts.append(f"borrows at most {format_amount(resource, level.borrowing_limit)}")
    return ", ".join(parts)


def _tally_sentence(tally: QueueTally) -> str:
    owner = "its own ClusterQueue" if tally.is_own else f"ClusterQueue {tally.cluster_queue}"
    safe = "; ".join(f"{count} not preemptible: {reason}" for reason, count in tally.protected.items())
    costs = f", at costs from {tally.costs[0]} to {tally.costs[1]}" if tally.costs is not None else ""
    return f"{owner}: {tally.eligible} of {tally.considered} could be preempted{costs}" + (f"; {safe}" if safe else "")


def _pod_set(pod_set: PodSetPrediction) -> dict[str, Any]:
    return {
        "name": pod_set.name,
        "count": pod_set.count,
        "flavors": dict(pod_set.flavors),
        "usage": {resource: format_request(resource, amount) for resource, amount in pod_set.usage.items()},
        "modes": {resource: str(mode) for resource, mode in pod_set.modes.items()},
        "borrowLevels": dict(pod_set.borrow_levels),
        **_topology(pod_set),
    }


def _topology(pod_set: PodSetPrediction) -> dict[str, Any]:
    """Return where the pods of a pod set go, as far as topology plays a part."""
    found: dict[str, Any] = {}
    if pod_set.topology is not None:
        domains = [{"values": list(values), "count": count} for values, count in pod_set.topology.domains]
        found["topology"] = {"levels": list(pod_set.topology.levels), "domains": domains}
    if pod_set.delayed_topology is not None:
        found["delayedTopology"] = str(pod_set.delayed_topology)
    return found


def _step(step: ResourceTrial | UnsuitableFlavor) -> dict[str, Any]:
    if isinstance(step, UnsuitableFlavor):
        return {"podSets": list(step.pod_sets), "flavor": step.flavor, "unsuitable": step.reason}
    resource = step.resource
    return {
        "podSets": list(step.pod_sets),
        "flavor": step.flavor,
        "resource": resource,
        "needs": format_amount(resource, step.requested),
        "assumed": format_amount(resource, step.assumed),
        "available": format_amount(resource, step.available),
        "nominal": format_amount(resource, step.nominal),
        "potential": format_amount(resource, step.potential),
        "possibility": step.possibility.name,
        "borrowLevel": step.borrow_level,
        "levels": [_level(level, resource) for level in step.levels],
        "candidates": list(_tallies(step.candidates)),
    }


def _level(level: QuotaLevel, resource: str) -> dict[str, Any]:
    limit = level.borrowing_limit
    return {
        "kind": "Cohort" if level.is_cohort else "ClusterQueue",
        "name": level.name,
        "quota": format_amount(resource, level.quota),
        "usage": format_amount(resource, level.usage),
        "neverLent": format_amount(resource, level.kept),
        "borrowingLimit": None if limit is None else format_amount(resource, limit),
    }


def _tallies(tallies: Iterable[QueueTally]) -> Iterator[dict[str, Any]]:
    for tally in tallies:
        yield {
            "clusterQueue": tally.cluster_queue,
            "considered": tally.considered,
            "eligible": tally.eligible,
            "safe": {reason.value: count for reason, count in tally.protected.items()},
            **({} if tally.costs is None else {"costs": {"lowest": tally.costs[0], "highest": tally.costs[1]}}),
        }


_COLUMNS: Final = (
    TableColumn("WORKLOAD", lambda each: each["workload"], priority=Priority.ESSENTIAL),
    TableColumn("CLUSTERQUEUE", lambda each: each["clusterQueue"] or "-"),
    TableColumn("OUTCOME", lambda each: each["outcome"], priority=Priority.ESSENTIAL),
    TableColumn("FLAVORS", lambda each: _flavors(each) or "-"),
    TableColumn(
        "BORROWS", lambda each: "-" if each["borrowing"] is None else each["borrowing"], priority=Priority.EXTRA
    ),
    TableColumn("VICTIMS", lambda each: len(each["victims"]), priority=Priority.ESSENTIAL),
)
