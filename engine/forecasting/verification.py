"""Holds a forecast against what happened: pure, and the same for everybody who looks at the same facts."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.forecasting.forecast import Flavors, Forecast, ForecastVictim, Verdict


class Result(StrEnum):
    """How a forecast turned out."""

    PENDING = "pending"
    NONE = "none"
    """Nothing was promised: the forecast was unsupported or ambiguous."""
    EXACT = "exact"
    SUBSET = "subset"
    """Fewer workloads were preempted than forecast, and no other."""
    SUPERSET = "superset"
    """All forecast workloads were preempted, and others too."""
    WRONG = "wrong"
    OVERTAKEN = "overtaken"
    """The cluster changed after the forecast; with that change, the forecast is exact."""
    TIMEOUT = "timeout"


FINAL: Final = frozenset(result for result in Result if result is not Result.PENDING)


@dataclass(frozen=True, slots=True, order=True)
class Evicted:
    """A workload that was preempted for the one under test."""

    namespace: str
    name: str
    uid: str
    reason: str


@dataclass(frozen=True, slots=True)
class Happened:
    """What the worker did since the gate was opened."""

    has_quota: bool = False
    flavors: Flavors = ()
    evicted: tuple[Evicted, ...] = ()


@dataclass(frozen=True, slots=True)
class Replay:
    """What the forecast would have been after a change of the cluster, before anybody was preempted."""

    forecast: Forecast
    change: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result and one sentence."""

    result: Result
    message: str


def compare(forecast: Forecast, happened: Happened) -> Result:
    """Compare a forecast that promises something with the outcome."""
    expected = {_identity(victim) for victim in forecast.victims if not victim.in_flight}
    evicted = {(each.namespace, each.name, each.uid, each.reason) for each in happened.evicted}
    if forecast.verdict is Verdict.CANNOT:
        return Result.WRONG if happened.has_quota or evicted else Result.EXACT
    if not happened.has_quota:
        return Result.TIMEOUT if evicted <= expected else Result.WRONG
    if happened.flavors not in (forecast.flavors, *forecast.other_flavors):
        return Result.WRONG
    if evicted == expected:
        return Result.EXACT
    if evicted < expected:
        return Result.SUBSET
    return Result.SUPERSET if evicted > expected else Result.WRONG


def judge(forecast: Forecast, replays: Iterable[Replay], happened: Happened) -> Judgement:
    """Compare, and where that misses, look for the change of the cluster that explains it."""
    if not forecast.promises:
        return Judgement(Result.NONE, f"nothing was forecast: {forecast.message or forecast.verdict}")
    result = compare(forecast, happened)
    if result is not Result.EXACT:
        for replay in replays:
            if replay.forecast.promises and compare(replay.forecast, happened) is Result.EXACT:
                return Judgement(Result.OVERTAKEN, f"exact after the change of {replay.change}")
    return Judgement(result, _sentence(forecast, happened, result))


def _sentence(forecast: Forecast, happened: Happened, result: Result) -> str:
    if result is Result.EXACT:
        return ""
    said = _said(forecast.verdict, [f"{v.namespace}/{v.name}" for v in forecast.victims if not v.in_flight])
    done = _said(None, [f"{e.namespace}/{e.name}" for e in happened.evicted])
    quota = "got quota" if happened.has_quota else "no quota in time"
    if result is Result.WRONG and happened.has_quota and happened.flavors != forecast.flavors and forecast.flavors:
        quota = f"{quota} in {_flavors(happened.flavors)} instead of {_flavors(forecast.flavors)}"
    return f"forecast: {said}; happened: {done}, {quota}"


def _said(verdict: Verdict | None, names: list[str]) -> str:
    preempted = f"preempted {', '.join(names)}" if names else "preempted nobody"
    if verdict is None or verdict is Verdict.PREEMPTS:
        return preempted
    return verdict.lower()


def _flavors(flavors: Flavors) -> str:
    return ", ".join(f"{resource}={flavor}" for resource, flavor in flavors) or "no flavor"


def _identity(victim: ForecastVictim) -> tuple[str, str, str, str]:
    return (victim.namespace, victim.name, victim.uid, victim.reason)
