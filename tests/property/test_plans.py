"""Random clusters: a plan is what is forecast after the job was submitted, and the size it names is the largest.

The same random workers as for forecasts: they fill up by themselves under random quotas, cohorts and policies.
"""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from random import Random

import pytest

from config.api.meta import ObjectKey, format_time
from engine.forecasting.forecast import ForecastVerdict, forecast
from engine.forecasting.observed import ObservedCluster
from engine.planning.prospect import look_ahead, verdict_on
from engine.planning.sizes import WITH_PREEMPTION, WITHOUT_PREEMPTION, Sizes, find_sizes, resized
from tests.integration.kueue.stage import Stage
from tests.property.crowded_clusters import KEY, crowded, observe
from tests.support.builders import NAMESPACE, Json

ROUNDS = 60


def random_job(draw: Random, stage: Stage) -> Json:
    """Return the Workload that asks on this worker, taken away from it, with a size of its own."""
    raw = deepcopy(dict(stage.workload(KEY.name)))
    raw.pop("status", None)
    raw["metadata"]["creationTimestamp"] = format_time(stage.kueue.now_ns())
    return dict(resized(raw, "main", draw.randint(1, 4)))


@pytest.fixture(scope="module")
def random_workers() -> list[tuple[str, Stage, Json]]:
    found = []
    for seed in range(ROUNDS):
        draw = Random(f"plan {seed}")  # noqa: S311 - to be repeated
        stage = crowded(draw)
        found.append((f"seed {seed}", stage, random_job(draw, stage)))
    return found


def test_a_plan_is_the_forecast_of_the_job_once_it_is_submitted(random_workers: list[tuple[str, Stage, Json]]) -> None:
    verdicts: Counter[ForecastVerdict] = Counter()
    for name, stage, raw in random_workers:
        observed, now_ns = observe(stage), stage.kueue.now_ns()
        observed.put("Workload", NAMESPACE, KEY.name, None)
        planned = look_ahead(observed, raw, (), now_ns).forecast
        observed.put("Workload", NAMESPACE, KEY.name, observed.read("Workload", raw))
        submitted = forecast(observed, ObjectKey(NAMESPACE, KEY.name), now_ns)
        assert planned == submitted, name
        verdicts[planned.verdict] += 1
    assert all(
        verdicts[each] > 3 for each in (ForecastVerdict.FITS, ForecastVerdict.PREEMPTS, ForecastVerdict.CANNOT)
    ), verdicts


def test_S1_a_model_built_from_an_exposure_plans_alike_whatever_comes_after_it(
    random_workers: list[tuple[str, Stage, Json]],
) -> None:
    for name, stage, raw in random_workers:
        observed, now_ns = observe(stage), stage.kueue.now_ns()
        observed.put("Workload", NAMESPACE, KEY.name, None)
        exposure = observed.expose()
        planned = look_ahead(observed, raw, (), now_ns)
        for key in list(observed.tenants):
            observed.put("Workload", key.namespace, key.name, None)
        observed.put("Workload", NAMESPACE, KEY.name, observed.read("Workload", raw))
        assert look_ahead(ObservedCluster.of(exposure), raw, (), now_ns) == planned, name


def test_the_largest_size_is_taken_and_one_more_is_not(random_workers: list[tuple[str, Stage, Json]]) -> None:
    found_sizes: Counter[bool] = Counter()
    for name, stage, raw in random_workers:
        observed, now_ns = observe(stage), stage.kueue.now_ns()
        observed.put("Workload", NAMESPACE, KEY.name, None)

        verdict = partial(verdict_of_size, observed, raw, now_ns)
        sizes = searched(verdict)
        for size, taken in ((sizes.without_preemption, WITHOUT_PREEMPTION), (sizes.with_preemption, WITH_PREEMPTION)):
            assert size == 0 or verdict(size) in taken, f"{name}: {size} is not taken"
            assert verdict(size + 1) not in taken, f"{name}: {size + 1} is taken too"
        assert sizes.without_preemption <= sizes.with_preemption, name
        found_sizes[sizes.without_preemption < sizes.with_preemption] += 1
    assert min(found_sizes.values()) > 3, found_sizes


def verdict_of_size(observed: ObservedCluster, raw: Json, now_ns: int, size: int) -> ForecastVerdict:
    return verdict_on(observed, resized(raw, "main", size), (), now_ns)


def searched(verdict: Callable[[int], ForecastVerdict]) -> Sizes:
    search = find_sizes(3)
    size = next(search)
    while True:
        try:
            size = search.send(verdict(size))
        except StopIteration as ended:
            found: Sizes = ended.value
            return found
