"""Simulations for people and for programs: one row per head of a cycle, or plain data for JSON and YAML."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from config.api.meta import Condition, Obj, ObjectKey, format_time
from config.api.quantity import format_request
from config.names import KUEUE_GROUP
from config.types.syntax import printable
from engine.cycles.cycle_writes import EntryResult
from engine.cycles.simulation import CycleStep, Ending, QueueContents, Simulation
from engine.reporting.status_writes import StatusWrite
from engine.vocabulary.decision import Outcome
from manager.cli.conventions.output import Report, TableColumn, table
from manager.cli.conventions.terminal import TerminalScreen
from manager.cli.display.fitting import Priority

_ENDINGS = {
    Ending.NO_HEADS: "no workload is left to schedule",
    Ending.QUIET: "further cycles change nothing",
    Ending.LIMIT: "the limit of cycles is reached",
}


def report_of(result: Simulation) -> Report:
    """Return a simulation as the result of a command; its names are the workloads that hold quota at the end."""
    body = as_data(result)
    holders = [key for keys in result.final.reserving.values() for key in keys]
    return Report(
        "Simulation",
        body,
        lambda screen, is_wide: _lines(result, body, screen, is_wide=is_wide),
        [f"workload.{KUEUE_GROUP}/{key.name}" for key in holders],
    )


def as_data(result: Simulation) -> dict[str, Any]:
    """Return a simulation as JSON data."""
    data: dict[str, Any] = {
        "settled": [_write(write) for write in result.settled],
        "cycles": [_step(number, step) for number, step in enumerate(result.steps, start=1)],
        "ending": result.ending.value,
        "final": {"reserving": _names(result.final.reserving), "queues": _contents(result.final.queues)},
        "nextWake": None if result.next_wake_ns is None else format_time(result.next_wake_ns),
        "labels": list(result.labels),
    }
    if result.alternatives:
        data["alternatives"] = [as_data(alternative) for alternative in result.alternatives]
    return data


def _lines(result: Simulation, body: Obj, screen: TerminalScreen, *, is_wide: bool) -> list[str]:
    """Return one row per head of each cycle, and below the table where everything ended."""
    rows = [{**entry, "cycle": step["cycle"]} for step in body["cycles"] for entry in step["entries"]]
    return [*table(_COLUMNS, rows, screen, is_wide=is_wide), "", *map(printable, _closing(result))]


def _victims(entry: Obj) -> str:
    return ", ".join(f"{victim['workload']} ({victim['reason']}{_cost(victim)})" for victim in entry["victims"])


def _cost(victim: Obj) -> str:
    return f", cost {victim['preemptionCost']}" if "preemptionCost" in victim else ""


def _flavors(entry: Obj) -> str:
    if entry["outcome"] == Outcome.NO_FIT.value:
        return ""
    return ", ".join(
        f"{pod_set['name']}:{resource}={flavor}"
        for pod_set in entry["podSets"]
        for resource, flavor in pod_set["flavors"].items()
    )


def _closing(result: Simulation) -> Iterator[str]:
    yield f"ended after {len(result.steps)} cycles: {_ENDINGS[result.ending]}"
    for name, keys in result.final.reserving.items():
        yield f"  {name} holds quota for: {', '.join(map(str, keys))}"
    queues = result.final.queues
    for name in sorted({*queues.heap, *queues.parked}):
        waiting = [*queues.heap.get(name, ()), *(f"{key} (parked)" for key in queues.parked.get(name, ()))]
        yield f"  {name} has waiting: {', '.join(map(str, waiting))}"
    if result.next_wake_ns is not None:
        yield f"  the next change is due at {format_time(result.next_wake_ns)}"
    if result.alternatives:
        yield f"  this is one of {len(result.alternatives)} possible outcomes; -o json lists them all"
    yield from (f"  {label}" for label in result.labels)


def _step(number: int, step: CycleStep) -> dict[str, Any]:
    return {
        "cycle": number,
        "time": format_time(step.cycle.now_ns),
        "entries": [_entry(entry) for entry in step.cycle.entries],
        "writes": [_write(write) for write in step.cycle.writes if write.changes_status or write.events],
        "queues": _contents(step.queues),
        "released": [_write(write) for write in step.released],
        "labels": list(step.cycle.labels),
    }


def _entry(entry: EntryResult) -> dict[str, Any]:
    return {
        "workload": str(entry.key),
        "clusterQueue": entry.cluster_queue,
        "outcome": entry.outcome.value,
        "message": entry.message,
        "podSets": [
            {
                "name": pod_set.name,
                "count": pod_set.count,
                "flavors": dict(pod_set.flavors),
                "usage": {resource: format_request(resource, amount) for resource, amount in pod_set.usage.items()},
            }
            for pod_set in entry.pod_sets
        ],
        "borrowing": entry.borrowing,
        "victims": [
            {
                "workload": str(victim.key),
                "clusterQueue": victim.cluster_queue,
                "reason": victim.reason.value,
                **({"preemptionCost": victim.cost} if victim.cost else {}),
            }
            for victim in entry.victims
        ],
        "requeue": None if entry.requeue is None else entry.requeue.value,
        "place": None if entry.place is None else entry.place.value,
    }


def _write(write: StatusWrite) -> dict[str, Any]:
    return {
        "workload": str(write.key),
        "conditions": [_condition(condition) for condition in write.changed_conditions],
        "patch": write.merge_patch()["status"],
        "events": [
            {"type": event.type.value, "reason": event.reason, "message": event.message} for event in write.events
        ],
    }


def _condition(condition: Condition) -> dict[str, str]:
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
    }


def _contents(contents: QueueContents) -> dict[str, Any]:
    return {"heap": _names(contents.heap), "parked": _names(contents.parked)}


def _names(keys_of: Mapping[str, Sequence[ObjectKey]]) -> dict[str, list[str]]:
    return {name: [str(key) for key in keys] for name, keys in keys_of.items()}


_COLUMNS: Final = (
    TableColumn("CYCLE", lambda each: each["cycle"], priority=Priority.ESSENTIAL),
    TableColumn("WORKLOAD", lambda each: each["workload"], priority=Priority.ESSENTIAL),
    TableColumn("CLUSTERQUEUE", lambda each: each["clusterQueue"]),
    TableColumn("OUTCOME", lambda each: each["outcome"], priority=Priority.ESSENTIAL),
    TableColumn("FLAVORS", lambda each: _flavors(each) or "-"),
    TableColumn("VICTIMS", lambda each: _victims(each) or "-"),
    TableColumn("THEN", lambda each: each["place"] or "-", priority=Priority.EXTRA),
)
