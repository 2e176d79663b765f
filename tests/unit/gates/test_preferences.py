"""Which of the eligible workers is preferred: by groups, weights and prices, under each dispatcher and policy."""

from dataclasses import dataclass
from typing import Any

import pytest

from config.api.identifiers import NO_WORKER, WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict
from gates.decision.dispatch import nominate
from gates.decision.opening import Open, next_gate
from gates.model.settings import Dispatcher, GatePolicy, Settings
from gates.model.view import WorkerView
from gates.targets.affinity import NO_PEERS, Peer, Peers, group_exclusion, group_preference
from gates.targets.matching import price_of
from gates.targets.rules import (
    AFFINITY,
    AFFINITY_GROUP,
    ANTI_AFFINITY,
    ANTI_AFFINITY_GROUP,
    ExclusionRule,
    GroupRule,
    Insistence,
    TargetRules,
    target_rules,
)
from tests.support.worker_names import W1, W2
from tests.unit.gates.groups import NOW, group, hub, signalled, worker

FORECAST_FIRST = Settings(dispatcher=Dispatcher.FORECAST_FIRST)
ROUNDS = Settings(dispatcher=Dispatcher.INCREMENTAL, step_size=1)
LEAST = Settings(policy=GatePolicy.LEAST_DISRUPTION, grace_ns=1)
MILLION = 1_000_000


def fits(name: str, borrowing: int = 0, **fields: Any) -> WorkerView:
    return worker(name, forecast=Forecast(ForecastVerdict.FITS, NOW, borrowing=borrowing), **fields)


PREFERRED = {
    "the order of the list": ((fits("w1"), fits("w2")), W1),
    "a higher weight": ((fits("w1"), fits("w2", weight=2 * MILLION)), W2),
    "a weight of nothing": ((fits("w1", weight=0), fits("w2")), W2),
    "a lower price": ((fits("w1", price=5), fits("w2", price=4)), W2),
    "weight before price": ((fits("w1", price=5, weight=2 * MILLION), fits("w2", price=4)), W1),
    "a group before weight": ((fits("w1", weight=2 * MILLION), fits("w2", group_preference=1)), W2),
    "not beside the other group": ((fits("w1", group_preference=-1), fits("w2")), W2),
    "weight before borrowing": ((fits("w1", 1, weight=2 * MILLION), fits("w2")), W1),
    "borrowing before the order of the list": ((fits("w1", 1), fits("w2")), W2),
}


@pytest.mark.parametrize(("workers", "want"), PREFERRED.values(), ids=PREFERRED)
def test_forecast_first_tries_the_preferred_worker(workers: tuple[WorkerView, ...], want: WorkerName) -> None:
    assert nominate(group(hub(), *workers), NOW, FORECAST_FIRST, {}).clusters == (want,)


@pytest.mark.parametrize("name", [name for name in PREFERRED if name != "borrowing before the order of the list"])
def test_rounds_begin_with_the_preferred_worker(name: str) -> None:
    workers, want = PREFERRED[name]
    assert nominate(group(hub(), *workers), NOW, ROUNDS, {}).clusters == (want,)


def preempting(name: str, victims: int, **fields: Any) -> WorkerView:
    forecast = Forecast(ForecastVerdict.PREEMPTS, NOW, cost=Cost(victims=victims))
    return worker(name, signalled(name, at=NOW), forecast=forecast, **fields)


@dataclass(frozen=True)
class Disruption:
    workers: tuple[WorkerView, ...]
    want: str


DISRUPTIONS = {
    "equal forecasts: the higher weight": Disruption((preempting("w1", 1), preempting("w2", 1, weight=9**9)), "w2"),
    "equal forecasts: the lower price": Disruption((preempting("w1", 1, price=2), preempting("w2", 1, price=1)), "w2"),
    "fewer victims come first": Disruption((preempting("w1", 1), preempting("w2", 2, weight=9**9)), "w1"),
}


@pytest.mark.parametrize("case", DISRUPTIONS.values(), ids=DISRUPTIONS)
def test_least_disruption_goes_by_preference_among_equals(case: Disruption) -> None:
    gate = next_gate(group(hub(), *case.workers), NOW, LEAST)
    assert isinstance(gate, Open)
    assert gate.worker.name == case.want


