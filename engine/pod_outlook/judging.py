"""Holds an outlook against what became of the pods: pure, and equal facts give equal results."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.forecasting.verification import ForecastResult, Judgement
from engine.pod_outlook.values import PodOutcome, PodOutlook


@dataclass(frozen=True, slots=True)
class Landed:
    """What became of the pods of a Workload, and who was evicted for them."""

    evicted: tuple[str, ...] = ()
    """Namespace and name of each pod, sorted."""
    placed: int = 0
    """How many pods of the Workload have had a node."""


def compare(outlook: PodOutlook, landed: Landed) -> ForecastResult:
    """Compare an outlook that promises something with what happened."""
    happened = PodOutcome(landed.evicted, landed.placed >= outlook.pods)
    if happened in outlook.outcomes:
        return ForecastResult.EXACT
    evicted = set(landed.evicted)
    possible = [set(outcome.evicted) for outcome in outlook.outcomes if outcome.places_all is happened.places_all]
    if not happened.places_all:
        expected = [set(outcome.evicted) for outcome in outlook.outcomes]
        return ForecastResult.TIMEOUT if any(evicted <= each for each in expected) else ForecastResult.WRONG
    if any(evicted < each for each in possible):
        return ForecastResult.SUBSET
    return ForecastResult.SUPERSET if any(evicted > each for each in possible) else ForecastResult.WRONG


def judge(outlook: PodOutlook, repeated: PodOutlook | None, landed: Landed) -> Judgement:
    """Compare; where that misses, hold against it what would have been said when the first pod arrived."""
    if not outlook.promises:
        return Judgement(ForecastResult.NONE, f"nothing was forecast: {outlook.message or outlook.verdict}")
    result = compare(outlook, landed)
    if result is ForecastResult.EXACT:
        return Judgement(result, f"one of {len(outlook.outcomes)} outcomes" if len(outlook.outcomes) > 1 else "")
    if repeated is not None and repeated.promises and compare(repeated, landed) is ForecastResult.EXACT:
        return Judgement(ForecastResult.OVERTAKEN, "exact with the worker as it was when the first pod arrived")
    return Judgement(result, _sentence(outlook, landed))


def _sentence(outlook: PodOutlook, landed: Landed) -> str:
    said = " or ".join(_evicts(outcome.evicted) for outcome in outlook.outcomes)
    return f"forecast: {said}; happened: {_evicts(landed.evicted)}, {landed.placed} of {outlook.pods} pods have a node"


def _evicts(pods: Iterable[str]) -> str:
    return f"evicted {', '.join(pods)}" if pods else "evicted nothing"
