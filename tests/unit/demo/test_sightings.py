"""What the demo reads off the clusters' objects, in both dialects of gates."""

import json
from typing import Any

import pytest

from config.api.identifiers import ReplicaUID, WorkerName
from config.names import FIELD_MANAGER, MULTIKUEUE_NAME
from engine.forecasting.forecast import Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import ForecastResult
from gates.model import marks
from gates.model.forecasts import ForecastRecord, format_record
from manager.demo.sightings import JobPhase, Seen, SightingKind, cpus, phase, seen_on_hub, seen_on_worker

Obj = dict[str, Any]


def obj(*conditions: str, ours: bool = False, manager: str = "kueue", **status: Any) -> Obj:
    annotations = {marks.HUB: "uid-of-the-hub"} if ours else {}
    told = [{"type": each, "status": "True", "reason": "Preempted"} for each in conditions]
    metadata = {"name": "x", "annotations": annotations, "managedFields": [{"manager": manager}]}
    return {"metadata": metadata, "spec": {}, "status": {"conditions": told, **status}}


def gate(field: str, state: str) -> list[Obj]:
    return [{"name": "somebody-elses", field: "Open"}, {"name": MULTIKUEUE_NAME, field: state}]


def job(*conditions: str, suspend: bool = False, active: int = 0, ours: bool = False, **status: Any) -> Obj:
    made = obj(*conditions, ours=ours, active=active, **status)
    return {**made, "spec": {"suspend": suspend}}


def on_worker(kind: str, old: Obj | None, new: Obj | None) -> list[Seen]:
    return list(seen_on_worker(kind, old, new))


@pytest.mark.parametrize(
    ("signal", "field"), [("BlockedOnPreemptionGates", "position"), ("QuotaReservationBlocked", "state")]
)
def test_a_copy_asks_and_is_opened_in_either_dialect(signal: str, field: str) -> None:
    fresh = obj(ours=True, preemptionGates=gate(field, "Closed"))
    asking = obj(signal, ours=True, preemptionGates=gate(field, "Closed"))
    opened = obj(signal, ours=True, preemptionGates=gate(field, "Open"))

    assert on_worker("Workload", None, fresh) == [Seen(SightingKind.COPIED)]
    assert on_worker("Workload", fresh, asking) == [Seen(SightingKind.ASKED, signal)]
    assert on_worker("Workload", asking, opened) == [Seen(SightingKind.OPENED, field)]
    assert on_worker("Workload", opened, opened) == []
    assert on_worker("Workload", opened, None) == [Seen(SightingKind.REMOVED)]


def recorded(cluster: str, opened: int, result: str = "pending", owners: tuple[str, ...] = ()) -> Obj:
    """Return a hub's Workload with the record of a forecast."""
    victims = tuple(ForecastVictim("default", owner, owner, "jobs", "r", owner=owner) for owner in owners)
    forecast = Forecast(ForecastVerdict.PREEMPTS, made_ns=1, victims=victims)
    record = ForecastRecord(WorkerName(cluster), ReplicaUID("u"), opened, forecast, ForecastResult(result))
    return {"metadata": {"name": "x", "annotations": {marks.FORECAST: format_record(record)}}, "spec": {}, "status": {}}


def test_a_forecast_is_seen_when_it_is_recorded_and_when_it_is_verified() -> None:
    made = recorded("worker-1", 5, owners=("Job batch-3", "Job batch-1"))
    verified = recorded("worker-1", 5, "exact", owners=("Job batch-3", "Job batch-1"))
    following = recorded("worker-2", 9, owners=("Job batch-2",))

    assert list(seen_on_hub("Workload", obj(), made)) == [
        Seen(SightingKind.FORECAST, "worker-1 batch-1 and batch-3", 5)
    ]
    assert list(seen_on_hub("Workload", made, made)) == []
    assert list(seen_on_hub("Workload", made, verified)) == [Seen(SightingKind.VERIFIED, "worker-1 exact")]
    assert list(seen_on_hub("Workload", verified, following)) == [Seen(SightingKind.FORECAST, "worker-2 batch-2", 9)]


def test_only_others_that_are_preempted_are_victims() -> None:
    admitted, evicted = obj("Admitted"), obj("Admitted", "Evicted")
    stopped = obj("Evicted")
    stopped["status"]["conditions"][0]["reason"] = "Deactivated"

    assert on_worker("Workload", admitted, evicted) == [Seen(SightingKind.EVICTED)]
    assert on_worker("Workload", evicted, evicted) == []
    assert on_worker("Workload", admitted, stopped) == []


def test_jobs_start_stop_and_end() -> None:
    waiting, running = job(suspend=True), job(active=1)
    stopping, done = job(suspend=True, active=1), job("Complete", succeeded=1)

    assert [phase(each) for each in (waiting, running, stopping, done)] == list(JobPhase)
    assert on_worker("Job", waiting, running) == [Seen(SightingKind.STARTED)]
    assert on_worker("Job", running, stopping) == []
    assert on_worker("Job", stopping, waiting) == [Seen(SightingKind.STOPPED)]
    (ended,) = on_worker("Job", running, done)
    assert ended.what is SightingKind.SUCCEEDED
    assert json.loads(ended.detail)["succeeded"] == 1
    assert list(seen_on_hub("Job", running, done)) == [ended]


def test_what_is_not_ours_must_not_be_touched() -> None:
    (written,) = on_worker("Workload", obj(), obj(manager=FIELD_MANAGER))
    (deleted,) = on_worker("Job", job(), None)

    assert (written.what, deleted.what) == (SightingKind.TOUCHED, SightingKind.TOUCHED)
    assert on_worker("Workload", obj(ours=True), obj(ours=True, manager=FIELD_MANAGER)) == []
    assert on_worker("Job", job(ours=True), None) == [Seen(SightingKind.JOB_REMOVED)]


def test_the_hub_tells_each_record_once() -> None:
    before, after = obj(), obj()
    entry = {"cluster": "w1", "replicaUID": "u", "openedAtUnixNano": "7"}
    after["metadata"]["annotations"] = {marks.GATE_OPENINGS: json.dumps([entry])}

    assert list(seen_on_hub("Workload", before, after)) == [Seen(SightingKind.RECORDED, "w1", 7)]
    assert list(seen_on_hub("Workload", after, after)) == []


def test_an_unreadable_record_counts_as_none() -> None:
    garbled = obj()
    garbled["metadata"]["annotations"] = {marks.GATE_OPENINGS: "yes"}

    assert list(seen_on_hub("Workload", obj(), garbled)) == []


def test_cpus_are_added_whatever_way_they_are_written() -> None:
    def asking(*requests: Obj) -> Obj:
        containers = [{"name": "c", "resources": {"requests": each}} for each in requests]
        return {"spec": {"template": {"spec": {"containers": [*containers, {"name": "without"}]}}}}

    assert cpus([asking({"cpu": "1500m"}, {"cpu": 2}), asking({"memory": "1Gi"})]) == 4
