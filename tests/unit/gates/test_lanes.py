"""One Workload on one worker, as a live view shows it."""

from typing import Any

import pytest

from config.api.meta import Obj, format_time
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.settings import SECOND
from gates.model.view import Reach
from gates.reports.lanes import LaneWorker, lane_document
from gates.wire.record_readers import hub_record, replica_record
from gates.wire.records import HubRecord, ReplicaRecord
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW

GATE = "kueue.x-k8s.io/multikueue"
MINUTE = 60 * SECOND
SKEW = 3 * SECOND


def record(**status: Any) -> HubRecord:
    metadata = {"namespace": "team", "name": "wl", "uid": "u", "resourceVersion": "1"}
    return hub_record({"metadata": metadata, "spec": {"priority": 7}, "status": status})


def condition(type_: str, reason: str = "r", at: int = NOW) -> Obj:
    return {"type": type_, "status": "True", "reason": reason, "lastTransitionTime": format_time(at)}


def replica(*conditions: Obj, opened: int | None = None, gated: bool = True) -> ReplicaRecord:
    spec: Obj = {"podSets": [], "preemptionGates": [{"name": GATE}] if gated else []}
    gates = [{"name": GATE, "position": "Open", "lastTransitionTime": format_time(opened)}] if opened else []
    metadata = {"namespace": "team", "name": "wl", "uid": "r", "resourceVersion": "1"}
    return replica_record(
        {"metadata": metadata, "spec": spec, "status": {"conditions": list(conditions), "preemptionGates": gates}}
    )


def lane(found: ReplicaRecord | None, reach: Reach = Reach.SYNCED, forecast: Forecast | None = None) -> Obj:
    worker = LaneWorker(W1, GateDialect.KUEUE, SKEW, reach)
    return lane_document(record(), worker, found, MINUTE, forecast)


ASKS = condition("BlockedOnPreemptionGates", "PreemptionGated", NOW + SKEW)
CASES: dict[str, tuple[ReplicaRecord | None, Reach, str, str]] = {
    "no replica": (None, Reach.SYNCED, "Missing", ""),
    "no replica is known on a worker that is not read yet": (None, Reach.UNREADABLE, "NotSynced", ""),
    "a lost worker": (replica(), Reach.LOST, "Unreachable", "Closed"),
    "a replica that waits": (replica(), Reach.SYNCED, "Pending", "Closed"),
    "a replica without a gate": (replica(gated=False), Reach.SYNCED, "Pending", ""),
    "a replica that asks": (replica(ASKS), Reach.SYNCED, "AsksToPreempt", "Asked"),
    "an open gate": (replica(ASKS, opened=NOW + SKEW), Reach.SYNCED, "AsksToPreempt", "Open"),
    "quota": (replica(condition("QuotaReserved")), Reach.SYNCED, "QuotaReserved", "Closed"),
    "admitted": (replica(condition("QuotaReserved"), condition("Admitted")), Reach.SYNCED, "Admitted", "Closed"),
    "evicted": (replica(condition("Admitted"), condition("Evicted")), Reach.SYNCED, "Evicted", "Closed"),
    "finished": (replica(condition("Finished")), Reach.SYNCED, "Finished", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_the_state_of_a_lane(case: str) -> None:
    found, reach, state, gate = CASES[case]
    document = lane(found, reach)
    assert (document["state"], document["gate"]) == (state, gate)


def test_times_are_those_of_the_hubs_clock_and_a_window_ends_after_the_timeout() -> None:
    document = lane(replica(ASKS, opened=NOW + SKEW))
    assert document["asksSince"] == document["opened"] == format_time(NOW)
    assert document["windowEnds"] == format_time(NOW + MINUTE)


def test_the_last_forecast_is_shown_as_verdict_and_number_of_victims() -> None:
    document = lane(replica(ASKS), forecast=Forecast(ForecastVerdict.FITS, NOW))
    assert (document["verdict"], document["victims"]) == ("Fits", 0)
    assert (lane(replica(ASKS))["verdict"], lane(replica(ASKS))["victims"]) == ("", None)


@pytest.mark.parametrize(("given", "read"), [(7, 7), (None, 0), ("7", 0), (True, 0), (10**12, 0)])
def test_a_priority_that_no_kueue_writes_counts_as_none(given: object, read: int) -> None:
    metadata = {"namespace": "team", "name": "wl", "uid": "u", "resourceVersion": "1"}
    assert hub_record({"metadata": metadata, "spec": {"priority": given}}).priority == read
