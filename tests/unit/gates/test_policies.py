"""Which gate opens next under each policy, and that no policy waits longer than it may."""

from dataclasses import dataclass, replace

import pytest

from config.api.identifiers import ReplicaUID
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict
from gates.decision.narrative import pending_message
from gates.decision.opening import Defer, Open, Wait, next_gate
from gates.model.openings import Opening
from gates.model.settings import SECOND, GatePolicy, Settings
from gates.model.view import GateSupport, WorkerView, WorkloadView
from tests.unit.gates.groups import ATTEMPT, NOW, T, group, hub, opened, replica, signalled, worker

LEAST = Settings(policy=GatePolicy.LEAST_DISRUPTION)
PREFER = Settings(policy=GatePolicy.PREFER_NO_PREEMPTION)
SKIP = Settings(skip_futile=True)
GRACE = LEAST.grace_ns


def says(verdict: ForecastVerdict, **cost: int) -> Forecast:
    return Forecast(verdict, NOW, cost=Cost(**cost))


def asks(name: str, *, ago: int, forecast: Forecast | None = None, **fields: object) -> WorkerView:
    return worker(name, signalled(name, at=NOW - ago), forecast=forecast, **fields)


def waits(name: str, forecast: Forecast | None = None) -> WorkerView:
    return worker(name, replica(name), forecast=forecast)


CHEAP, DEAR = says(ForecastVerdict.PREEMPTS, victims=1), says(ForecastVerdict.PREEMPTS, victims=5)
CANNOT, FITS = says(ForecastVerdict.CANNOT), says(ForecastVerdict.FITS)
LONG = 2 * GRACE


@dataclass(frozen=True)
class Case:
    group: WorkloadView
    settings: Settings
    want: tuple[str, str] | tuple[str, str, int]


