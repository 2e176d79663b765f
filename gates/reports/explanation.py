"""What is known about one Workload, as values and as a document of fields; the command line makes sentences of them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import Obj, format_time
from engine.forecasting.forecast import Forecast
from engine.pod_outlook.values import PodOutlook
from gates.model.forecast_documents import forecast_document, pod_outlook_document
from gates.model.forecasts import ForecastRecord
from gates.model.texts import moment
from gates.reports.describing import forecast_details
from gates.reports.hub_state import HubReason, HubState, hub_state
from gates.reports.preemptions import RunningPreemption
from gates.targets.rules import Exclusion
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
    JOB_FOLLOWED = "JobFollowed"
    """Its job runs on the worker, and the hub's job gets its status."""
    OTHER = "Other"
    """Not about gates: the rule, actions and reason say what it is."""
    FIX_NEEDED = "FixNeeded"
    """Nothing, until the remedy of the state is applied, or an object that cannot be read is repaired."""
    HUB_RESERVES_QUOTA = "HubReservesQuota"
    REQUEUED = "Requeued"
    """The hub puts it into its queue again, not before a time if one is given."""
    OTHER_CHECKS = "OtherChecks"
    """Workers are tried once the other admission checks are Ready."""
    REMOVED = "Removed"
    """It is being deleted; its replicas are removed."""
    NOT_DISPATCHED = "NotDispatched"
    """Without a MultiKueue admission check it is not sent to workers."""
    NOTHING = "Nothing"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class NextStep:
    """What happens next, on which worker, when, and why."""

    kind: NextKind
    worker: WorkerName = NO_WORKER
    at_ns: int | None = None
    other_worker: WorkerName = NO_WORKER
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
    preemption: RunningPreemption | None = None
    """What its open gate leads to; None while it is closed."""
    exclusion: Exclusion | None = None
    """The rule that keeps the Workload from it."""


@dataclass(frozen=True, slots=True)
class OpenGateReport:
    """A gate that is open, since when, and until when its window lasts, if that is known."""

    worker: WorkerName
    opened_ns: int
    ends_ns: int | None


@dataclass(frozen=True, slots=True)
class WorkloadExplanation:
    """What workers and gates add to what the hub's object says."""

    workers: tuple[WorkerExplanation, ...]
    next: NextStep
    gates: tuple[OpenGateReport, ...] = ()
    gives_up_ns: int | None = None
    """When it is given up if no worker admits it; None if it is not."""


def next_by_hub(state: HubState) -> NextStep | None:
    """Return what happens next to a Workload that does not depend on workers; None if it does."""
    if state.remedy:
        return NextStep(NextKind.FIX_NEEDED)
    kind = _NEXT_BY_HUB.get(state.reason)
    return NextStep(kind, at_ns=state.requeue_at_ns) if kind is not None else None


_NEXT_BY_HUB: Final = {
    HubReason.FINISHED: NextKind.NOTHING,
    HubReason.TERMINATING: NextKind.REMOVED,
    HubReason.BACK_OFF: NextKind.REQUEUED,
    HubReason.WAITS_FOR_QUOTA: NextKind.HUB_RESERVES_QUOTA,
    HubReason.EVICTED: NextKind.REQUEUED,
    HubReason.NO_CHECK: NextKind.NOT_DISPATCHED,
    HubReason.WAITS_FOR_CHECKS: NextKind.OTHER_CHECKS,
    HubReason.CHECK_RETRY: NextKind.REQUEUED,
}


def explanation_document(record: HubRecord, entry: CheckEntry | None, explanation: WorkloadExplanation) -> Obj:
    """Return an explanation as a document; `entry` is the Workload's MultiKueue admission check."""
    last, state = record.forecast, hub_state(record, entry)
    return {
        "namespace": record.namespace,
        "name": record.name,
        "owner": f"{record.owner.kind} {record.owner.name}" if record.owner is not None else "",
        "queue": record.queue,
        "clusterQueue": record.cluster_queue,
        "created": format_time(record.created_ns) if record.created_ns else "",
        "phase": state.phase,
        "state": state.document(),
        "check": {"name": entry.name, "state": str(entry.state)} if entry is not None else None,
        "problem": "",
        "cluster": record.cluster_name,
        "nominated": list(record.nominated),
        "gates": [
            {"worker": gate.worker, "opened": moment(gate.opened_ns), "windowEnds": moment(gate.ends_ns)}
            for gate in explanation.gates
        ],
        "workers": [_worker(worker) for worker in explanation.workers],
        "lastForecast": forecast_details(last) if last is not None else None,
        "lastPodForecast": _pod_forecast(last),
        "next": _next(explanation.next),
        "givesUpAt": moment(explanation.gives_up_ns),
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
        "state": None,
        "check": None,
        "problem": problem,
        "cluster": "",
        "nominated": [],
        "gates": [],
        "workers": [],
        "lastForecast": None,
        "lastPodForecast": None,
        "next": _next(NextStep(NextKind.FIX_NEEDED)),
        "givesUpAt": "",
    }


def _worker(worker: WorkerExplanation) -> Obj:
    replica, forecast, excluded = worker.replica, worker.forecast, worker.exclusion
    return {
        "name": worker.name,
        "replica": {"state": str(replica.state), "since": moment(replica.since_ns), "message": replica.message},
        "gate": worker.gate,
        "forecast": {**forecast_document(forecast), "reliable": worker.is_reliable} if forecast is not None else None,
        "pods": pod_outlook_document(worker.pods) if worker.pods is not None else None,
        "preemption": worker.preemption.document() if worker.preemption is not None else None,
        "ruledOut": None if excluded is None else {"rule": str(excluded.rule), "message": excluded.text},
    }


def _next(step: NextStep) -> Obj:
    return {
        "kind": str(step.kind),
        "worker": step.worker,
        "at": moment(step.at_ns),
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
