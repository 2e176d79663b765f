"""What the forecasts of pods have to say about one Workload on one worker."""

from dataclasses import replace

from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.values import unsupported
from engine.vocabulary.effort import Effort
from gates.model.dialect import gate_requested_ns
from gates.model.forecasts import ForecastRecord
from gates.model.pod_records import PodWitness
from gates.wire.records import HubRecord, ReplicaRecord
from manager.clusters.worker import WorkerLink
from manager.logging.logs import get_log
from manager.models.pod_forecasts import PodAnswer, PodForecasts
from manager.reconcile.insight import Insight


def with_pods(
    pods: PodForecasts,
    link: WorkerLink,
    hub: HubRecord,
    replica: ReplicaRecord | None,
    insight: Insight,
    effort: Effort,
    now_ns: int,
    *,
    always: bool,
) -> Insight:
    """Add what is known about the pods: only for a gate that may open now, or `always`."""
    skew_ns = link.clock_skew_ns
    asks = replica is not None and gate_requested_ns(replica.conditions, link.dialect) is not None
    is_wanted, answer, record = asks or always, PodAnswer(), hub.forecast
    try:
        answer = pods.outlook(hub, insight.forecast, now_ns, skew_ns, effort) if is_wanted else answer
        outlook = answer.outlook
        if outlook is None and record is not None and record.cluster == link.name and record.pods is None:
            outlook = pods.late_outlook(hub.key, record.forecast)
        witness = witness_of_pods(pods, link, hub, replica)
    except Exception as error:  # noqa: BLE001 - a mistake in an outlook must not keep gates closed
        get_log().error("podforecast.failed", worker=link.name, workload=f"{hub.namespace}/{hub.name}", exc_info=error)
        outlook, witness = unsupported(f"{type(error).__name__}: {error}", now_ns), None
    requests = (*insight.requests, *(() if answer.request is None else (answer.request,)))
    return replace(insight, pods=outlook, pod_witness=witness, requests=requests)


def witness_of_pods(
    pods: PodForecasts, link: WorkerLink, hub: HubRecord, replica: ReplicaRecord | None
) -> PodWitness | None:
    """Return what was seen of the pods after the last opening."""
    record = hub.forecast
    if record is None or record.pods is None or replica is None or not pods_to_follow(record, link, replica.uid):
        return None
    return pods.witness(hub.key, record.pods, replica.uid, record.opened_ns, link.clock_skew_ns)


def pods_to_follow(record: ForecastRecord | None, link: WorkerLink, uid: str) -> str:
    """Return the UID of the replica if a forecast about its pods is yet to be judged; empty otherwise."""
    if record is None or record.pods is None or (record.cluster, record.replica_uid) != (link.name, uid):
        return ""
    return uid if record.pods.result is ForecastResult.PENDING else ""
