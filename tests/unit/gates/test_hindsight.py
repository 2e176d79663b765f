"""What other policies would have chosen, what they are charged with, and what it all adds up to."""

from dataclasses import dataclass, replace

import pytest

from config.api.identifiers import NO_WORKER, ReplicaUID, WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import ForecastResult
from gates.model.settings import SECOND, GatePolicy, Settings
from gates.model.view import Reach, WorkloadView
from gates.reports.recording import dumps, loads
from gates.shadow.hindsight import (
    Breach,
    Episode,
    LostWork,
    News,
    PolicyOutcome,
    PreemptionCost,
    PreemptionStart,
    charged,
    choices,
    cost_of,
    forecast_cost,
    news,
    tally,
)
from tests.support.worker_names import W1, W2, W3
from tests.unit.gates.groups import NOW, SETTINGS, group, hub, opened, replica, signalled, worker

FIRST, LEAST, PREFER = GatePolicy
FITS = Forecast(ForecastVerdict.FITS, NOW)
CANNOT = Forecast(ForecastVerdict.CANNOT, NOW)
UNSUPPORTED = Forecast(ForecastVerdict.UNSUPPORTED, NOW)


def victim(name: str, pods: int = 1, ran: int = 10, *, in_flight: bool = False) -> ForecastVictim:
    since = NOW - ran * SECOND
    return ForecastVictim("ns", name, name, "cq", "r", pods=pods, running_since_ns=since, in_flight=in_flight)


def preempts(*victims: ForecastVictim) -> Forecast:
    counted = [each for each in victims if not each.in_flight]
    cost = Cost(victims=len(counted), pods=sum(each.pods for each in counted))
    return Forecast(ForecastVerdict.PREEMPTS, NOW, victims=victims, cost=cost)


ONE, TWO = preempts(victim("a", 2)), preempts(victim("b"), victim("c"))
ASKED = group(
    hub(), worker("w1", opened("w1", at=NOW)), worker("w2", signalled("w2", at=NOW)), worker("w3", replica("w3"))
)


@dataclass(frozen=True)
class Case:
    group: WorkloadView
    forecasts: dict[WorkerName, Forecast]
    want: dict[GatePolicy, tuple[str, PreemptionCost | None]]
    settings: Settings = SETTINGS


