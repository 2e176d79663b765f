"""The record about pods: written with the opening, judged after the quota, and never in the way of a gate."""

import json
from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID
from engine.forecasting.forecast import Forecast, ForecastVerdict
from engine.forecasting.verification import ForecastResult
from engine.pod_outlook.judging import Landed
from engine.pod_outlook.values import PodCost, PodOutcome, PodOutlook, PodVerdict, PodVictim, unsupported
from gates.decision.decide import decide
from gates.model.actions import EmitEvent, RecordForecast, RecordOpenings
from gates.model.forecasts import ForecastRecord, Witness, format_record, parse_record
from gates.model.pod_records import MAX_NAMES, PodRecord, PodWitness
from gates.model.settings import SECOND
from gates.model.view import Reach, WorkloadView
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, SETTINGS, T, condition, group, hub, replica, signalled, worker

FORECAST = Forecast(ForecastVerdict.FITS, NOW - SECOND, flavors=(("cpu", "f"),))
VICTIM = PodVictim("ns", "a", "n1", 3, "gang", NOW - 5 * SECOND, violates_budget=True)
OUTLOOK = PodOutlook(
    PodVerdict.EVICTS, NOW - SECOND, "1.36", "", 2, (VICTIM,), (PodOutcome(("ns/a",)),), cost=PodCost(1, 0, 20)
)
PENDING = ForecastRecord(
    W1,
    ReplicaUID("w1-uid"),
    NOW - SECOND,
    FORECAST,
    ForecastResult.EXACT,
    verified_ns=NOW - SECOND,
    pods=PodRecord(OUTLOOK),
)
ADMITTED = replica("w1", condition("QuotaReserved"), gate_open=True, gate_opened_ns=NOW - SECOND)
DONE = PodWitness(Landed(("ns/a",), 2))


def judged(state: WorkloadView, now_ns: int = NOW) -> PodRecord | None:
    actions = decide(state, now_ns, SETTINGS, {}).actions
    found = next((action.record for action in actions if isinstance(action, RecordForecast)), None)
    return None if found is None else found.pods


def test_the_outlook_is_written_together_with_the_opening() -> None:
    asking = worker("w1", signalled("w1", at=NOW - SECOND), forecast=FORECAST, pods=OUTLOOK)
    (action,) = [a for a in decide(group(hub(), asking), NOW, SETTINGS, {}).actions if isinstance(a, RecordOpenings)]
    assert action.forecast is not None
    assert action.forecast.pods == PodRecord(OUTLOOK)
    unsure = group(hub(), replace(asking, pods=unsupported("why", NOW)))
    (action,) = [a for a in decide(unsure, NOW, SETTINGS, {}).actions if isinstance(a, RecordOpenings)]
    assert action.forecast is not None
    assert action.forecast.pods is not None
    assert action.forecast.pods.result is ForecastResult.NONE


JUDGED = {
    "all pods have a node": (worker("w1", ADMITTED, pod_witness=DONE), ForecastResult.EXACT, NOW),
    "another one was evicted": (
        worker("w1", ADMITTED, pod_witness=PodWitness(Landed(("ns/b",), 2))),
        ForecastResult.WRONG,
        NOW,
    ),
    "a window after the quota": (
        worker("w1", ADMITTED, pod_witness=PodWitness(Landed((), 1))),
        ForecastResult.TIMEOUT,
        NOW + 2 * T,
    ),
    "not all was seen": (worker("w1", ADMITTED, pod_witness=PodWitness(missed="away")), ForecastResult.NONE, NOW),
    "it is not watched any longer": (worker("w1", ADMITTED), ForecastResult.NONE, NOW + 2 * T),
    "the copy is gone": (worker("w1"), ForecastResult.OVERTAKEN, NOW),
    "the quota is gone": (worker("w1", replica("w1", gate_open=True)), ForecastResult.NONE, NOW),
    "the cluster is gone": (worker("w2"), ForecastResult.OVERTAKEN, NOW),
}


@pytest.mark.parametrize(("place", "want", "now_ns"), JUDGED.values(), ids=JUDGED)
def test_a_result_is_written_once_it_is_known(place: object, want: ForecastResult, now_ns: int) -> None:
    state = group(hub(forecast=PENDING), place)  # type: ignore[arg-type]
    found = judged(state, now_ns)
    assert found is not None
    assert (found.result, found.verified_ns) == (want, now_ns)
    events = [a for a in decide(state, now_ns, SETTINGS, {}).actions if isinstance(a, EmitEvent)]
    missed = [event for event in events if event.reason == "ForecastMissed"]
    assert bool(missed) is (want not in (ForecastResult.EXACT, ForecastResult.NONE))
    again = replace(state, workload=replace(state.workload, forecast=replace(PENDING, pods=found)))
    assert judged(again, now_ns) is None


WAITING = {
    "pods look for nodes": worker("w1", ADMITTED, pod_witness=PodWitness(Landed((), 1))),
    "nodes and pods are not known": worker("w1", ADMITTED),
    "the worker is not to be seen": worker("w1", ADMITTED, reach=Reach.UNREADABLE),
}


@pytest.mark.parametrize("place", WAITING.values(), ids=WAITING)
def test_it_waits_while_it_is_not_known(place: object) -> None:
    assert judged(group(hub(forecast=PENDING), place)) is None  # type: ignore[arg-type]


def test_the_quota_comes_first() -> None:
    open_question = replace(PENDING, result=ForecastResult.PENDING, verified_ns=None)
    seen = worker("w1", ADMITTED, pod_witness=DONE, witness=Witness((("cpu", "f"),)))
    state = group(hub(forecast=open_question), seen)
    (record,) = [a.record for a in decide(state, NOW, SETTINGS, {}).actions if isinstance(a, RecordForecast)]
    assert record.result is ForecastResult.EXACT
    assert record.pods == PodRecord(OUTLOOK)


def test_the_record_survives_the_annotation() -> None:
    for pods in (
        None,
        PodRecord(OUTLOOK),
        PodRecord(OUTLOOK, ForecastResult.EXACT, "one", NOW),
        PodRecord(unsupported("x", 1)),
    ):
        record = replace(PENDING, pods=pods)
        assert parse_record(format_record(record)) == record


def test_a_record_of_too_many_pods_keeps_none() -> None:
    many = replace(OUTLOOK, outcomes=(PodOutcome(tuple(f"ns/{n}" for n in range(MAX_NAMES))),))
    text = format_record(replace(PENDING, pods=PodRecord(many)))
    assert json.loads(text)["pods"]["namesLeftOut"] == MAX_NAMES + 1
    parsed = parse_record(text)
    assert parsed is not None
    assert parsed.pods is None


def test_a_record_of_pods_that_is_malformed_is_as_good_as_none() -> None:
    document = json.loads(format_record(PENDING))
    oddities: list[object] = [[], {"verdict": "?"}, "x"]
    for odd in oddities:
        assert parse_record(json.dumps({**document, "pods": odd})) is None
