"""Holds a forecast against what happened: pure, and equal facts give equal results."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from engine.forecasting.forecast import Flavors, Forecast, ForecastVerdict, ForecastVictim


class ForecastResult(StrEnum):
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


FINAL: Final = frozenset(result for result in ForecastResult if result is not ForecastResult.PENDING)


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

    result: ForecastResult
    message: str


def compare(forecast: Forecast, happened: Happened) -> ForecastResult:
    """Compare a forecast that promises something with the outcome."""
    expected = {_identity(victim) for victim in forecast.victims if not victim.in_flight}
    evicted = {(each.namespace, each.name, each.uid, each.reason) for each in happened.evicted}
    if forecast.verdict is ForecastVerdict.CANNOT:
        return ForecastResult.WRONG if happened.has_quota or evicted else ForecastResult.EXACT
    if not happened.has_quota:
        return ForecastResult.TIMEOUT if evicted <= expected else ForecastResult.WRONG
    if happened.flavors not in (forecast.flavors, *forecast.other_flavors):
        return ForecastResult.WRONG
    if evicted == expected:
        return ForecastResult.EXACT
    if evicted < expected:
        return ForecastResult.SUBSET
    return ForecastResult.SUPERSET if evicted > expected else ForecastResult.WRONG


def judge(forecast: Forecast, replays: Iterable[Replay], happened: Happened, missed: str = "") -> Judgement:
    """Compare, and where that misses, look for the change of the cluster that explains it.

    Where not all replays could be made, as `missed` says, it is unknown whether one would have explained it.
    """
    if not forecast.promises:
        return Judgement(ForecastResult.NONE, f"nothing was forecast: {forecast.message or forecast.verdict}")
    result = compare(forecast, happened)
    if result is not ForecastResult.EXACT:
        for replay in replays:
            if replay.forecast.promises and compare(replay.forecast, happened) is ForecastResult.EXACT:
                return Judgement(ForecastResult.OVERTAKEN, f"exact after the change of {replay.change}")
        if missed:
            return Judgement(ForecastResult.NONE, f"{missed}; {_sentence(forecast, happened, result)}")
    return Judgement(result, _sentence(forecast, happened, result))


def _sentence(forecast: Forecast, happened: Happened, result: ForecastResult) -> str:
    if result is ForecastResult.EXACT:
        return ""
    said = _said(forecast.verdict, [f"{v.namespace}/{v.name}" for v in forecast.victims if not v.in_flight])
    done = _said(None, [f"{e.namespace}/{e.name}" for e in happened.evicted])
    quota = "got quota" if happened.has_quota else "no quota in time"
    if (
        result is ForecastResult.WRONG
        and happened.has_quota
        and happened.flavors != forecast.flavors
        and forecast.flavors
    ):
        quota = f"{quota} in {_flavors(happened.flavors)} instead of {_flavors(forecast.flavors)}"
    return f"forecast: {said}; happened: {done}, {quota}"


def _said(verdict: ForecastVerdict | None, names: list[str]) -> str:
    preempted = f"preempted {', '.join(names)}" if names else "preempted nothing"
    if verdict is None or verdict is ForecastVerdict.PREEMPTS:
        return preempted
    return verdict.lower()


def _flavors(flavors: Flavors) -> str:
    return ", ".join(f"{resource}={flavor}" for resource, flavor in flavors) or "no flavor"


def _identity(victim: ForecastVictim) -> tuple[str, str, str, str]:
    return (victim.namespace, victim.name, victim.uid, victim.reason)
