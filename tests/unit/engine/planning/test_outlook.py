"""What a worker would do with a job that it does not have, and by how much that does not fit."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.forecasting.forecast import ForecastVerdict
from engine.planning.prospect import Outlook, Shortfall, look_ahead, verdict_on
from engine.vocabulary.features import FeatureGates
from tests.support.builders import NAMESPACE, Builder, WorkloadBuilder, at, cluster_queue, flavor, workload
from tests.unit.engine.forecasting.clusters import GATE, WITH_GATES, observe

NOW = parse_time(at(60))
QUEUE = cluster_queue("cq").quota("f", cpu=4).preemption(within="LowerPriority")
TWO_FLAVORS = cluster_queue("cq").quota("f", cpu=4).quota("g", cpu=6).preemption(within="LowerPriority")
CPU = 1000


def low(name: str = "low", cpu: int = 4, priority: int = 0) -> WorkloadBuilder:
    return workload(name).queue("cq").priority(priority).request(cpu=cpu).holds("cq", since=30)


def planned(cpu: int = 4, priority: int = 100) -> Any:
    return workload("planned").queue("cq").priority(priority).request(cpu=cpu).gates(GATE).raw


CASES: dict[str, tuple[list[Builder], Any, ForecastVerdict, tuple[Shortfall, ...]]] = {
    "free quota: nothing is missing": ([QUEUE], planned(), ForecastVerdict.FITS, ()),
    "what a preemption makes room for is told as missing now, and not over the capacity": (
        [QUEUE, low()],
        planned(),
        ForecastVerdict.PREEMPTS,
        (Shortfall("main", "f", "cpu", 4 * CPU, 0),),
    ),
    "nothing may be preempted: as much is missing as others hold": (
        [QUEUE, low(cpu=3, priority=200)],
        planned(),
        ForecastVerdict.CANNOT,
        (Shortfall("main", "f", "cpu", 3 * CPU, 0),),
    ),
    "more than there is in any flavor: told for each": (
        [TWO_FLAVORS],
        planned(cpu=9),
        ForecastVerdict.CANNOT,
        (Shortfall("main", "f", "cpu", 5 * CPU, 5 * CPU), Shortfall("main", "g", "cpu", 3 * CPU, 3 * CPU)),
    ),
}


@pytest.mark.parametrize(("objects", "raw", "verdict", "missing"), CASES.values(), ids=CASES)
def test_what_is_missing(
    objects: list[Builder], raw: Any, verdict: ForecastVerdict, missing: tuple[Shortfall, ...]
) -> None:
    cluster = observe(*objects)
    found = look_ahead(cluster, raw, (), NOW)
    assert found.forecast.verdict is verdict, found.forecast.message
    assert found.shortfalls == missing
    assert verdict_on(cluster, raw, (), NOW) is verdict


def test_partial_admission_tells_the_size_that_would_run() -> None:
    raw = workload("planned").queue("cq").priority(9).pods(6, at_least=2).request(cpu=1).gates(GATE).raw
    found = look_ahead(observe(QUEUE), raw, (), NOW)
    assert found.forecast.verdict is ForecastVerdict.FITS
    assert found.reduced == {"main": 4}
    assert found.shortfalls == (Shortfall("main", "f", "cpu", 2 * CPU, 2 * CPU),)


def test_a_flavor_that_does_not_suit_says_why() -> None:
    tainted = flavor("f").taint("gpu", "yes")
    found = look_ahead(observe(QUEUE, tainted), planned(), (), NOW)
    assert found.forecast.verdict is ForecastVerdict.CANNOT
    assert found.unsuitable == ("untolerated taint {gpu yes NoSchedule <nil>} in flavor f",)
    assert found.shortfalls == ()


def test_a_missing_queue_is_told_in_kueues_words() -> None:
    raw = workload("planned").queue("none").priority(9).request(cpu=1).raw
    assert look_ahead(observe(QUEUE), raw, (), NOW).forecast.message == "LocalQueue none doesn't exist"


def with_costs(*, counted: bool) -> Outlook:
    gates = FeatureGates.from_mapping({"PreemptionCost": counted})
    configuration = replace(WITH_GATES, gates=replace(gates, multi_kueue_orchestrated_preemption=True))
    dear = low("dear", cpu=2).annotate("kueue.x-k8s.io/preemption-cost", "50")
    cheap = low("cheap", cpu=2).annotate("kueue.x-k8s.io/preemption-cost", "5")
    return look_ahead(observe(QUEUE, dear, cheap, configuration=configuration), planned(cpu=2), (), NOW)


def test_the_costs_that_entered_the_decision_are_told() -> None:
    found = with_costs(counted=True)
    assert [victim.name for victim in found.forecast.victims] == ["cheap"]
    assert found.decided_costs == {ObjectKey(NAMESPACE, "cheap"): 5}


def test_costs_that_do_not_count_are_told_apart_from_costs_of_nothing() -> None:
    assert with_costs(counted=False).decided_costs is None


def test_what_is_malformed_is_unsupported_and_leaves_the_model_alone() -> None:
    cluster = observe(QUEUE, low())
    raw = planned()
    raw["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "much"}}
    found = look_ahead(cluster, raw, (), NOW)
    assert found.forecast.verdict is ForecastVerdict.UNSUPPORTED
    assert "much" in found.forecast.message
    assert verdict_on(cluster, raw, (), NOW) is ForecastVerdict.UNSUPPORTED
    assert cluster.model.workload(ObjectKey(NAMESPACE, "planned")) is None