PRICES = {
    "nothing has a price": ({"cpu": 4000}, {}, 0),
    "cores": ({"cpu": 1500}, {"cpu": 40_000}, 60_000),
    "memory by the GiB": ({"memory": 3 << 30}, {"memory": 5_000}, 15_000),
    "pieces": ({"cpu": 1000, "nvidia.com/gpu": 8}, {"nvidia.com/gpu": 2_500_000}, 20_000_000),
}


@pytest.mark.parametrize(("amounts", "prices", "want"), PRICES.values(), ids=PRICES)
def test_a_price_is_that_of_all_that_the_workload_asks_for(
    amounts: dict[str, int], prices: dict[str, int], want: int
) -> None:
    assert price_of(amounts, prices) == want


# --- groups

TOGETHER = TargetRules(affinity=GroupRule("g", Insistence.REQUIRED))
APART = TargetRules(anti_affinity=GroupRule("g", Insistence.REQUIRED))
ME = Peer("ns/me", 10, is_waiting=True)
OLDER, YOUNGER = Peer("ns/a", 5, is_waiting=True), Peer("ns/z", 15, is_waiting=True)
ON_W1 = Peer("ns/b", 1, W1)


@pytest.mark.parametrize(
    ("rules", "peers", "want"),
    [
        pytest.param(TOGETHER, NO_PEERS, (None, None), id="alone it may go anywhere"),
        pytest.param(TOGETHER, Peers((ON_W1,)), (None, "Affinity"), id="it goes where its group is"),
        pytest.param(TOGETHER, Peers((OLDER,)), ("Affinity", "Affinity"), id="the oldest is placed first"),
        pytest.param(TOGETHER, Peers((YOUNGER,)), (None, None), id="it is the oldest itself"),
        pytest.param(TOGETHER, Peers((Peer("ns/a", 5),)), (None, None), id="one that is not dispatched leads nobody"),
        pytest.param(TOGETHER, Peers((OLDER, ON_W1)), (None, "Affinity"), id="once one is placed, none is waited for"),
        pytest.param(APART, Peers((), (ON_W1,)), ("AntiAffinity", None), id="it goes where none of its group is"),
        pytest.param(APART, Peers((), (ON_W1, OLDER)), ("AntiAffinity", "AntiAffinity"), id="one after the other"),
        pytest.param(APART, Peers((), (ON_W1, YOUNGER)), ("AntiAffinity", None), id="before the younger one"),
        pytest.param(
            TargetRules(affinity=GroupRule("g")), Peers((ON_W1, OLDER)), (None, None), id="preferred rules out nothing"
        ),
    ],
)
def test_a_required_group_rules_workers_out(rules: TargetRules, peers: Peers, want: tuple[str | None, ...]) -> None:
    found = (group_exclusion(rules, ME, peers, name) for name in (W1, W2))
    assert tuple(each and each.rule for each in found) == want


def test_a_group_prefers_or_avoids_workers() -> None:
    preferred, avoided = TargetRules(affinity=GroupRule("g")), TargetRules(anti_affinity=GroupRule("g"))
    assert [group_preference(preferred, Peers((ON_W1,)), name) for name in (W1, W2, NO_WORKER)] == [1, 0, 0]
    assert [group_preference(avoided, Peers((), (ON_W1,)), name) for name in (W1, W2)] == [-1, 0]


def test_groups_are_read_from_annotations() -> None:
    found = target_rules({AFFINITY_GROUP: "a", AFFINITY: "Required"}, {ANTI_AFFINITY_GROUP: "b"})
    assert found == TargetRules(affinity=GroupRule("a", Insistence.REQUIRED), anti_affinity=GroupRule("b"))


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({AFFINITY_GROUP: ""}, "the name of a group"),
        ({AFFINITY_GROUP: "no group"}, "label value"),
        ({AFFINITY_GROUP: "g", AFFINITY: "required"}, "one of Preferred, Required"),
        ({ANTI_AFFINITY: "Required"}, "names the group"),
        ({AFFINITY_GROUP: "g", ANTI_AFFINITY_GROUP: "g"}, "must be two"),
    ],
)
def test_groups_that_cannot_be_read_are_told(annotations: dict[str, str], said: str) -> None:
    assert said in target_rules(annotations, {}).problem


def test_the_rules_have_names_for_screens() -> None:
    assert set(ExclusionRule) >= {"Affinity", "AntiAffinity"}