CASES = {
    "the cheapest that asked": Case(
        ASKED,
        {W1: TWO, W2: ONE, W3: CANNOT},
        {
            FIRST: ("w1", PreemptionCost(2, 2, 20)),
            LEAST: ("w2", PreemptionCost(1, 2, 20)),
            PREFER: ("w1", PreemptionCost(2, 2, 20)),
        },
    ),
    "one that would have asked within the grace counts": Case(
        ASKED,
        {W1: TWO, W2: TWO, W3: ONE},
        {
            FIRST: ("w1", PreemptionCost(2, 2, 20)),
            LEAST: ("w3", PreemptionCost(1, 2, 20)),
            PREFER: ("w1", PreemptionCost(2, 2, 20)),
        },
    ),
    "room elsewhere spares everybody": Case(
        ASKED,
        {W1: ONE, W2: ONE, W3: FITS},
        {FIRST: ("w1", PreemptionCost(1, 2, 20)), LEAST: ("w3", PreemptionCost()), PREFER: ("w3", PreemptionCost())},
    ),
    "least borrowing is the room that is taken": Case(
        ASKED,
        {W1: ONE, W2: replace(FITS, borrowing=2), W3: replace(FITS, borrowing=1)},
        {FIRST: ("w1", PreemptionCost(1, 2, 20)), LEAST: ("w3", PreemptionCost()), PREFER: ("w3", PreemptionCost())},
    ),
    "without forecasts it would have been the same": Case(
        ASKED,
        {W2: UNSUPPORTED},
        {FIRST: ("w1", None), LEAST: ("w1", None), PREFER: ("w1", None)},
    ),
    "who asked earlier comes first": Case(
        group(hub(), worker("w1", opened("w1", at=NOW)), worker("w2", signalled("w2", at=NOW - 5 * SECOND))),
        {W1: ONE, W2: ONE},
        {
            FIRST: ("w2", PreemptionCost(1, 2, 20)),
            LEAST: ("w2", PreemptionCost(1, 2, 20)),
            PREFER: ("w2", PreemptionCost(1, 2, 20)),
        },
    ),
    "a clock that runs ahead does not make a request later": Case(
        group(
            hub(),
            worker("w1", opened("w1", at=NOW)),
            worker("w2", signalled("w2", at=NOW + 50 * SECOND), clock_skew_ns=60 * SECOND),
        ),
        {W1: ONE, W2: ONE},
        {
            FIRST: ("w2", PreemptionCost(1, 2, 20)),
            LEAST: ("w2", PreemptionCost(1, 2, 20)),
            PREFER: ("w2", PreemptionCost(1, 2, 20)),
        },
    ),
    "an unreliable forecast is not used": Case(
        group(
            hub(),
            worker("w1", opened("w1", at=NOW)),
            worker("w2", signalled("w2", at=NOW), forecast_reliable=False),
        ),
        {W1: TWO, W2: ONE},
        {
            FIRST: ("w1", PreemptionCost(2, 2, 20)),
            LEAST: ("w1", PreemptionCost(2, 2, 20)),
            PREFER: ("w1", PreemptionCost(2, 2, 20)),
        },
    ),
    "a cluster out of sight is no alternative": Case(
        group(hub(), worker("w1", opened("w1", at=NOW)), worker("w2", reach=Reach.LOST)),
        {W1: TWO, W2: FITS},
        {
            FIRST: ("w1", PreemptionCost(2, 2, 20)),
            LEAST: ("w1", PreemptionCost(2, 2, 20)),
            PREFER: ("w1", PreemptionCost(2, 2, 20)),
        },
    ),
    "no worker, where all are futile and that is to be skipped": Case(
        group(hub(), worker("w1", opened("w1", at=NOW)), worker("w2", signalled("w2", at=NOW))),
        {W1: CANNOT, W2: CANNOT},
        {FIRST: ("", None), LEAST: ("", None), PREFER: ("", None)},
        Settings(skip_futile=True),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_each_policy_would_have_chosen(case: Case) -> None:
    found = choices(case.group, case.forecasts, W1, NOW, case.settings)
    assert {each.policy: (each.cluster, each.cost) for each in found} == case.want


def test_who_was_on_his_way_out_already_costs_nothing() -> None:
    assert forecast_cost(preempts(victim("a"), victim("b", in_flight=True))) == PreemptionCost(1, 1, 10)
    assert forecast_cost(replace(ONE, victims=(replace(victim("a"), running_since_ns=None),))) == PreemptionCost(
        1, 1, 0
    )
    assert forecast_cost(CANNOT) is None
    assert forecast_cost(None) is None


def start(
    cluster: str, *losses: LostWork, gated: bool = True, result: ForecastResult = ForecastResult.EXACT, at: int = NOW
) -> PreemptionStart:
    return PreemptionStart(
        WorkerName(cluster), ReplicaUID(f"{cluster}-uid"), at, at, gated=gated, losses=losses, result=result
    )


A, B, C = LostWork("ns/a", "a", pods=1, seconds=3600), LostWork("ns/b", "b", pods=2, seconds=60), LostWork("ns/c", "c")
HERE, ELSEWHERE = (
    PolicyOutcome(LEAST, W1, PreemptionCost(9, 9, 9)),
    PolicyOutcome(LEAST, W3, PreemptionCost(1, 1, 5)),
)


def episode(*starts: PreemptionStart, choice: PolicyOutcome = HERE, breaches: tuple[Breach, ...] = ()) -> Episode:
    return Episode("ns/wl", "u", NOW, starts, (choice,), breaches)


CHARGES: dict[str, tuple[Episode, PreemptionCost | None]] = {
    "the same cluster: what happened": (episode(start("w1", A)), PreemptionCost(1, 1, 3600)),
    "the same cluster, which failed: all that followed": (
        episode(start("w1"), start("w2", A, B)),
        PreemptionCost(2, 3, 3720),
    ),
    "another cluster: its forecast": (episode(start("w1", A, B), choice=ELSEWHERE), PreemptionCost(1, 1, 5)),
    "another cluster that had its turn: what happened there": (
        episode(start("w1", A), start("w3", B), choice=ELSEWHERE),
        PreemptionCost(1, 2, 120),
    ),
    "without gates, the first: what happened there alone": (
        episode(start("w1", A, gated=False), start("w2", B, gated=False)),
        PreemptionCost(1, 1, 3600),
    ),
    "nobody would have been chosen": (episode(start("w1", A), choice=PolicyOutcome(LEAST, NO_WORKER, None)), None),
    "nobody was let preempt": (episode(), None),
    "no forecast": (episode(start("w1", A), choice=PolicyOutcome(LEAST, W2, None)), None),
}


@pytest.mark.parametrize(("made", "want"), CHARGES.values(), ids=CHARGES)
def test_what_a_policy_is_charged_with(made: Episode, want: PreemptionCost | None) -> None:
    assert charged(made, made.choices[0]) == want


def test_the_tally_compares_only_what_is_settled_and_known() -> None:
    breach = Breach(W1, "w2", NOW, NOW + SECOND, gated=False)
    two = episode(start("w1", A, gated=False), start("w2", B, gated=False), breaches=(breach,))
    open_still = replace(episode(start("w1", C, result=ForecastResult.PENDING)), uid="v")
    total = tally([two, open_still, replace(episode(), uid="w")])
    assert (total.episodes, total.starts, total.ungated, total.breaches) == (2, 3, 2, 1)
    assert total.caused == PreemptionCost(3, 3, 3720)
    assert dict(total.results) == {"exact": 2, "pending": 1}
    (least,) = [each for each in total.policies if each.policy is LEAST]
    assert (least.compared, least.spared) == (1, PreemptionCost(1, 2, 120))
    assert all(each.compared == 0 for each in total.policies if each.policy is not LEAST)


def test_what_is_new_is_told_once() -> None:
    begun = episode(start("w1", A, result=ForecastResult.PENDING))
    more = episode(start("w1", A, B, result=ForecastResult.PENDING))
    done = episode(start("w1", A, B))
    assert news(None, begun) == News(starts=begun.starts, victims=(("w1", 1),))
    assert news(begun, more) == News(victims=(("w1", 1),))
    assert news(more, done) == News(judged=done.starts)
    assert news(done, done) == News()
    breach = Breach(W1, "w2", NOW, NOW, gated=True)
    assert news(done, replace(done, breaches=(breach,))) == News(breaches=(breach,))


def test_an_episode_comes_back_from_a_journal_as_it_was() -> None:
    breach = Breach(W1, "w2", NOW, NOW, gated=True)
    made = episode(replace(start("w1", A), forecast=TWO), choice=PolicyOutcome(LEAST, W2, None), breaches=(breach,))
    assert loads(Episode, dumps(made)) == made


def test_nothing_lost_is_nothing() -> None:
    assert cost_of(()) == PreemptionCost()
