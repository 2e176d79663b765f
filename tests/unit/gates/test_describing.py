"""Hub Workloads as documents: the same from the daemon's caches and from the hub's objects."""

from typing import Any

import pytest

from config.api.identifiers import ReplicaUID
from config.names import DOMAIN
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import ForecastResult
from gates.model.forecasts import ForecastRecord, format_record
from gates.model.openings import Opening
from gates.model.settings import SECOND
from gates.reports.describing import WorkloadCounts, overview, recorded_forecast, recorded_gates, workload_document
from gates.wire.annotations import format_openings
from gates.wire.record_readers import hub_record
from gates.wire.records import HubRecord
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW

OURS = frozenset({"mk"})


def record(*conditions: str, check: str | None = "Pending", annotations: dict[str, str] | None = None) -> HubRecord:
    metadata = {
        "name": "wl",
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2027-01-15T07:00:00Z",
        "annotations": annotations or {},
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}],
    }
    status: dict[str, Any] = {
        "conditions": [
            {"type": name, "status": "True", "lastTransitionTime": "2027-01-15T07:00:00Z"} for name in conditions
        ],
        "admissionChecks": [{"name": "mk", "state": check, "message": "said"}] if check else [],
    }
    return hub_record({"metadata": metadata, "spec": {"queueName": "main"}, "status": status})


PHASES = {
    "without quota": (record(), "Queued"),
    "waiting for workers": (record("QuotaReserved"), "Pending"),
    "running on one": (record("QuotaReserved", "Admitted", check="Ready"), "Admitted"),
    "sent back": (record("QuotaReserved", check="Retry"), "Retry"),
    "refused": (record("QuotaReserved", check="Rejected"), "Rejected"),
    "over": (record("QuotaReserved", "Finished", check="Ready"), "Finished"),
    "without a check": (record("QuotaReserved", check=None), "NoCheck"),
}


@pytest.mark.parametrize(("found", "want"), PHASES.values(), ids=PHASES)
def test_a_phase_is_one_word(found: HubRecord, want: str) -> None:
    assert workload_document(found, found.check(OURS))["phase"] == want


def test_a_workload_says_whose_job_it_is_and_where_it_waits() -> None:
    found = record("QuotaReserved")
    document = workload_document(found, found.check(OURS))
    assert (document["owner"], document["queue"], document["created"]) == ("Job train", "main", "2027-01-15T07:00:00Z")
    assert (document["message"], document["gate"]) == ("said", "")


def test_the_last_opening_is_the_gate_while_it_waits() -> None:
    openings = [Opening(W1, ReplicaUID("a"), NOW), Opening(W2, ReplicaUID("b"), NOW + SECOND)]
    marks = {f"{DOMAIN}/gate-openings": format_openings(openings)}
    waiting = record("QuotaReserved", annotations=marks)
    assert workload_document(waiting, waiting.check(OURS))["gate"] == "w2"
    running = record("QuotaReserved", check="Ready", annotations=marks)
    assert workload_document(running, running.check(OURS))["gate"] == ""
    assert [(gate["worker"], gate["opened"], gate["windowEnds"]) for gate in recorded_gates(waiting, 60 * SECOND)] == [
        ("w1", "2027-01-15T08:00:00Z", "2027-01-15T08:01:00Z"),
        ("w2", "2027-01-15T08:00:01Z", "2027-01-15T08:01:01Z"),
    ]
    assert {gate["windowEnds"] for gate in recorded_gates(waiting, None)} == {""}, "the timeout is not known"


def test_a_forecast_is_told_with_its_victims_and_its_result() -> None:
    victim = ForecastVictim("ns", "low", "v", "cq", "InClusterQueue", priority=3, owner="Job render")
    promise = Forecast(
        ForecastVerdict.PREEMPTS, NOW, flavors=(("cpu", "f"),), victims=(victim,), cost=Cost(victims=1, pods=2)
    )
    kept = ForecastRecord(W1, ReplicaUID("a"), NOW, promise, ForecastResult.EXACT, "", NOW + SECOND)
    found = recorded_forecast(record(annotations={f"{DOMAIN}/forecast": format_record(kept)}))
    assert found is not None
    assert (found["worker"], found["verdict"], found["result"]) == ("w1", "Preempts", "exact")
    (told,) = found["victims"]
    assert {name: told[name] for name in ("workload", "owner", "priority", "reason", "runningSince")} == {
        "workload": "ns/low",
        "owner": "Job render",
        "priority": 3,
        "reason": "InClusterQueue",
        "runningSince": "",
    }
    assert (found["cost"]["pods"], found["flavors"], found["verified"]) == (2, {"cpu": ["f"]}, "2027-01-15T08:00:01Z")
    assert recorded_forecast(record()) is None


def test_an_overview_counts() -> None:
    workers = [
        {"name": "b", "connection": "Connected", "forecast": "unreliable"},
        {"name": "a", "connection": "Lost", "forecast": "off"},
    ]
    numbers = WorkloadCounts()
    numbers.count("Pending", ["Open"], None)
    numbers.count("Pending", [], "exact")
    assert overview(workers, numbers) == {
        "workers": {"total": 2, "connected": 1, "away": ["a"], "unreliable": ["b"]},
        "workloads": {"Pending": 2},
        "gates": {"Open": 1},
        "forecasts": {"exact": 1},
    }
