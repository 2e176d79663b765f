"""Forecast-first dispatch: one worker where the Workload fits, all others after a round or when that fails."""

from dataclasses import dataclass
from typing import Any

import pytest

from engine.forecasting.forecast import Forecast, ForecastVerdict
from gates.decision.decide import decide
from gates.decision.dispatch import nominate
from gates.model.actions import CreateReplica
from gates.model.settings import SECOND, Dispatcher, Settings
from gates.model.view import Reach, WorkerView, WorkloadView
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW, condition, group, hub, replica, signalled, worker

SETTINGS = Settings(dispatcher=Dispatcher.FORECAST_FIRST, gate_single_target=False)
ROUND = SETTINGS.forecast_round_ns


def fits(name: str, borrowing: int = 0, **fields: Any) -> WorkerView:
    return worker(name, forecast=Forecast(ForecastVerdict.FITS, NOW, borrowing=borrowing), **fields)


def full(name: str) -> WorkerView:
    return worker(name, forecast=Forecast(ForecastVerdict.PREEMPTS, NOW))


TRIED = hub(nominated=("w2",), round_started_ns=NOW - SECOND)
COPY = replica("w2")


@dataclass(frozen=True)
class Case:
    group: WorkloadView
    want: tuple[str, ...]
    requeue: int | None = None
    starts: bool = False


CASES = {
    "the first that fits is tried alone": Case(
        group(hub(), full("w1"), fits("w2"), fits("w3")), ("w2",), ROUND, starts=True
    ),
    "who borrows least is preferred": Case(
        group(hub(), fits("w1", 1), fits("w2", 0), fits("w3", 0)), ("w2",), ROUND, starts=True
    ),
    "where it fits nowhere, all are tried": Case(group(hub(), full("w1"), worker("w2")), ("w1", "w2")),
    "an unreliable forecast is not followed": Case(
        group(hub(), fits("w1", forecast_reliable=False), full("w2")), ("w1", "w2")
    ),
    "the only worker needs no round": Case(group(hub(), fits("w1")), ("w1",)),
    "a lost worker is not tried": Case(
        group(hub(), fits("w1", reach=Reach.LOST), fits("w2"), full("w3")), ("w2",), ROUND, starts=True
    ),
    "during the round nothing changes": Case(
        group(TRIED, full("w1"), fits("w2", replica=COPY)), ("w2",), ROUND - SECOND
    ),
    "S1: a forecast that is being made is awaited": Case(
        group(hub(), full("w1"), worker("w2", forecast_wait_ns=7)), (), 7
    ),
    "S1: no forecast that is being made keeps a Workload from where it fits": Case(
        group(hub(), worker("w1", forecast_wait_ns=7), fits("w2")), ("w2",), ROUND, starts=True
    ),
    "also while the forecast for the copy is not ready": Case(
        group(TRIED, full("w1"), worker("w2", COPY)), ("w2",), ROUND - SECOND
    ),
    "after the round all others follow": Case(
        group(hub(nominated=("w2",), round_started_ns=NOW - ROUND), fits("w1"), fits("w2", replica=COPY)), ("w1", "w2")
    ),
    "they follow at once when the worker asks to preempt": Case(
        group(TRIED, full("w1"), fits("w2", replica=signalled("w2", at=NOW))), ("w1", "w2")
    ),
    "or when it no longer fits": Case(group(TRIED, full("w1"), full("w2")), ("w1", "w2")),
    "or when the worker is lost": Case(group(TRIED, full("w1"), fits("w2", reach=Reach.LOST)), ("w1",)),
    "or when it cannot be written to": Case(group(TRIED, full("w1"), fits("w2", problem="down")), ("w1", "w2")),
    "or when it was evicted there": Case(
        group(TRIED, full("w1"), fits("w2", replica=replica("w2", condition("Evicted")))), ("w1", "w2")
    ),
    "reserved quota keeps the others away until the round ends": Case(
        group(TRIED, full("w1"), worker("w2", replica("w2", condition("QuotaReserved")))), ("w2",), ROUND - SECOND
    ),
    "what was widened stays wide": Case(
        group(hub(nominated=("w1", "w2"), round_started_ns=NOW), fits("w1"), fits("w2")), ("w1", "w2")
    ),
    "without a start of the round it is over": Case(
        group(hub(nominated=("w2",)), fits("w1"), fits("w2")), ("w1", "w2")
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_nomination(case: Case) -> None:
    found = nominate(case.group, NOW, SETTINGS, {})
    assert found.clusters == case.want
    assert found.requeue_ns == case.requeue
    assert (found.round_started_ns == NOW) is case.starts
    assert found.changed is (set(case.want) != set(case.group.workload.nominated))


def test_the_copy_on_trial_is_gated_because_others_may_follow() -> None:
    decision = decide(group(hub(), full("w1"), fits("w2")), NOW, SETTINGS, {})
    assert CreateReplica(W2, gated=True) in decision.actions
    alone = decide(group(hub(), fits("w1")), NOW, SETTINGS, {})
    assert CreateReplica(W1, gated=False) in alone.actions
