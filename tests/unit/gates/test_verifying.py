"""The record of a forecast: written with the opening, judged once, and never in the way of a gate."""

import json
from dataclasses import replace

import pytest

from config.api.identifiers import ReplicaUID
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult, Replay
from gates.decision.decide import decide
from gates.decision.reliability import hit_rate, is_reliable
from gates.model.actions import EmitEvent, RecordForecast, RecordOpenings
from gates.model.forecasts import MAX_VICTIMS, ForecastRecord, Witness, format_record, parse_record
from gates.model.openings import Opening
from gates.model.settings import SECOND
from gates.model.view import Reach, WorkloadView
from gates.wire.patches import hub_annotation
from tests.support.worker_names import W1
from tests.unit.gates.groups import NOW, SETTINGS, T, condition, group, hub, opened, replica, signalled, worker

CPU = (("cpu", "f"),)
VICTIM = ForecastVictim("ns", "low", "low-uid", "cq", "InClusterQueue", 5, "Job j", 2, NOW - SECOND, 3)
FORECAST = Forecast(
    ForecastVerdict.PREEMPTS, NOW - SECOND, "4 more needed", "cq", CPU, 0, (VICTIM,), Cost(3, 1, 2, 0, 4), ("in part",)
)
RECORD = ForecastRecord(W1, ReplicaUID("w1-uid"), NOW - SECOND, FORECAST)
EVICTED = Evicted("ns", "low", "low-uid", "InClusterQueue")
SEEN = Witness(CPU, (EVICTED,))
OPENINGS = (Opening(W1, ReplicaUID("w1-uid"), NOW - SECOND),)
ADMITTED = replica("w1", condition("QuotaReserved"), gate_open=True, gate_opened_ns=NOW - SECOND)


def written(state: WorkloadView, now_ns: int = NOW) -> ForecastRecord | None:
    actions = decide(state, now_ns, SETTINGS, {}).actions
    return next((action.record for action in actions if isinstance(action, RecordForecast)), None)


def test_the_forecast_is_written_together_with_the_opening() -> None:
    state = group(hub(), worker("w1", signalled("w1", at=NOW - SECOND), forecast=FORECAST))
    (action,) = [a for a in decide(state, NOW, SETTINGS, {}).actions if isinstance(a, RecordOpenings)]
    assert action.forecast == ForecastRecord(W1, ReplicaUID("w1-uid"), NOW, FORECAST)
    assert len(hub_annotation(action)) == 2


def test_a_forecast_that_promises_nothing_is_final_at_once() -> None:
    nothing = Forecast(ForecastVerdict.UNSUPPORTED, NOW, "topology")
    state = group(hub(), worker("w1", signalled("w1", at=NOW), forecast=nothing))
    (action,) = [a for a in decide(state, NOW, SETTINGS, {}).actions if isinstance(a, RecordOpenings)]
    assert action.forecast is not None
    assert action.forecast.result is ForecastResult.NONE


def test_a_forecast_that_comes_late_is_written_while_the_window_runs() -> None:
    copy = opened("w1", at=NOW - SECOND)
    state = group(hub(openings=OPENINGS), worker("w1", copy, forecast=FORECAST))
    assert written(state) == RECORD
    assert written(replace(state, workload=replace(state.workload, forecast=RECORD))) is None
    assert written(state, NOW + T) is None, "the window is over"
    assert written(group(hub(openings=OPENINGS), worker("w1", copy))) is None


JUDGED = {
    "the replica has quota": (
        group(hub(forecast=RECORD), worker("w1", ADMITTED, witness=SEEN)),
        ForecastResult.EXACT,
        NOW,
    ),
    "another one was preempted": (
        group(hub(forecast=RECORD), worker("w1", ADMITTED, witness=Witness(CPU, (replace(EVICTED, name="x"),)))),
        ForecastResult.WRONG,
        NOW,
    ),
    "a change explains it": (
        group(
            hub(forecast=RECORD),
            worker(
                "w1",
                ADMITTED,
                witness=Witness(CPU, (), (Replay(Forecast(ForecastVerdict.FITS, NOW, flavors=CPU), "x"),)),
            ),
        ),
        ForecastResult.OVERTAKEN,
        NOW,
    ),
    "the window is over": (
        group(hub(forecast=RECORD), worker("w1", opened("w1", at=NOW - SECOND), witness=Witness())),
        ForecastResult.TIMEOUT,
        NOW + T,
    ),
    "the copy is gone": (group(hub(forecast=RECORD), worker("w1")), ForecastResult.OVERTAKEN, NOW),
    "the cluster is no longer in use": (group(hub(forecast=RECORD), worker("w2")), ForecastResult.OVERTAKEN, NOW),
    "it is still open": (
        group(hub(forecast=RECORD), worker("w1", opened("w1", at=NOW - SECOND), witness=Witness())),
        None,
        NOW,
    ),
    "the model is behind": (group(hub(forecast=RECORD), worker("w1", ADMITTED)), None, NOW),
    "the worker cannot be read": (group(hub(forecast=RECORD), worker("w1", reach=Reach.LOST)), None, NOW + T),
    "it was judged before": (
        group(hub(forecast=replace(RECORD, result=ForecastResult.WRONG)), worker("w1", ADMITTED, witness=SEEN)),
        None,
        NOW,
    ),
    "the Workload is being deleted": (
        group(hub(forecast=RECORD, deleted=True), worker("w1", ADMITTED, witness=SEEN)),
        None,
        NOW,
    ),
}


