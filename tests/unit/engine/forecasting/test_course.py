"""A forecast goes on where one cycle of Kueue ends: with the next flavor, and with the room that victims leave."""

from config.api.meta import parse_time
from engine.forecasting.forecast import Forecast, ForecastVerdict, forecast
from tests.support.builders import Builder, WorkloadBuilder, at, cluster_queue, workload
from tests.unit.engine.forecasting.clusters import GATE, KEY, observe

NOW = parse_time(at(60))
TWO_FLAVORS = (
    cluster_queue("cq")
    .quota("f", cpu=3)
    .quota("g", cpu=3)
    .preemption(within="LowerPriority")
    .fungibility(preempt="TryNextFlavor")
)


def forecast_of(*builders: Builder) -> Forecast:
    return forecast(observe(*builders), KEY, NOW)


def high(cpu: int = 3) -> WorkloadBuilder:
    return workload("high").queue("cq").priority(100).request(cpu=cpu).gates(GATE)


def on_both(name: str, f: int, g: int) -> WorkloadBuilder:
    """Return a workload that holds quota in both flavors."""
    held = workload(name).queue("cq").pod_sets().pod_set("one", cpu=f).pod_set("two", cpu=g)
    held = held.holds("cq", "f", since=30)
    held.raw["status"]["admission"]["podSetAssignments"][1]["flavors"]["cpu"] = "g"
    return held


def test_flavors_that_depend_on_who_leaves_first_are_all_named() -> None:
    """In f both have to go. When the one that also holds g goes first, g has room before f has."""
    small = workload("small").queue("cq").request(cpu=1).holds("cq", "f", since=40)
    found = forecast_of(TWO_FLAVORS, on_both("large", 2, 3), small, high())
    assert (found.verdict, sorted(victim.name for victim in found.victims)) == (
        ForecastVerdict.PREEMPTS,
        ["large", "small"],
    )
    assert found.flavors == (("cpu", "f"),)
    assert found.other_flavors == ((("cpu", "g"),),)


def test_one_victim_leaves_no_choice() -> None:
    found = forecast_of(TWO_FLAVORS, on_both("large", 3, 3), high())
    assert [victim.name for victim in found.victims] == ["large"]
    assert (found.flavors, found.other_flavors) == ((("cpu", "f"),), ())
