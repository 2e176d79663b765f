"""Follows a forecast that a gate was opened on until it can be said whether it was right.

A row beside the others: it adds a record to whatever is decided and never changes a gate. It ends when the replica has
quota, when its window is over, or when the replica is gone.
"""

from dataclasses import dataclass, replace
from typing import Final

from engine.forecasting.verification import ForecastResult, Happened, Judgement, judge
from gates.decision.ledger import last_opening
from gates.decision.windows import left_by_wall, remaining
from gates.model.actions import Decision, EmitEvent, RecordForecast, Step
from gates.model.forecasts import ForecastRecord
from gates.model.openings import Opening
from gates.model.pod_records import record_of_pods
from gates.model.settings import Settings
from gates.model.view import Reach, Replica, WorkerView, WorkloadView

QUIET: Final = (ForecastResult.EXACT, ForecastResult.NONE)
"""Results that are not reported."""


@dataclass(frozen=True, slots=True)
class FollowedOpening:
    """The replica whose gate was opened, on the worker that is watched."""

    worker: WorkerView
    replica: Replica


def follow(record: ForecastRecord, view: WorkloadView, withdrawn: str) -> FollowedOpening | Judgement | None:
    """Return the replica; the result if none will appear, None while the worker cannot be read."""
    worker = view.worker(record.cluster)
    if worker is None:
        return Judgement(ForecastResult.OVERTAKEN, "the cluster is no longer in use")
    if worker.reach is not Reach.SYNCED:
        return None
    replica = worker.replica
    if replica is None or replica.uid != record.replica_uid:
        return Judgement(ForecastResult.OVERTAKEN, withdrawn)
    return FollowedOpening(worker, replica)


def record_of(worker: WorkerView, opening: Opening) -> ForecastRecord | None:
    """Return the record of an opening that is about to happen, None where nothing was forecast."""
    forecast = worker.forecast
    if forecast is None:
        return None
    result = ForecastResult.PENDING if forecast.promises else ForecastResult.NONE
    pods = record_of_pods(worker.pods)
    return ForecastRecord(opening.cluster, opening.replica_uid, opening.opened_ns, forecast, result, pods=pods)


def with_verification(decision: Decision, view: WorkloadView, now_ns: int, settings: Settings) -> Decision:
    """Add to a decision what is to be written about the forecast behind the last opening."""
    workload = view.workload
    if workload.deleted or workload.check is None:
        return decision
    record = workload.forecast
    if record is None or record.result is not ForecastResult.PENDING:
        late = _late_record(view, now_ns, settings)
        return decision if late is None else _append(decision, Step((RecordForecast(late),)))
    judgement = judgement_of(record, view, now_ns, settings)
    if judgement is None:
        late_pods = _late_pods(record, view)
        decision = decision if late_pods is None else _append(decision, Step((RecordForecast(late_pods),)))
        return _look_again(decision, record, now_ns, settings)
    done = replace(record, result=judgement.result, message=judgement.message, verified_ns=now_ns)
    decision = _append(decision, Step((RecordForecast(done),)))
    if judgement.result in QUIET:
        return decision
    message = f"Forecast for cluster {record.cluster}: {judgement.result}. {judgement.message}"
    return _append(decision, Step((EmitEvent("ForecastMissed", message),), best_effort=True))


def _late_record(view: WorkloadView, now_ns: int, settings: Settings) -> ForecastRecord | None:
    """Return the record of a running window whose forecast was not ready when its gate was opened."""
    last = last_opening(view)
    if last is None or remaining(last, view, now_ns, settings) == 0:
        return None
    worker, known = view.worker(last.cluster), view.workload.forecast
    if known is not None and known.is_about(last.cluster, last.replica_uid, last.opened_ns):
        return None
    replica = worker.replica if worker is not None and worker.reach is Reach.SYNCED else None
    if worker is None or replica is None or replica.uid != last.replica_uid or not replica.gate_open:
        return None
    if replica.is_true("QuotaReserved"):
        return None  # what is known already cannot be forecast
    return record_of(worker, last)


def _late_pods(record: ForecastRecord, view: WorkloadView) -> ForecastRecord | None:
    """Return the record with an outlook for the pods that is of the time before the opening, but came after it."""
    worker = view.worker(record.cluster)
    replica = worker.replica if worker is not None and worker.reach is Reach.SYNCED else None
    if worker is None or replica is None or replica.uid != record.replica_uid or replica.is_true("QuotaReserved"):
        return None
    outlook = worker.pods
    if record.pods is not None or outlook is None or outlook.made_ns > record.opened_ns:
        return None
    return replace(record, pods=record_of_pods(outlook))


def judgement_of(record: ForecastRecord, view: WorkloadView, now_ns: int, settings: Settings) -> Judgement | None:
    """Return the result, None while it is not known."""
    followed = follow(record, view, "the replica was removed before the outcome was known")
    if not isinstance(followed, FollowedOpening):
        return followed
    worker, replica = followed.worker, followed.replica
    has_quota = replica.is_true("QuotaReserved")
    if not has_quota and _remaining(record, now_ns, settings) > 0:
        return None
    witness = worker.witness
    if witness is None:
        return None
    happened = Happened(has_quota=has_quota, flavors=witness.flavors, evicted=witness.evicted)
    return judge(record.forecast, witness.replays, happened, witness.missed)


def _look_again(decision: Decision, record: ForecastRecord, now_ns: int, settings: Settings) -> Decision:
    remaining = _remaining(record, now_ns, settings)
    if remaining == 0:
        return decision
    return replace(decision, requeue_ns=min(decision.requeue_ns or remaining, remaining))


def _remaining(record: ForecastRecord, now_ns: int, settings: Settings) -> int:
    return left_by_wall(record.opened_ns, now_ns, settings)


def _append(decision: Decision, step: Step) -> Decision:
    return replace(decision, steps=(*decision.steps, step))