CASES = {
    "the cheapest of all that ask opens at once": Case(
        group(hub(), asks("w1", ago=9, forecast=DEAR), asks("w2", ago=5, forecast=CHEAP)), LEAST, ("open", "w2")
    ),
    "S1: a forecast that is being made is awaited": Case(
        group(hub(), asks("w1", ago=9, forecast=DEAR), asks("w2", ago=5, forecast_wait_ns=7)), LEAST, ("defer", "w1", 7)
    ),
    "S1: for no longer than the grace": Case(
        group(hub(), asks("w1", ago=GRACE - 3, forecast=DEAR), asks("w2", ago=5, forecast_wait_ns=7)),
        LEAST,
        ("defer", "w1", 3),
    ),
    "S1: and not when the grace is over": Case(
        group(hub(), asks("w1", ago=GRACE, forecast=DEAR), asks("w2", ago=5, forecast_wait_ns=7)), LEAST, ("open", "w1")
    ),
    "S1: who comes first is served without waiting for a forecast": Case(
        group(hub(), asks("w1", ago=9, forecast_wait_ns=7)), Settings(), ("open", "w1")
    ),
    "among equal costs the first to ask opens": Case(
        group(hub(), asks("w1", ago=5, forecast=CHEAP), asks("w2", ago=9, forecast=CHEAP)), LEAST, ("open", "w2")
    ),
    "the users' own cost counts before the number of victims": Case(
        group(
            hub(),
            asks("w1", ago=9, forecast=says(ForecastVerdict.PREEMPTS, preemption_cost=3, victims=1)),
            asks("w2", ago=5, forecast=says(ForecastVerdict.PREEMPTS, preemption_cost=2, victims=9)),
        ),
        LEAST,
        ("open", "w2"),
    ),
    "least disruption waits for a worker that may still ask": Case(
        group(hub(), asks("w1", ago=4 * SECOND, forecast=DEAR), waits("w2")),
        LEAST,
        ("defer", "w1", GRACE - 4 * SECOND),
    ),
    "but not longer than the grace": Case(
        group(hub(), asks("w1", ago=GRACE, forecast=DEAR), waits("w2")), LEAST, ("open", "w1")
    ),
    "nor for a worker that cannot": Case(
        group(hub(), asks("w1", ago=1, forecast=DEAR), waits("w2", CANNOT)), LEAST, ("open", "w1")
    ),
    "without forecasts least disruption is first come": Case(
        group(hub(), asks("w1", ago=5), asks("w2", ago=9)), LEAST, ("open", "w2")
    ),
    "a worker with a forecast comes before one without": Case(
        group(hub(), asks("w1", ago=5, forecast=DEAR), asks("w2", ago=9)), LEAST, ("open", "w1")
    ),
    "an unreliable worker's forecast does not count": Case(
        group(hub(), asks("w1", ago=5, forecast=CHEAP, forecast_reliable=False), asks("w2", ago=9)),
        LEAST,
        ("open", "w2"),
    ),
    "an ambiguous forecast does not count": Case(
        group(hub(), asks("w1", ago=5, forecast=says(ForecastVerdict.AMBIGUOUS)), asks("w2", ago=9)),
        LEAST,
        ("open", "w2"),
    ),
    "who cannot comes last": Case(
        group(hub(), asks("w1", ago=9, forecast=CANNOT), asks("w2", ago=5)), LEAST, ("open", "w2")
    ),
    "a worker whose last write failed comes last, however cheap": Case(
        group(hub(), asks("w1", ago=9, forecast=CHEAP, problem="down"), asks("w2", ago=5, forecast=DEAR)),
        LEAST,
        ("open", "w2"),
    ),
    "an admission without preemption is awaited": Case(
        group(hub(), asks("w1", ago=SECOND), waits("w2", FITS)), PREFER, ("defer", "w1", GRACE - SECOND)
    ),
    "also where there is no forecast": Case(
        group(hub(), asks("w1", ago=SECOND), waits("w2")), PREFER, ("defer", "w1", GRACE - SECOND)
    ),
    "also for a worker whose copy is on its way": Case(
        group(hub(nominated=("w1", "w2")), asks("w1", ago=SECOND), worker("w2", forecast=FITS)),
        PREFER,
        ("defer", "w1", GRACE - SECOND),
    ),
    "but not for one that takes no copy": Case(
        group(hub(nominated=("w1", "w2")), asks("w1", ago=SECOND), worker("w2", problem="it refuses")),
        PREFER,
        ("open", "w1"),
    ),
    "nor for one whose copy is to wait for its turn": Case(
        group(hub(nominated=("w1", "w2")), asks("w1", ago=SECOND), worker("w2", gates=GateSupport.MISSING)),
        PREFER,
        ("open", "w1"),
    ),
    "but not where it would have to preempt too": Case(
        group(hub(), asks("w1", ago=SECOND), waits("w2", DEAR)), PREFER, ("open", "w1")
    ),
    "and not when all ask": Case(group(hub(), asks("w1", ago=1), asks("w2", ago=2)), PREFER, ("open", "w2")),
    "after the grace the first to ask opens": Case(
        group(hub(), asks("w1", ago=LONG), waits("w2", FITS)), PREFER, ("open", "w1")
    ),
    "a clock ahead of ours makes no worker wait": Case(
        group(hub(), asks("w1", ago=-3600 * SECOND), waits("w2")), PREFER, ("open", "w1")
    ),
    "a known skew is put right before the grace is counted": Case(
        group(hub(), asks("w1", ago=-LONG, clock_skew_ns=2 * LONG), waits("w2")), PREFER, ("open", "w1")
    ),
    "a futile opening is passed over": Case(
        group(hub(), asks("w1", ago=9, forecast=CANNOT), asks("w2", ago=5)), SKIP, ("open", "w2")
    ),
    "if all are futile they wait for one timeout": Case(
        group(hub(), asks("w1", ago=9, forecast=CANNOT)), SKIP, ("defer", "w1", T - 9)
    ),
    "after which the forecast is put to the test": Case(
        group(hub(), asks("w1", ago=T, forecast=CANNOT)), SKIP, ("open", "w1")
    ),
    "an unreliable worker is not passed over": Case(
        group(hub(), asks("w1", ago=9, forecast=CANNOT, forecast_reliable=False)), SKIP, ("open", "w1")
    ),
    "no policy shortens the window of another cluster": Case(
        group(hub(), worker("w1", opened("w1", at=NOW - T + SECOND)), asks("w2", ago=LONG, forecast=CHEAP)),
        LEAST,
        ("wait", "w2", SECOND),
    ),
    "a busy worker is not chosen": Case(
        group(hub(), asks("w1", ago=9, forecast=CHEAP, busy=True), asks("w2", ago=5, forecast=DEAR)),
        LEAST,
        ("open", "w2"),
    ),
    "a grace beyond the timeout is cut to it": Case(
        group(hub(), asks("w1", ago=T, forecast=CHEAP), waits("w2")), replace(LEAST, grace_ns=9 * T), ("open", "w1")
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_next_gate(case: Case) -> None:
    match next_gate(case.group, NOW, case.settings):
        case Open(worker=chosen, opening=opening):
            assert opening == Opening(chosen.name, ReplicaUID(f"{chosen.name}-uid"), NOW, ATTEMPT, entry_ns=NOW)
            found: tuple[str, ...] | tuple[str, str, int] = ("open", chosen.name)
        case Defer(worker=chosen, remaining_ns=remaining):
            found = ("defer", chosen.name, remaining)
        case Wait(worker=chosen, remaining_ns=remaining):
            found = ("wait", chosen.name, remaining)
        case other:
            raise AssertionError(other)
    assert found == case.want


def test_the_check_says_why_a_gate_stays_closed_and_until_when() -> None:
    state = group(hub(), asks("w1", ago=SECOND), waits("w2"))
    message = pending_message(state, next_gate(state, NOW, PREFER), PREFER)
    later = pending_message(state, next_gate(state, NOW + SECOND, PREFER), PREFER)
    assert message.endswith("at the latest: another cluster may admit without preemption")
    assert message == later, "the sentence changes with the state, not with the clock"
