"""Victims that may be back before the workload they left for has its room."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.forecasting.forecast import Forecast, ForecastVerdict, forecast
from tests.support.builders import NAMESPACE, Builder, WorkloadBuilder, at, cluster_queue, workload
from tests.unit.engine.forecasting.clusters import GATE, observe

NOW = parse_time(at(60))
BORROWER = cluster_queue("a").cohort("all").quota("f", cpu=2).preemption(reclaim="Any", borrow="LowerPriority")
LENDER = cluster_queue("b").cohort("all").quota("f", cpu=2)
IDLE = cluster_queue("c").cohort("all").quota("f", cpu=2)


def runs(name: str, cpu: int, priority: int) -> WorkloadBuilder:
    return workload(name).queue("b").priority(priority).request(cpu=cpu).holds("b", since=30)


def forecast_for(cpu: int, *builders: Builder) -> Forecast:
    waiting = workload("waiting").queue("a").priority(100).request(cpu=cpu).gates(GATE)
    return forecast(observe(BORROWER, LENDER, IDLE, *builders, waiting), ObjectKey(NAMESPACE, "waiting"), NOW)


STAYS = runs("stays", 1, priority=200)
SMALL = runs("small", 1, priority=10)
LARGE = runs("large", 3, priority=20)


def test_a_victim_that_needs_to_borrow_no_more_may_come_first() -> None:
    """Alone `small` borrowed, but with `large` gone too its own quota suffices."""
    found = forecast_for(5, STAYS, SMALL, LARGE)

    assert found.verdict is ForecastVerdict.AMBIGUOUS
    assert found.message == f"the victim {NAMESPACE}/small may take its room again before this workload has it"


HARMLESS: dict[str, tuple[int, tuple[Builder, ...], set[str]]] = {
    "it has to borrow as well, and is less important": (4, (runs("large", 4, priority=20),), {"large"}),
    "there is room for both": (3, (STAYS, runs("large", 3, priority=10)), {"large"}),
    "the preemptor does not borrow": (2, (runs("large", 6, priority=20),), {"large"}),
}


@pytest.mark.parametrize(("cpu", "running", "victims"), HARMLESS.values(), ids=HARMLESS)
def test_otherwise_the_forecast_stands(cpu: int, running: tuple[Builder, ...], victims: set[str]) -> None:
    found = forecast_for(cpu, *running)

    assert found.verdict is ForecastVerdict.PREEMPTS, found.message
    assert {victim.name for victim in found.victims} == victims
