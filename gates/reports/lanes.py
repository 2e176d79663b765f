"""One Workload on one worker in a line of a live view: its replica, its gate, and what was forecast last.

Pure, and made from records alone: no decision is made again and no forecast is computed for it.
"""

from dataclasses import dataclass

from config.api.identifiers import WorkerName
from config.api.meta import Obj, format_time
from engine.forecasting.forecast import Forecast
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.dialect import gate_opened_ns, gate_requested_ns
from gates.model.view import Reach
from gates.reports.explanation import ReplicaState
from gates.wire.records import HubRecord, ReplicaRecord

_IN_ORDER = (ReplicaState.FINISHED, ReplicaState.EVICTED, ReplicaState.ADMITTED, ReplicaState.QUOTA_RESERVED)


@dataclass(frozen=True, slots=True)
class GateTimes:
    """Since when a replica asks to preempt, and since when its gate is open, on the hub's clock."""

    asks_ns: int | None
    opened_ns: int | None

    @property
    def state(self) -> str:
        """Return the gate in one word."""
        return "Open" if self.opened_ns is not None else "Asked" if self.asks_ns is not None else "Closed"


@dataclass(frozen=True, slots=True)
class LaneWorker:
    """What a lane takes from its worker."""

    name: WorkerName
    dialect: GateDialect
    skew_ns: int
    reach: Reach


def gate_times(
    record: HubRecord, replica: ReplicaRecord, worker: WorkerName, dialect: GateDialect, skew_ns: int
) -> GateTimes:
    """Date a gate on the hub's clock; the record of openings dates a window better than a worker."""
    opened_ns = gate_opened_ns(replica.gates, dialect)
    asks_ns = gate_requested_ns(replica.conditions, dialect)
    if opened_ns is not None:
        recorded = (o.opened_ns for o in record.openings if (o.cluster, o.replica_uid) == (worker, replica.uid))
        opened_ns = max(recorded, default=opened_ns - skew_ns)
    return GateTimes(asks_ns - skew_ns if asks_ns is not None else None, opened_ns)


def lane_document(
    record: HubRecord,
    worker: LaneWorker,
    replica: ReplicaRecord | None,
    timeout_ns: int,
    forecast: Forecast | None,
) -> Obj:
    """Return what a live view shows of a Workload on one worker; `timeout_ns` is the length of its windows."""
    has_gate = replica is not None and bool(replica.spec_gates) and not replica.is_finished
    times = GateTimes(None, None)
    if replica is not None and has_gate:
        times = gate_times(record, replica, worker.name, worker.dialect, worker.skew_ns)
    ends_ns = times.opened_ns + timeout_ns if times.opened_ns is not None else None
    foreseen = foreseen_forecast(record, worker.name, forecast)
    return {
        "worker": worker.name,
        "state": str(_state(worker, replica, asks=times.asks_ns is not None)),
        "gate": times.state if has_gate else "",
        "asksSince": _moment(times.asks_ns),
        "opened": _moment(times.opened_ns),
        "windowEnds": _moment(ends_ns),
        "won": record.cluster_name == worker.name,
        "verdict": str(foreseen.verdict) if foreseen is not None else "",
        "victims": len(foreseen.victims) if foreseen is not None else None,
    }


def foreseen_forecast(record: HubRecord, worker: WorkerName, last: Forecast | None) -> Forecast | None:
    """Prefer the forecast that an opening was recorded with: what is computed after it is not about the opening."""
    acted_on = record.forecast
    return acted_on.forecast if acted_on is not None and acted_on.cluster == worker else last


def _state(worker: LaneWorker, replica: ReplicaRecord | None, *, asks: bool) -> ReplicaState:
    if worker.reach is Reach.LOST:
        return ReplicaState.UNREACHABLE
    if replica is None:
        return ReplicaState.MISSING if worker.reach is Reach.SYNCED else ReplicaState.NOT_SYNCED
    for state in _IN_ORDER:
        found = replica.conditions.get(state)
        if found is not None and found.is_true:
            return state
    return ReplicaState.ASKS_TO_PREEMPT if asks else ReplicaState.PENDING


def _moment(ns: int | None) -> str:
    return "" if ns is None else format_time(ns)
