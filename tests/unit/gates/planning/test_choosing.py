"""Which worker would get a planned job, under each dispatcher and policy."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import NO_WORKER, WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict
from engine.planning.prospect import Outlook
from gates.model.settings import Dispatcher, GatePolicy, Settings, UngatedPolicy
from gates.model.view import GateSupport, Reach
from gates.planning.choosing import PlannedWorker, Prospect, choose_worker
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW


def prospect(
    name: str, verdict: ForecastVerdict | None, *, victims: int = 0, borrowing: int = 0, **fields: Any
) -> Prospect:
    position = int(name.removeprefix("w"))
    if verdict is None:
        return Prospect(WorkerName(name), position, Reach.LOST, problem="no route to host")
    forecast = Forecast(verdict, NOW, borrowing=borrowing, cost=Cost(victims=victims))
    return replace(Prospect(WorkerName(name), position, outlook=Outlook(forecast)), **fields)


FITS, PREEMPTS, CANNOT, LOST = ForecastVerdict.FITS, ForecastVerdict.PREEMPTS, ForecastVerdict.CANNOT, None
FIRST_ADMITS = "it fits there without preemption; if it fits on several, the first to admit wins"
FIRST_ASKS = "the first to ask preempts; ties follow the order of the MultiKueueConfig"
LEAST = Settings(policy=GatePolicy.LEAST_DISRUPTION)
FORECAST_FIRST = Settings(dispatcher=Dispatcher.FORECAST_FIRST)

CASES: dict[str, tuple[list[Prospect], Settings, PlannedWorker]] = {
    "the only one where it fits": (
        [prospect("w1", PREEMPTS), prospect("w2", FITS), prospect("w3", CANNOT)],
        Settings(),
        PlannedWorker(W2, "it is the only one where it fits without preemption"),
    ),
    "several fit: who admits first is not known": (
        [prospect("w1", FITS), prospect("w2", CANNOT), prospect("w3", FITS)],
        Settings(),
        PlannedWorker(W1, FIRST_ADMITS, ("w3",)),
    ),
    "ForecastFirst takes the one that borrows least": (
        [prospect("w1", FITS, borrowing=1), prospect("w2", FITS)],
        FORECAST_FIRST,
        PlannedWorker(W2, "it fits there without preemption, and ForecastFirst tries it alone first"),
    ),
    "ForecastFirst sends it everywhere if it fits nowhere": (
        [prospect("w1", PREEMPTS), prospect("w2", CANNOT)],
        FORECAST_FIRST,
        PlannedWorker(W1, "it is the only one that can make room by preemption"),
    ),
    "several would preempt: the first to ask does": (
        [prospect("w1", PREEMPTS, victims=3), prospect("w2", PREEMPTS, victims=1)],
        Settings(),
        PlannedWorker(W1, FIRST_ASKS, ("w2",)),
    ),
    "LeastDisruption takes the cheapest": (
        [prospect("w1", PREEMPTS, victims=3), prospect("w2", PREEMPTS, victims=1)],
        LEAST,
        PlannedWorker(W2, "LeastDisruption chooses it: its preemption disrupts least"),
    ),
    "LeastDisruption does not go by forecasts that were wrong lately": (
        [prospect("w1", PREEMPTS, victims=3, reliable=False), prospect("w2", PREEMPTS, victims=9, reliable=False)],
        LEAST,
        PlannedWorker(W1, FIRST_ASKS, ("w2",)),
    ),
    "PreferNoPreemption waits, and then goes by who asked first": (
        [prospect("w1", PREEMPTS), prospect("w2", PREEMPTS)],
        Settings(policy=GatePolicy.PREFER_NO_PREEMPTION),
        PlannedWorker(W1, FIRST_ASKS, ("w2",)),
    ),
    "Incremental begins with the first few": (
        [prospect("w1", PREEMPTS), prospect("w2", FITS)],
        Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1),
        PlannedWorker(W1, "it is the only one that can make room by preemption"),
    ),
    "Incremental goes on where the first few cannot": (
        [prospect("w1", CANNOT), prospect("w2", FITS)],
        Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1),
        PlannedWorker(W2, "it is the only one where it fits without preemption"),
    ),
    "External: another controller nominates": (
        [prospect("w1", FITS)],
        Settings(dispatcher=Dispatcher.EXTERNAL),
        PlannedWorker(W1, "it fits there without preemption, if the external dispatcher nominates it"),
    ),
    "it fits nowhere": (
        [prospect("w1", CANNOT), prospect("w2", CANNOT)],
        Settings(),
        PlannedWorker(NO_WORKER, "no worker would admit it now"),
    ),
    "it fits nowhere that can be seen": (
        [prospect("w1", CANNOT), prospect("w2", LOST)],
        Settings(),
        PlannedWorker(NO_WORKER, "no worker is known to admit it, and for some there is no forecast"),
    ),
    "what is ambiguous is no promise": (
        [prospect("w1", ForecastVerdict.AMBIGUOUS), prospect("w2", ForecastVerdict.UNSUPPORTED)],
        Settings(),
        PlannedWorker(NO_WORKER, "no worker is known to admit it, and for some there is no forecast"),
    ),
    "there are no workers": ([], Settings(), PlannedWorker(NO_WORKER, "no worker would admit it now")),
}


@pytest.mark.parametrize(("prospects", "settings", "want"), CASES.values(), ids=CASES)
def test_the_choice(prospects: list[Prospect], settings: Settings, want: PlannedWorker) -> None:
    assert choose_worker(prospects, NOW, settings, {}) == want


def test_a_worker_without_gates_that_is_excluded_gets_nothing() -> None:
    prospects = [prospect("w1", FITS, gates=GateSupport.MISSING), prospect("w2", PREEMPTS)]
    excluded = {W1: UngatedPolicy.EXCLUDE}
    assert choose_worker(prospects, NOW, Settings(), excluded).worker == "w2"
    assert choose_worker(prospects, NOW, Settings(), {}).worker == "w1"
    assert choose_worker(prospects[:1], NOW, Settings(), excluded).worker == ""
