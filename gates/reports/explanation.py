"""What is known about one Workload, as values and as a document of fields; the command line makes sentences of them."""

from dataclasses import dataclass
from enum import StrEnum

from config.api.meta import Obj, format_time
from engine.forecasting.forecast import Forecast
from engine.pod_outlook.values import PodOutlook
from gates.model.forecast_documents import forecast_document, pod_outlook_document
from gates.model.forecasts import ForecastRecord
from gates.reports.describing import forecast_details, phase_of
from gates.wire.records import CheckEntry, HubRecord


class ReplicaState(StrEnum):
    """What a worker says about its replica."""

    UNREACHABLE = "Unreachable"
    NOT_SYNCED = "NotSynced"
    PROBLEM = "Problem"
    MISSING = "Missing"
    FOREIGN = "Foreign"
    """An object of that name is there and was not created by this hub."""
    PENDING = "Pending"
    ASKS_TO_PREEMPT = "AsksToPreempt"
    QUOTA_RESERVED = "QuotaReserved"
    ADMITTED = "Admitted"
    EVICTED = "Evicted"
    FINISHED = "Finished"
    NOMINATED = "Nominated"
    """Its cluster is nominated; more is not known without asking the worker."""
    CHOSEN = "Chosen"
    """Its cluster runs the Workload; more is not known without asking the worker."""
    UNKNOWN = "Unknown"


class NextKind(StrEnum):
    """What happens next to a Workload."""

    GATE_OPENS = "GateOpens"
    GATE_OPENS_AFTER_WINDOW = "GateOpensAfterWindow"
    GATE_OPENS_AFTER_GRACE = "GateOpensAfterGrace"
    GATE_DEFERRED = "GateDeferred"
    GATE_HELD = "GateHeld"
    WINDOW_OPEN = "WindowOpen"
    NO_REQUEST = "NoRequest"
    OTHER = "Other"
    """Not about gates: the reason, or rule and actions, say what it is."""
    FIX_NEEDED = "FixNeeded"
    NOTHING = "Nothing"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class NextStep:
    """What happens next, to whom, when, and why."""

    kind: NextKind
    worker: str = ""
    at_ns: int | None = None
    other_worker: str = ""
    """Whose window, or whose reserved quota, the worker waits for."""
    reason: str = ""
    rule: str = ""
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """The state of one replica."""

    state: ReplicaState
    since_ns: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class WorkerExplanation:
    """What one worker says, and what it would do."""

    name: str
    replica: ReplicaReport
    gate: str = ""
    """`Open` or `Closed`; empty if there is none."""
    forecast: Forecast | None = None
    is_reliable: bool = True
    pods: PodOutlook | None = None
    """What would become of its pods there; None where that is not forecast."""


@dataclass(frozen=True, slots=True)
class OpenGateReport:
    """A gate that is open, since when, and until when its window lasts, if that is known."""

    worker: str
    opened_ns: int
    ends_ns: int | None


@dataclass(frozen=True, slots=True)
class WorkloadExplanation:
    """What workers and gates add to what the hub's object says."""

    workers: tuple[WorkerExplanation, ...]
    next: NextStep
    gates: tuple[OpenGateReport, ...] = ()


def explanation_document(record: HubRecord, entry: CheckEntry | None, explanation: WorkloadExplanation) -> Obj:
    """Return an explanation as a document; `entry` is the Workload's MultiKueue admission check."""
    last = record.forecast
    return {
        "namespace": record.namespace,
        "name": record.name,
        "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
        "queue": record.queue,
        "clusterQueue": record.cluster_queue,
        "created": format_time(record.created_ns) if record.created_ns else "",
        "phase": phase_of(record, entry),
        "check": {"name": entry.name, "state": str(entry.state)} if entry is not None else None,
        "problem": "",
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "gates": [
            {"worker": gate.worker, "opened": format_time(gate.opened_ns), "windowEnds": _moment(gate.ends_ns)}
            for gate in explanation.gates
        ],
        "workers": [_worker(worker) for worker in explanation.workers],
        "lastForecast": forecast_details(last) if last is not None else None,
        "lastPodForecast": _pod_forecast(last),
        "next": _next(explanation.next),
    }


def unreadable_document(namespace: str, name: str, problem: str) -> Obj:
    """Return what there is to say about a Workload that cannot be read."""
    return {
        "namespace": namespace,
        "name": name,
        "owner": "",
        "queue": "",
        "clusterQueue": "",
        "created": "",
        "phase": "Unreadable",
        "check": None,
        "problem": problem,
        "cluster": "",
        "nominated": [],
        "gates": [],
        "workers": [],
        "lastForecast": None,
        "lastPodForecast": None,
        "next": _next(NextStep(NextKind.FIX_NEEDED)),
    }


def _worker(worker: WorkerExplanation) -> Obj:
    replica, forecast = worker.replica, worker.forecast
    return {
        "name": worker.name,
        "replica": {"state": str(replica.state), "since": _moment(replica.since_ns), "message": replica.message},
        "gate": worker.gate,
        "forecast": {**forecast_document(forecast), "reliable": worker.is_reliable} if forecast is not None else None,
        "pods": pod_outlook_document(worker.pods) if worker.pods is not None else None,
    }


def _next(step: NextStep) -> Obj:
    return {
        "kind": str(step.kind),
        "worker": step.worker,
        "at": _moment(step.at_ns),
        "otherWorker": step.other_worker,
        "reason": step.reason,
        "rule": step.rule,
        "actions": list(step.actions),
    }


def _pod_forecast(record: ForecastRecord | None) -> Obj | None:
    if record is None or record.pods is None:
        return None
    return {
        "worker": record.cluster,
        "verdict": str(record.pods.outlook.verdict),
        "result": str(record.pods.result),
        "resultMessage": record.pods.message,
    }


def _moment(ns: int | None) -> str:
    return "" if ns is None else format_time(ns)
