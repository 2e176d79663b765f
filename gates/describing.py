"""Hub Workloads as documents for people and programs: what lists show, made from what the hub's objects say.

Pure. The daemon and whoever reads the hub without it make these from the same records, so both tell the same story.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from config.api.meta import format_time
from gates.forecasts import ForecastRecord
from gates.records import CheckEntry, HubRecord
from gates.view import CheckState

Obj = dict[str, Any]


def phase_of(record: HubRecord, entry: CheckEntry | None) -> str:
    """Return where a Workload stands, in one word."""
    if record.is_true("Finished"):
        return "Finished"
    if not record.is_true("QuotaReserved"):
        return "Queued"
    if entry is None or entry.state is CheckState.PENDING:
        return "Pending"
    return "Admitted" if entry.state is CheckState.READY else str(entry.state)


def workload_document(record: HubRecord, entry: CheckEntry | None) -> Obj:
    """Return what a list says about a Workload; `entry` is its admission check of ours."""
    waits = entry is not None and entry.state is CheckState.PENDING
    last = max(record.openings, key=lambda opening: opening.opened_ns, default=None)
    return {
        "namespace": record.namespace,
        "name": record.name,
        "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
        "queue": record.queue,
        "clusterQueue": record.cluster_queue,
        "created": format_time(record.created_ns) if record.created_ns else "",
        "phase": phase_of(record, entry),
        "check": str(entry.state) if entry is not None else "",
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "gate": last.cluster if last is not None and waits else "",
        "forecast": str(record.forecast.result) if record.forecast is not None else "",
        "podForecast": str(record.forecast.pods.result) if record.forecast and record.forecast.pods else "",
        "message": entry.message if entry is not None else "",
    }


def forecast_document(record: HubRecord) -> Obj | None:
    """Return what was forecast when the last gate was opened, and what became of it; None if nothing was."""
    found = record.forecast
    if found is None:
        return None
    return {"namespace": record.namespace, "name": record.name, **forecast_details(found)}


def forecast_details(found: ForecastRecord) -> Obj:
    """Return a record of a forecast as a document."""
    forecast, cost = found.forecast, found.forecast.cost
    return {
        "worker": found.cluster,
        "opened": format_time(found.opened_ns),
        "verdict": str(forecast.verdict),
        "message": forecast.message,
        "clusterQueue": forecast.cluster_queue,
        "flavors": dict(forecast.flavors),
        "victims": [
            {
                "namespace": victim.namespace,
                "name": victim.name,
                "owner": victim.owner,
                "priority": victim.priority,
                "reason": victim.reason,
            }
            for victim in forecast.victims
        ],
        "cost": {
            "victims": cost.victims,
            "pods": cost.pods,
            "cpuSeconds": cost.cpu_seconds,
            "acceleratorSeconds": cost.accelerator_seconds,
            "preemptionCost": cost.preemption_cost,
        },
        "result": str(found.result),
        "resultMessage": found.message,
        "verified": format_time(found.verified_ns) if found.verified_ns is not None else "",
    }


def recorded_gates(record: HubRecord, timeout_ns: int | None) -> list[Obj]:
    """Return the openings that the hub's record names; whether a copy asks, only its worker knows."""
    return [
        gate_document(
            record,
            opening.cluster,
            gate="Open",
            opened_ns=opening.opened_ns,
            ends_ns=opening.opened_ns + timeout_ns if timeout_ns is not None else None,
        )
        for opening in sorted(record.openings, key=lambda opening: (opening.opened_ns, opening.cluster))
    ]


def gate_document(
    record: HubRecord,
    worker: str,
    *,
    gate: str,
    asks_ns: int | None = None,
    opened_ns: int | None = None,
    ends_ns: int | None = None,
) -> Obj:
    """Return what a list says about one gate; `ends_ns` is when its turn is over."""
    return {
        "namespace": record.namespace,
        "name": record.name,
        "worker": worker,
        "gate": gate,
        "asksSince": _moment(asks_ns),
        "opened": _moment(opened_ns),
        "turnEnds": _moment(ends_ns),
    }


def overview(
    workers: Iterable[Mapping[str, Any]],
    workloads: Iterable[Mapping[str, Any]],
    gates: Iterable[Mapping[str, Any]],
    forecasts: Iterable[Mapping[str, Any]],
) -> Obj:
    """Count what the lists say."""
    known = list(workers)
    return {
        "workers": {
            "total": len(known),
            "connected": sum(worker["connection"] == "Connected" for worker in known),
            "away": sorted(worker["name"] for worker in known if worker["connection"] != "Connected"),
            "unreliable": sorted(worker["name"] for worker in known if worker.get("forecast") == "unreliable"),
        },
        "workloads": _counts(workload["phase"] for workload in workloads),
        "gates": _counts(gate["gate"] for gate in gates),
        "forecasts": _counts(forecast["result"] for forecast in forecasts),
    }


def _counts(words: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items()))


def _moment(ns: int | None) -> str:
    return "" if ns is None else format_time(ns)
