"""Which worker would get a planned job, under each dispatcher and policy."""

from dataclasses import replace
from typing import Any

import pytest

from engine.forecasting.forecast import Cost, Forecast, Verdict
from engine.planning.outlook import Outlook
from gates.planning.choosing import Choice, Prospect, choose_worker
from gates.settings import Dispatcher, GatePolicy, Settings, UngatedPolicy
from gates.view import GateSupport, Reach
from tests.unit.gates.groups import NOW


def prospect(name: str, verdict: Verdict | None, *, victims: int = 0, borrowing: int = 0, **fields: Any) -> Prospect:
    position = int(name.removeprefix("w"))
    if verdict is None:
        return Prospect(name, position, Reach.LOST, problem="no route to host")
    forecast = Forecast(verdict, NOW, borrowing=borrowing, cost=Cost(victims=victims))
    return replace(Prospect(name, position, outlook=Outlook(forecast)), **fields)


FITS, PREEMPTS, CANNOT, LOST = Verdict.FITS, Verdict.PREEMPTS, Verdict.CANNOT, None
FIRST_ADMITS = "it fits there without preemption; of several the first to admit wins"
FIRST_ASKS = "the first to ask preempts; at the same moment the order of the MultiKueueConfig tells"
LEAST = Settings(policy=GatePolicy.LEAST_DISRUPTION)
FORECAST_FIRST = Settings(dispatcher=Dispatcher.FORECAST_FIRST)

CASES: dict[str, tuple[list[Prospect], Settings, Choice]] = {
    "the only one where it fits": (
        [prospect("w1", PREEMPTS), prospect("w2", FITS), prospect("w3", CANNOT)],
        Settings(),
        Choice("w2", "it is the only one where it fits without preemption"),
    ),
    "several fit: who admits first is not known": (
        [prospect("w1", FITS), prospect("w2", CANNOT), prospect("w3", FITS)],
        Settings(),
        Choice("w1", FIRST_ADMITS, ("w3",)),
    ),
    "ForecastFirst takes the one that borrows least": (
        [prospect("w1", FITS, borrowing=1), prospect("w2", FITS)],
        FORECAST_FIRST,
        Choice("w2", "it fits there without preemption, and ForecastFirst tries it alone at first"),
    ),
    "ForecastFirst sends it everywhere if it fits nowhere": (
        [prospect("w1", PREEMPTS), prospect("w2", CANNOT)],
        FORECAST_FIRST,
        Choice("w1", "it is the only one that would make room, by preemption"),
    ),
    "several would preempt: the first to ask does": (
        [prospect("w1", PREEMPTS, victims=3), prospect("w2", PREEMPTS, victims=1)],
        Settings(),
        Choice("w1", FIRST_ASKS, ("w2",)),
    ),
    "LeastDisruption takes the cheapest": (
        [prospect("w1", PREEMPTS, victims=3), prospect("w2", PREEMPTS, victims=1)],
        LEAST,
        Choice("w2", "its preemption costs least, which LeastDisruption goes by"),
    ),
    "LeastDisruption does not go by forecasts that were wrong lately": (
        [prospect("w1", PREEMPTS, victims=3, reliable=False), prospect("w2", PREEMPTS, victims=9, reliable=False)],
        LEAST,
        Choice("w1", FIRST_ASKS, ("w2",)),
    ),
    "PreferNoPreemption waits, and then goes by who asked first": (
        [prospect("w1", PREEMPTS), prospect("w2", PREEMPTS)],
        Settings(policy=GatePolicy.PREFER_NO_PREEMPTION),
        Choice("w1", FIRST_ASKS, ("w2",)),
    ),
    "Incremental begins with the first few": (
        [prospect("w1", PREEMPTS), prospect("w2", FITS)],
        Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1),
        Choice("w1", "it is the only one that would make room, by preemption"),
    ),
    "Incremental goes on where the first few cannot": (
        [prospect("w1", CANNOT), prospect("w2", FITS)],
        Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1),
        Choice("w2", "it is the only one where it fits without preemption"),
    ),
    "External: somebody else nominates": (
        [prospect("w1", FITS)],
        Settings(dispatcher=Dispatcher.EXTERNAL),
        Choice("w1", "it fits there without preemption, if the controller that nominates allows it"),
    ),
    "it fits nowhere": (
        [prospect("w1", CANNOT), prospect("w2", CANNOT)],
        Settings(),
        Choice("", "no worker would take it now"),
    ),
    "it fits nowhere that can be seen": (
        [prospect("w1", CANNOT), prospect("w2", LOST)],
        Settings(),
        Choice("", "no worker is known to take it; about some nothing can be said"),
    ),
    "what is ambiguous is no promise": (
        [prospect("w1", Verdict.AMBIGUOUS), prospect("w2", Verdict.UNSUPPORTED)],
        Settings(),
        Choice("", "no worker is known to take it; about some nothing can be said"),
    ),
    "there are no workers": ([], Settings(), Choice("", "no worker would take it now")),
}


@pytest.mark.parametrize(("prospects", "settings", "want"), CASES.values(), ids=CASES)
def test_the_choice(prospects: list[Prospect], settings: Settings, want: Choice) -> None:
    assert choose_worker(prospects, NOW, settings, {}) == want


def test_a_worker_without_gates_that_is_excluded_gets_nothing() -> None:
    prospects = [prospect("w1", FITS, gates=GateSupport.MISSING), prospect("w2", PREEMPTS)]
    excluded = {"w1": UngatedPolicy.EXCLUDE}
    assert choose_worker(prospects, NOW, Settings(), excluded).worker == "w2"
    assert choose_worker(prospects, NOW, Settings(), {}).worker == "w1"
    assert choose_worker(prospects[:1], NOW, Settings(), excluded).worker == ""
