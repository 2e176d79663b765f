"""What the demo tells of forecasts: who would be preempted where, and whether it came true. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from config.api.meta import Obj
from engine.forecasting.verification import ForecastResult
from manager.demo.sightings import ClusterSighting, SightingKind

_OUTCOMES: Final[Mapping[str, str]] = {
    ForecastResult.EXACT: "came true exactly",
    ForecastResult.SUBSET: "named too many: fewer were preempted",
    ForecastResult.SUPERSET: "named too few: others were preempted",
    ForecastResult.WRONG: "was wrong",
    ForecastResult.OVERTAKEN: "was overtaken by another change",
    ForecastResult.TIMEOUT: "is undecided: its window ended first",
    ForecastResult.NONE: "promised nothing",
}


def tell_forecast(worker: str, jobs: str) -> str:
    """Say what the hub recorded right before a gate opens."""
    return f"forecast for {worker}: {jobs or 'nothing'} will be preempted"


def tell_outcome(worker: str, result: str) -> str:
    """Say what became of a forecast."""
    return f"forecast for {worker} {_OUTCOMES.get(result, result)}"


def victims_by_worker(plan: Obj) -> dict[str, tuple[str, ...]]:
    """Return from a plan the jobs that each worker would preempt."""
    return {
        worker["name"]: tuple(sorted(victim["owner"].removeprefix("Job ") for victim in worker["victims"]))
        for worker in plan.get("workers", ())
    }


def tell_plan(victims: Sequence[str]) -> str:
    """Say of one worker which jobs would have to stop."""
    return f"forecast: {' and '.join(victims) or 'nothing'} would be preempted"


def preempted_jobs(sightings: Iterable[ClusterSighting], worker: str) -> tuple[str, ...]:
    """Return the jobs that were preempted on a worker."""
    seen = {each.job for each in sightings if each.what is SightingKind.EVICTED and each.cluster == worker}
    return tuple(sorted(seen))


def tell_score(comparisons: Sequence[bool]) -> str:
    """Say how often a worker preempted the jobs that it was forecast to."""
    return f"Workers preempted {len(comparisons)} times, {sum(comparisons)} times exactly the jobs that were forecast."