@pytest.mark.parametrize(("state", "want", "now_ns"), JUDGED.values(), ids=JUDGED)
def test_a_forecast_is_judged(state: WorkloadView, want: ForecastResult | None, now_ns: int) -> None:
    record = written(state, now_ns)
    assert (None if record is None else record.result) is want
    if record is not None:
        assert record.verified_ns == now_ns
        again = replace(state, workload=replace(state.workload, forecast=record))
        assert written(again, now_ns) is None, "a judgement is written once"


def test_an_event_is_written_unless_the_forecast_was_exact() -> None:
    missed = group(hub(forecast=RECORD), worker("w1", ADMITTED, witness=Witness(CPU)))
    exact = group(hub(forecast=RECORD), worker("w1", ADMITTED, witness=SEEN))
    events = [
        [action.message for action in decide(state, NOW, SETTINGS, {}).actions if isinstance(action, EmitEvent)]
        for state in (missed, exact)
    ]
    told = "forecast: preempted ns/low; happened: preempted nothing, got quota"
    assert events == [[f"Forecast for cluster w1: subset. {told}"], []]


def test_the_end_of_the_window_is_not_missed() -> None:
    state = group(hub(forecast=RECORD), worker("w1", opened("w1", at=NOW - SECOND), witness=Witness()))
    assert decide(state, NOW, SETTINGS, {}).requeue_ns == T - SECOND


def test_a_record_survives_its_annotation() -> None:
    kept = replace(RECORD, result=ForecastResult.WRONG, message="x", verified_ns=NOW)
    assert parse_record(format_record(kept)) == replace(kept, forecast=replace(FORECAST, labels=()))


BROKEN = ["", "{", "[]", "null", "7", '{"cluster":"w1"}', format_record(RECORD).replace("Preempts", "Maybe")]


@pytest.mark.parametrize("text", BROKEN)
def test_an_annotation_that_is_malformed_is_as_good_as_none(text: str) -> None:
    assert parse_record(text) is None


def test_a_record_with_too_many_victims_is_cut_and_not_verified_later() -> None:
    crowd = replace(FORECAST, victims=tuple(replace(VICTIM, name=f"v{n}") for n in range(MAX_VICTIMS + 1)))
    text = format_record(replace(RECORD, forecast=crowd))
    assert json.loads(text)["victimsLeftOut"] == 1
    assert parse_record(text) is None


E, W, LATE = ForecastResult.EXACT, ForecastResult.WRONG, ForecastResult.OVERTAKEN
RATES = {
    "nothing is known": ([], None, True),
    "a few misses prove nothing": ([W, W, W, W], 0, True),
    "five do": ([W, W, W, W, W], 0, False),
    "what the cluster overtook is not counted": ([LATE] * 6, None, True),
    "four of five are enough": ([E, W, E, E, E], 80, True),
    "three of five are not": ([E, W, W, E, E], 60, False),
    "only the last ones count": ([W] * 9 + [E] * 10, 52, True),
}


@pytest.mark.parametrize(("results", "rate", "reliable"), RATES.values(), ids=RATES)
def test_reliability(results: list[ForecastResult], rate: int | None, reliable: bool) -> None:
    assert hit_rate(results) == rate
    assert is_reliable(results, 80, 10) is reliable


def test_pod_sets_in_different_flavors_are_all_in_the_record() -> None:
    flavors = (("cpu", "f"), ("cpu", "g"), ("memory", "f"))
    record = replace(RECORD, forecast=replace(FORECAST, labels=(), flavors=flavors, other_flavors=(CPU, flavors[:2])))
    assert '"flavors":{"cpu":["f","g"],"memory":"f"}' in format_record(record)
    assert parse_record(format_record(record)) == record
