"""How a forecast is held against what happened."""

from dataclasses import dataclass, replace

import pytest

from engine.forecasting.forecast import Forecast, ForecastVerdict, ForecastVictim
from engine.forecasting.verification import Evicted, ForecastResult, Happened, Replay, judge

CPU = (("cpu", "f"),)


def victim(name: str, *, in_flight: bool = False) -> ForecastVictim:
    return ForecastVictim("ns", name, f"{name}-uid", "cq", "InClusterQueue", in_flight=in_flight)


def evicted(name: str, reason: str = "InClusterQueue") -> Evicted:
    return Evicted("ns", name, f"{name}-uid", reason)


def preempts(*names: str) -> Forecast:
    return Forecast(ForecastVerdict.PREEMPTS, 0, flavors=CPU, victims=tuple(map(victim, names)))


def admitted(*victims: Evicted) -> Happened:
    return Happened(has_quota=True, flavors=CPU, evicted=victims)


FITS = Forecast(ForecastVerdict.FITS, 0, flavors=CPU)
CANNOT = Forecast(ForecastVerdict.CANNOT, 0, "no quota")
NOTHING = Happened()


@dataclass(frozen=True)
class Case:
    forecast: Forecast
    happened: Happened
    want: ForecastResult
    replays: tuple[Replay, ...] = ()
    message: str = ""


CASES = {
    "the very victims": Case(preempts("a", "b"), admitted(evicted("b"), evicted("a")), ForecastResult.EXACT),
    "one of the flavors that it may get instead": Case(
        replace(preempts("a"), flavors=(("cpu", "g"),), other_flavors=((("cpu", "h"),), CPU)),
        admitted(evicted("a")),
        ForecastResult.EXACT,
    ),
    "none of the flavors that it may get": Case(
        replace(preempts("a"), flavors=(("cpu", "g"),), other_flavors=((("cpu", "h"),),)),
        admitted(evicted("a")),
        ForecastResult.WRONG,
    ),
    "fits and nothing was preempted": Case(FITS, admitted(), ForecastResult.EXACT),
    "cannot, and it did not": Case(CANNOT, NOTHING, ForecastResult.EXACT),
    "who was leaving anyway is not counted": Case(
        replace(preempts("a"), victims=(victim("a"), victim("b", in_flight=True))),
        admitted(evicted("a")),
        ForecastResult.EXACT,
    ),
    "one fewer": Case(
        preempts("a", "b"),
        admitted(evicted("a")),
        ForecastResult.SUBSET,
        message="forecast: preempted ns/a, ns/b; happened: preempted ns/a, got quota",
    ),
    "no victim instead of one": Case(preempts("a"), admitted(), ForecastResult.SUBSET),
    "one more": Case(preempts("a"), admitted(evicted("a"), evicted("c")), ForecastResult.SUPERSET),
    "one victim instead of none": Case(
        FITS,
        admitted(evicted("a")),
        ForecastResult.SUPERSET,
        message="forecast: fits; happened: preempted ns/a, got quota",
    ),
    "another victim": Case(preempts("a"), admitted(evicted("c")), ForecastResult.WRONG),
    "another reason": Case(preempts("a"), admitted(evicted("a", "InCohortReclamation")), ForecastResult.WRONG),
    "another flavor": Case(
        FITS,
        Happened(has_quota=True, flavors=(("cpu", "g"),)),
        ForecastResult.WRONG,
        message="forecast: fits; happened: preempted nothing, got quota in cpu=g instead of cpu=f",
    ),
    "cannot, and it did": Case(CANNOT, admitted(), ForecastResult.WRONG),
    "cannot, and a workload was preempted for it": Case(
        CANNOT, Happened(evicted=(evicted("a"),)), ForecastResult.WRONG
    ),
    "nothing happened in time": Case(
        preempts("a"),
        NOTHING,
        ForecastResult.TIMEOUT,
        message="forecast: preempted ns/a; happened: preempted nothing, no quota in time",
    ),
    "the victims take their time": Case(preempts("a"), Happened(evicted=(evicted("a"),)), ForecastResult.TIMEOUT),
    "another one was preempted, for nothing": Case(
        preempts("a"), Happened(evicted=(evicted("c"),)), ForecastResult.WRONG
    ),
    "the cluster changed, and the change explains it": Case(
        preempts("a"),
        admitted(evicted("b")),
        ForecastResult.OVERTAKEN,
        (Replay(CANNOT, "ClusterQueue cq"), Replay(preempts("b"), "Workload ns/a")),
        "exact after the change of Workload ns/a",
    ),
    "the cluster changed, and the change does not explain it": Case(
        preempts("a"), admitted(evicted("c")), ForecastResult.WRONG, (Replay(preempts("b"), "Workload ns/a"),)
    ),
    "an unsupported forecast promises nothing": Case(
        Forecast(ForecastVerdict.UNSUPPORTED, 0, "topology"),
        admitted(),
        ForecastResult.NONE,
        message="nothing was forecast: topology",
    ),
    "an ambiguous forecast promises nothing": Case(
        Forecast(ForecastVerdict.AMBIGUOUS, 0),
        admitted(),
        ForecastResult.NONE,
        message="nothing was forecast: Ambiguous",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_result(case: Case) -> None:
    found = judge(case.forecast, case.replays, case.happened)
    assert found.result is case.want
    if case.message or case.want is ForecastResult.EXACT:
        assert found.message == case.message


def test_S1_what_replays_that_are_missing_might_have_explained_is_not_judged() -> None:
    missed = "the forecast could not be made again"
    assert judge(preempts("a"), (), admitted(evicted("a")), missed).result is ForecastResult.EXACT
    other = admitted(evicted("b"))
    assert (
        judge(preempts("a"), (Replay(preempts("b"), "Workload ns/x"),), other, missed).result
        is ForecastResult.OVERTAKEN
    )
    found = judge(preempts("a"), (), other, missed)
    assert (found.result, found.message.startswith(missed)) == (ForecastResult.NONE, True)
