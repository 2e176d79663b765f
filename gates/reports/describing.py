"""Hub Workloads as documents for people and programs: what lists show, made from what the hub's objects say.

Pure. The daemon, and commands that read the hub without it, make these from the same records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.api.identifiers import WorkerName
from config.api.meta import Obj, format_time
from gates.model.forecast_documents import forecast_document
from gates.model.forecasts import ForecastRecord
from gates.model.hub_workload import CheckState
from gates.model.texts import moment
from gates.reports.hub_state import hub_state
from gates.wire.records import CheckEntry, HubRecord


def workload_document(record: HubRecord, entry: CheckEntry | None) -> Obj:
    """Return what a list says about a Workload; `entry` is its MultiKueue admission check."""
    state = hub_state(record, entry)
    waits = entry is not None and entry.state is CheckState.PENDING
    last = max(record.openings, key=lambda opening: opening.opened_ns, default=None)
    return {
        "namespace": record.namespace,
        "name": record.name,
        "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
        "queue": record.queue,
        "clusterQueue": record.cluster_queue,
        "created": format_time(record.created_ns) if record.created_ns else "",
        "phase": state.phase,
        "state": state.document(),
        "check": str(entry.state) if entry is not None else "",
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "gate": last.cluster if last is not None and waits else "",
        "forecast": str(record.forecast.result) if record.forecast is not None else "",
        "podForecast": str(record.forecast.pods.result) if record.forecast and record.forecast.pods else "",
        "message": state.message,
    }


def recorded_forecast(record: HubRecord) -> Obj | None:
    """Return what was forecast when the last gate was opened, and what became of it; None if nothing was."""
    found = record.forecast
    if found is None:
        return None
    return {"namespace": record.namespace, "name": record.name, **forecast_details(found)}


def forecast_details(found: ForecastRecord) -> Obj:
    """Return a record of a forecast as a document."""
    return {
        "worker": found.cluster,
        "opened": moment(found.opened_ns),
        **forecast_document(found.forecast),
        "result": str(found.result),
        "resultMessage": found.message,
        "verified": moment(found.verified_ns),
    }


def recorded_gates(record: HubRecord, timeout_ns: int | None) -> list[Obj]:
    """Return the openings that the hub's record names; whether a replica asks, only its worker knows."""
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
    worker: WorkerName,
    *,
    gate: str,
    asks_ns: int | None = None,
    opened_ns: int | None = None,
    ends_ns: int | None = None,
) -> Obj:
    """Return what a list says about one gate; `ends_ns` is when its window ends."""
    return {
        "namespace": record.namespace,
        "name": record.name,
        "worker": worker,
        "gate": gate,
        "asksSince": moment(asks_ns),
        "opened": moment(opened_ns),
        "windowEnds": moment(ends_ns),
    }


@dataclass(slots=True)
class WorkloadCounts:
    """Counts Workloads one by one."""

    workloads: Counter[str] = field(default_factory=Counter)
    gates: Counter[str] = field(default_factory=Counter)
    forecasts: Counter[str] = field(default_factory=Counter)

    def count(self, phase: str, gates: Iterable[str], forecast: str | None) -> None:
        """Count a Workload: its phase, the state of each of its gates, and how its forecast turned out."""
        self.workloads[phase] += 1
        self.gates.update(gates)
        if forecast is not None:
            self.forecasts[forecast] += 1


def overview(workers: Iterable[Mapping[str, Any]], numbers: WorkloadCounts) -> Obj:
    """Return everything in numbers."""
    known = list(workers)
    return {
        "workers": {
            "total": len(known),
            "connected": sum(worker["connection"] == "Connected" for worker in known),
            "away": sorted(worker["name"] for worker in known if worker["connection"] != "Connected"),
            "unreliable": sorted(worker["name"] for worker in known if worker.get("forecast") == "unreliable"),
        },
        "workloads": dict(sorted(numbers.workloads.items())),
        "gates": dict(sorted(numbers.gates.items())),
        "forecasts": dict(sorted(numbers.forecasts.items())),
    }
