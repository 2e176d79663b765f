"""One screen about a Workload tells what the decision does, in words."""

from dataclasses import replace

import pytest

from engine.forecasting.forecast import Cost, Forecast, ForecastVictim, Verdict
from engine.forecasting.verification import Result
from gates.decide import decide
from gates.explaining import explain
from gates.forecasts import ForecastRecord
from gates.settings import SECOND, GatePolicy, Settings
from gates.view import CheckState, Group, HubWorkload, Reach
from tests.unit.gates.groups import (
    NOW,
    SETTINGS,
    T,
    condition,
    group,
    hub,
    opened,
    replica,
    signalled,
    without_quota,
    worker,
)

VICTIM = ForecastVictim("ns", "low", "u", "cq", "InClusterQueue", 5, "Job j", 2, NOW - 90 * SECOND)
FORECAST = Forecast(
    Verdict.PREEMPTS, NOW, flavors=(("cpu", "f"),), borrowing=1, victims=(VICTIM,), cost=Cost(victims=1, pods=2)
)
ASKING = worker("w1", signalled("w1", at=NOW - SECOND))
NOMINATED = hub(nominated=("w1", "w2"))


def screen(state: Group, settings: Settings = SETTINGS, **forecasts: Forecast) -> tuple[str, str, list[str]]:
    found = explain(state, decide(state, NOW, settings, {}), forecasts, NOW, settings)
    return found.state, found.next, [f"{each.name} {each.gate}: {each.says}" for each in found.workers]


NEXT = {
    "a gate opens": (group(NOMINATED, ASKING), "the gate of w1 opens now"),
    "a window runs, and somebody waits for it": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", signalled("w2", at=NOW))),
        f"the gate of w2 opens in {T // SECOND - 1} s, when the window of w1 ends",
    ),
    "a window runs": (
        group(NOMINATED, worker("w1", opened("w1", at=NOW - SECOND)), worker("w2", replica("w2"))),
        f"w1 may preempt for another {T // SECOND - 1} s",
    ),
    "somebody has quota": (
        group(NOMINATED, ASKING, worker("w2", replica("w2", condition("QuotaReserved")))),
        "no gate opens while w2 has quota reserved",
    ),
    "nobody asks": (
        group(NOMINATED, worker("w1", replica("w1")), worker("w2", replica("w2"))),
        "nobody asks to preempt; the first worker to admit wins",
    ),
    "another row decides": (group(hub(check=CheckState.REJECTED), worker("w1")), "nothing to do (rule P5)"),
    "there is no check": (group(hub(check=None), worker("w1")), "nothing to do (rule P5)"),
}


@pytest.mark.parametrize(("state", "want"), NEXT.values(), ids=NEXT)
def test_what_happens_next(state: Group, want: str) -> None:
    assert screen(state)[1] == want


def test_a_policy_that_waits_says_how_long() -> None:
    settings = Settings(policy=GatePolicy.PREFER_NO_PREEMPTION)
    state = group(NOMINATED, ASKING, worker("w2", replica("w2")))
    assert screen(state, settings)[1] == "w1 waits 9 s at most: another cluster may admit without preemption"


def test_what_each_worker_says() -> None:
    pending = condition("QuotaReserved", status="False", message="no quota for cpu")
    workers = (
        worker("w1", reach=Reach.LOST),
        worker("w2", reach=Reach.UNREADABLE),
        worker("w3"),
        worker("w4", foreign_replica=True),
        worker("w5", problem="worker w5: forbidden"),
        worker("w6", replica("w6", pending)),
        worker("w7", replica("w7", has_gate=False)),
        worker("w8", signalled("w8", at=NOW)),
    )
    assert screen(group(hub(), *workers))[2] == [
        "w1 -: not reachable",
        "w2 -: not all of it is known yet",
        "w3 -: no copy",
        "w4 -: a foreign Workload of that name is there",
        "w5 -: worker w5: forbidden",
        "w6 closed: no quota for cpu",
        "w7 -: pending",
        "w8 closed: asks to preempt since 2027-01-15T08:00:00Z",
    ]


STATES = {
    "pending": (hub(), "check mk is Pending"),
    "running": (hub(check=CheckState.READY, cluster_name="w1"), "check mk is Ready on w1"),
    "without quota": (without_quota(hub()), "waits for quota on the hub"),
    "without a check": (hub(check=None), "has no admission check of ours"),
    "finished": (hub(condition("Finished")), "finished"),
}


@pytest.mark.parametrize(("workload", "want"), STATES.values(), ids=STATES)
def test_the_state(workload: HubWorkload, want: str) -> None:
    assert screen(group(workload, worker("w1")))[0] == want


def test_forecasts_are_told_with_their_victims() -> None:
    forecasts = {
        "w1": FORECAST,
        "w2": Forecast(Verdict.FITS, NOW, flavors=(("cpu", "g"),)),
        "w3": Forecast(Verdict.CANNOT, NOW, "no candidates"),
        "w4": Forecast(Verdict.AMBIGUOUS, NOW),
    }
    workers = [worker(name, replica(name)) for name in (*forecasts, "w5")]
    workers[2] = replace(workers[2], forecast_reliable=False)
    state = group(hub(forecast=ForecastRecord("w1", "u", NOW, FORECAST, Result.WRONG, "others")), *workers)
    found = explain(state, decide(state, NOW, SETTINGS, {}), forecasts, NOW, SETTINGS)
    assert [each.forecast for each in found.workers] == [
        "Preempts 1 workload(s), 2 pod(s), for cpu=f, borrowing at level 1",
        "Fits in cpu=g",
        "Cannot: no candidates [unreliable]",
        "Ambiguous",
        "-",
    ]
    assert found.workers[0].victims == ("ns/low (Job j), priority 5, running for 90 s, InClusterQueue",)
    assert found.last_forecast == "w1: Preempts, wrong (others)"


def test_what_the_victims_cost_is_told() -> None:
    victims = tuple(replace(VICTIM, name=name, preemption_cost=cost) for name, cost in (("dear", 7), ("free", 0)))
    cost = Cost(preemption_cost=7, victims=2, pods=4)
    forecast = replace(FORECAST, victims=victims, cost=cost, borrowing=0)
    state = group(hub(), worker("w1", replica("w1")))
    (found,) = explain(state, decide(state, NOW, SETTINGS, {}), {"w1": forecast}, NOW, SETTINGS).workers
    assert found.forecast == "Preempts 2 workload(s), 4 pod(s), preemption cost 7, for cpu=f"
    assert found.victims == (
        "ns/dear (Job j), priority 5, preemption cost 7, running for 90 s, InClusterQueue",
        "ns/free (Job j), priority 5, running for 90 s, InClusterQueue",
    )


def test_flavors_that_depend_on_who_leaves_first_are_told() -> None:
    forecast = replace(FORECAST, borrowing=0, other_flavors=((("cpu", "g"),), (("cpu", "h"),)))
    state = group(hub(), worker("w1", replica("w1")))
    (found,) = explain(state, decide(state, NOW, SETTINGS, {}), {"w1": forecast}, NOW, SETTINGS).workers
    want = "Preempts 1 workload(s), 2 pod(s), for cpu=f (or cpu=g or cpu=h, by who leaves first)"
    assert found.forecast == want
