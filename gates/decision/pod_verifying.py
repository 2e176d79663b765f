"""Follows the outlook for a Workload's pods until it can be said whether it was right.

A row beside the others, as that for the quota: it adds a record and never changes a gate. It begins when the quota has
its result, and ends when every pod has a node, when a window as long as that of a gate is over, or with the replica.
"""

from dataclasses import replace

from engine.forecasting.verification import ForecastResult, Judgement
from engine.pod_outlook.judging import judge
from gates.decision.verifying import QUIET, FollowedOpening, follow
from gates.model.actions import Decision, EmitEvent, RecordForecast, Step
from gates.model.forecasts import ForecastRecord
from gates.model.pod_records import PodRecord
from gates.model.settings import Settings
from gates.model.view import WorkerView, WorkloadView


def with_pod_verification(decision: Decision, view: WorkloadView, now_ns: int, settings: Settings) -> Decision:
    """Add to a decision what is to be written about the pods behind the last opening."""
    workload, record = view.workload, view.workload.forecast
    if workload.deleted or workload.check is None or record is None or record.pods is None:
        return decision
    if record.pods.result is not ForecastResult.PENDING or record.result is ForecastResult.PENDING:
        return decision
    if any(isinstance(action, RecordForecast) for action in decision.actions):
        return decision  # one record at a time; the write triggers another reconcile
    judgement = _judgement(record, record.pods, view, now_ns, settings)
    if judgement is None:
        remaining = _remaining(view.worker(record.cluster), now_ns, settings)
        return replace(decision, requeue_ns=min(decision.requeue_ns or remaining, remaining)) if remaining else decision
    pods = replace(record.pods, result=judgement.result, message=judgement.message, verified_ns=now_ns)
    steps = (*decision.steps, Step((RecordForecast(replace(record, pods=pods)),)))
    if judgement.result not in QUIET:
        message = f"Pod forecast for cluster {record.cluster}: {judgement.result}. {judgement.message}"
        steps = (*steps, Step((EmitEvent("ForecastMissed", message),), best_effort=True))
    return replace(decision, steps=steps)


def _judgement(
    record: ForecastRecord, pods: PodRecord, view: WorkloadView, now_ns: int, settings: Settings
) -> Judgement | None:
    """Return the result, None while it is not known."""
    followed = follow(record, view, "the replica was removed before its pods were scheduled")
    if not isinstance(followed, FollowedOpening):
        return followed
    worker, replica = followed.worker, followed.replica
    if not replica.is_true("QuotaReserved") and not replica.is_true("Finished"):
        return Judgement(ForecastResult.NONE, "no pods were created: there is no quota")
    witness = worker.pod_witness
    is_due = replica.is_true("Finished") or _remaining(worker, now_ns, settings) == 0
    if witness is None:
        return Judgement(ForecastResult.NONE, "the pods of the cluster are no longer watched") if is_due else None
    if witness.missed:
        return Judgement(ForecastResult.NONE, witness.missed)
    if witness.landed.placed < pods.outlook.pods and not is_due:
        return None
    return judge(pods.outlook, witness.again, witness.landed)


def _remaining(worker: WorkerView | None, now_ns: int, settings: Settings) -> int:
    """Return how long the pods may still take to find nodes, counted from the quota."""
    replica = worker.replica if worker is not None else None
    if worker is None or replica is None or not replica.is_true("QuotaReserved"):
        return 0
    since_ns = replica.since_ns("QuotaReserved") - worker.clock_skew_ns
    return max(0, since_ns + settings.timeout_ns - now_ns)
