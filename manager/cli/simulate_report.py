"""Simulations for people and for programs: one row per head of a cycle, or plain data for JSON and YAML."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.api.meta import Condition, ObjectKey, format_time
from config.api.quantity import format_request
from engine.cycles.cycle_writes import EntryResult
from engine.cycles.simulation import Ending, QueueContents, Simulation, Step
from engine.decision import Outcome, Victim
from engine.reporting.status_writes import StatusWrite

_HEADER = ("CYCLE", "WORKLOAD", "CLUSTERQUEUE", "OUTCOME", "FLAVORS", "VICTIMS", "THEN")
_ENDINGS = {
    Ending.NO_HEADS: "nobody is left to try",
    Ending.QUIET: "further cycles change nothing",
    Ending.LIMIT: "the number of cycles is used up",
}


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


def as_table(result: Simulation) -> str:
    """Return one row per head of each cycle, and below the table where everything ended."""
    rows = [_HEADER, *_rows(result)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *_closing(result)])


def _rows(result: Simulation) -> Iterator[tuple[str, ...]]:
    for number, step in enumerate(result.steps, start=1):
        for entry in step.cycle.entries:
            victims = ", ".join(map(_victim, entry.victims))
            yield (
                str(number),
                str(entry.key),
                entry.cluster_queue,
                entry.outcome.value,
                _flavors(entry) or "-",
                victims or "-",
                "-" if entry.place is None else entry.place.value,
            )


def _victim(victim: Victim) -> str:
    cost = f", cost {victim.cost}" if victim.cost else ""
    return f"{victim.key} ({victim.reason}{cost})"


def _flavors(entry: EntryResult) -> str:
    if entry.outcome is Outcome.NO_FIT:
        return ""
    return ", ".join(
        f"{pod_set.name}:{resource}={flavor}"
        for pod_set in entry.pod_sets
        for resource, flavor in pod_set.flavors.items()
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
        yield f"  time alone makes the next difference at {format_time(result.next_wake_ns)}"
    if result.alternatives:
        yield f"  this is one of {len(result.alternatives)} ways it may go; -o json lists them all"
    yield from (f"  {label}" for label in result.labels)


def _step(number: int, step: Step) -> dict[str, Any]:
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
