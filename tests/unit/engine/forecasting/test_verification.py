"""How a forecast is held against what happened."""

from dataclasses import dataclass, replace

import pytest

from engine.forecasting.forecast import Forecast, ForecastVictim, Verdict
from engine.forecasting.verification import Evicted, Happened, Replay, Result, judge

CPU = (("cpu", "f"),)


def victim(name: str, *, in_flight: bool = False) -> ForecastVictim:
    return ForecastVictim("ns", name, f"{name}-uid", "cq", "InClusterQueue", in_flight=in_flight)


def evicted(name: str, reason: str = "InClusterQueue") -> Evicted:
    return Evicted("ns", name, f"{name}-uid", reason)


def preempts(*names: str) -> Forecast:
    return Forecast(Verdict.PREEMPTS, 0, flavors=CPU, victims=tuple(map(victim, names)))


def admitted(*victims: Evicted) -> Happened:
    return Happened(has_quota=True, flavors=CPU, evicted=victims)


FITS = Forecast(Verdict.FITS, 0, flavors=CPU)
CANNOT = Forecast(Verdict.CANNOT, 0, "no quota")
NOTHING = Happened()


@dataclass(frozen=True)
class Case:
    forecast: Forecast
    happened: Happened
    want: Result
    replays: tuple[Replay, ...] = ()
    message: str = ""


CASES = {
    "the very victims": Case(preempts("a", "b"), admitted(evicted("b"), evicted("a")), Result.EXACT),
    "one of the flavors that it may get instead": Case(
        replace(preempts("a"), flavors=(("cpu", "g"),), other_flavors=((("cpu", "h"),), CPU)),
        admitted(evicted("a")),
        Result.EXACT,
    ),
    "none of the flavors that it may get": Case(
        replace(preempts("a"), flavors=(("cpu", "g"),), other_flavors=((("cpu", "h"),),)),
        admitted(evicted("a")),
        Result.WRONG,
    ),
    "fits and nobody was preempted": Case(FITS, admitted(), Result.EXACT),
    "cannot, and it did not": Case(CANNOT, NOTHING, Result.EXACT),
    "who was leaving anyway is not counted": Case(
        replace(preempts("a"), victims=(victim("a"), victim("b", in_flight=True))), admitted(evicted("a")), Result.EXACT
    ),
    "one fewer": Case(
        preempts("a", "b"),
        admitted(evicted("a")),
        Result.SUBSET,
        message="forecast: preempted ns/a, ns/b; happened: preempted ns/a, got quota",
    ),
    "nobody instead of one": Case(preempts("a"), admitted(), Result.SUBSET),
    "one more": Case(preempts("a"), admitted(evicted("a"), evicted("c")), Result.SUPERSET),
    "somebody instead of nobody": Case(
        FITS,
        admitted(evicted("a")),
        Result.SUPERSET,
        message="forecast: fits; happened: preempted ns/a, got quota",
    ),
    "somebody else": Case(preempts("a"), admitted(evicted("c")), Result.WRONG),
    "another reason": Case(preempts("a"), admitted(evicted("a", "InCohortReclamation")), Result.WRONG),
    "another flavor": Case(
        FITS,
        Happened(has_quota=True, flavors=(("cpu", "g"),)),
        Result.WRONG,
        message="forecast: fits; happened: preempted nobody, got quota in cpu=g instead of cpu=f",
    ),
    "cannot, and it did": Case(CANNOT, admitted(), Result.WRONG),
    "cannot, and somebody was preempted for it": Case(CANNOT, Happened(evicted=(evicted("a"),)), Result.WRONG),
    "nothing happened in time": Case(
        preempts("a"),
        NOTHING,
        Result.TIMEOUT,
        message="forecast: preempted ns/a; happened: preempted nobody, no quota in time",
    ),
    "the victims take their time": Case(preempts("a"), Happened(evicted=(evicted("a"),)), Result.TIMEOUT),
    "somebody else was preempted, for nothing": Case(preempts("a"), Happened(evicted=(evicted("c"),)), Result.WRONG),
    "the cluster changed, and the change explains it": Case(
        preempts("a"),
        admitted(evicted("b")),
        Result.OVERTAKEN,
        (Replay(CANNOT, "ClusterQueue cq"), Replay(preempts("b"), "Workload ns/a")),
        "exact after the change of Workload ns/a",
    ),
    "the cluster changed, and the change does not explain it": Case(
        preempts("a"), admitted(evicted("c")), Result.WRONG, (Replay(preempts("b"), "Workload ns/a"),)
    ),
    "an unsupported forecast promises nothing": Case(
        Forecast(Verdict.UNSUPPORTED, 0, "topology"), admitted(), Result.NONE, message="nothing was forecast: topology"
    ),
    "an ambiguous forecast promises nothing": Case(
        Forecast(Verdict.AMBIGUOUS, 0), admitted(), Result.NONE, message="nothing was forecast: Ambiguous"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_result(case: Case) -> None:
    found = judge(case.forecast, case.replays, case.happened)
    assert found.result is case.want
    if case.message or case.want is Result.EXACT:
        assert found.message == case.message
