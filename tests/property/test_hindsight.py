"""Whatever a controller does with gates, the shadow sees a breach exactly where two clusters shared a timeout."""

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from config.api.identifiers import WorkerName
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, ForecastVictim
from gates.model.settings import SECOND, GatePolicy, Settings
from gates.model.view import WorkloadView
from gates.shadow.episodes import Memory, observe
from gates.shadow.hindsight import Episode, PreemptionCost, charged, choices, tally
from tests.unit.gates.groups import NOW, group, hub, opened, replica, signalled, worker

NAMES = ("w1", "w2", "w3")
TIMEOUT = 30 * SECOND
SETTINGS = Settings(timeout_ns=TIMEOUT)
OPENINGS = st.lists(st.tuples(st.integers(0, 100), st.sampled_from(NAMES)), unique_by=lambda each: each[1], max_size=3)


def seen(openings: dict[str, int], now: int, order: tuple[str, ...] = NAMES) -> WorkloadView:
    """Show the gates that are open by then."""
    found = []
    for name in order:
        at = openings.get(name)
        copy = opened(name, at=at) if at is not None and at <= now else replica(name)
        found.append(worker(name, copy))
    return group(hub(), *found)


@given(OPENINGS, st.lists(st.integers(0, 120), max_size=6), st.permutations(NAMES))
def test_breaches_are_exactly_the_pairs_within_one_timeout(
    openings: list[tuple[int, str]], looks: list[int], order: tuple[str, ...]
) -> None:
    """However often it is reconciled, and in whatever order the workers are listed."""
    times = {name: NOW + at * SECOND for at, name in openings}
    memory: Memory | None = None
    for at in (*sorted(looks), 130):
        now = NOW + at * SECOND
        memory = observe(memory, seen(times, now, order), {}, now, SETTINGS)
    assert memory is not None
    found = {frozenset((breach.first, breach.second)) for breach in memory.episode.breaches}
    want = {frozenset(pair) for pair in combinations(times, 2) if abs(times[pair[0]] - times[pair[1]]) < TIMEOUT}
    assert found == want
    assert len(memory.episode.breaches) == len(want)
    assert {start.cluster for start in memory.episode.starts} == set(times)


VICTIMS = st.builds(
    ForecastVictim,
    st.just("ns"),
    st.text("abc", min_size=1),
    st.uuids().map(str),
    st.just("cq"),
    st.just("r"),
    pods=st.integers(1, 4),
    running_since_ns=st.none() | st.integers(0, 900).map(lambda ago: NOW - ago * SECOND),
)


def says(verdict: ForecastVerdict, victims: list[ForecastVictim]) -> Forecast:
    """Return a forecast; only a preemption has victims, and a cost."""
    named = tuple(victims) if verdict is ForecastVerdict.PREEMPTS else ()
    cost = Cost(victims=len(named), pods=sum(each.pods for each in named))
    return Forecast(verdict, NOW, victims=named, cost=cost)


FORECASTS = st.none() | st.builds(says, st.sampled_from(ForecastVerdict), st.lists(VICTIMS, max_size=3))


@given(st.tuples(FORECASTS, FORECASTS, FORECASTS), st.sampled_from(NAMES), st.lists(st.booleans(), min_size=3))
def test_the_least_disruptive_choice_is_never_dearer_than_the_first(
    forecasts: tuple[Forecast | None, ...], first: str, asked: list[bool]
) -> None:
    told = {WorkerName(name): forecast for name, forecast in zip(NAMES, forecasts, strict=True) if forecast is not None}
    workers = []
    for name, asks in zip(NAMES, asked, strict=False):
        copy = opened(name, at=NOW) if name == first else signalled(name, at=NOW) if asks else replica(name)
        workers.append(worker(name, copy))
    made = choices(group(hub(), *workers), told, WorkerName(first), NOW, SETTINGS)
    assert made == choices(group(hub(), *reversed(workers)), told, WorkerName(first), NOW, SETTINGS)
    by_policy = {choice.policy: choice for choice in made}
    fcfs, least = by_policy[GatePolicy.FIRST_COME_FIRST_SERVED], by_policy[GatePolicy.LEAST_DISRUPTION]
    assert fcfs.cluster == first
    if fcfs.cost is not None and least.cost is not None:
        assert (least.cost.victims, least.cost.pods) <= (fcfs.cost.victims, fcfs.cost.pods)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_a_policy_that_chooses_what_was_chosen_spares_nothing(victims: list[int]) -> None:
    memory = observe(None, seen({"w1": NOW}, NOW), {}, NOW, SETTINGS)
    assert memory is not None
    episodes: list[Episode] = [replace(memory.episode, uid=str(number)) for number, _ in enumerate(victims)]
    for episode in episodes:
        assert all(charged(episode, choice) == PreemptionCost() for choice in episode.choices if choice.cluster == "w1")
    assert all(each.spared == PreemptionCost() for each in tally(episodes).policies)
