"""What a forecast says about a gated Workload on a worker."""

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.forecasting.forecast import Cost, Forecast, ForecastVerdict, flavors_of, forecast
from engine.forecasting.observed import ObservedCluster
from tests.support.builders import NAMESPACE, Builder, WorkloadBuilder, at, cluster_queue, workload
from tests.unit.engine.forecasting.clusters import GATE, KEY, high, observe, put

NOW = parse_time(at(60))
QUEUE = cluster_queue("cq").quota("f", cpu=4).preemption(within="LowerPriority")


def low(name: str = "low", cpu: int = 4) -> WorkloadBuilder:
    return workload(name).queue("cq").request(cpu=cpu).holds("cq", since=30)


def forecast_of(*builders: Builder) -> Forecast:
    return forecast(observe(*builders), KEY, NOW)


def test_a_closed_gate_does_not_hide_the_victims() -> None:
    owner = [{"apiVersion": "batch/v1", "kind": "Job", "name": "render", "uid": "j", "controller": True}]
    found = forecast_of(QUEUE, low().with_metadata(ownerReferences=owner), high())

    assert found.verdict is ForecastVerdict.PREEMPTS
    (victim,) = found.victims
    assert (victim.key, victim.owner, victim.priority, victim.pods) == (ObjectKey(NAMESPACE, "low"), "Job render", 0, 1)
    assert (victim.reason, victim.running_since_ns) == ("InClusterQueue", parse_time(at(30)))
    assert found.flavors == (("cpu", "f"),)
    assert found.borrowing == 0
    assert found.cost == Cost(victims=1, pods=1, cpu_seconds=4 * 30 * 60)


VERDICTS = {
    "free quota fits": ([QUEUE, high()], ForecastVerdict.FITS, ()),
    "nothing of lower priority: it cannot": ([QUEUE, low(), high(priority=0)], ForecastVerdict.CANNOT, ()),
    "more than the quota: it cannot": ([QUEUE, high(cpu=9)], ForecastVerdict.CANNOT, ()),
    "no such queue: it cannot": ([cluster_queue("other").quota("f", cpu=4), high()], ForecastVerdict.CANNOT, ()),
    "a topology request is not modelled": (
        [QUEUE, high().with_spec(podSets=[{"name": "main", "count": 1, "topologyRequest": {"required": "rack"}}])],
        ForecastVerdict.UNSUPPORTED,
        (),
    ),
    "the smaller of two victims is not needed": (
        [QUEUE, low("a", 3), low("b", 1), high(cpu=3)],
        ForecastVerdict.PREEMPTS,
        "a",
    ),
}


@pytest.mark.parametrize(("objects", "verdict", "victims"), VERDICTS.values(), ids=VERDICTS)
def test_the_verdict(objects: list[Builder], verdict: ForecastVerdict, victims: str) -> None:
    found = forecast_of(*objects)
    assert found.verdict is verdict, found.message
    assert [victim.name for victim in found.victims] == list(victims)
    assert found.promises is (verdict is not ForecastVerdict.UNSUPPORTED)


def test_who_is_on_the_way_out_already_costs_nothing_more() -> None:
    found = forecast_of(QUEUE, low().evicted(59), high())

    assert [victim.in_flight for victim in found.victims] == [True]
    assert found.cost == Cost()


def test_accelerators_and_the_users_own_cost_are_counted() -> None:
    gpus = {"nvidia.com/gpu": 2}
    queue = cluster_queue("cq").quota("f", gpus).preemption(within="LowerPriority")
    held = workload("low").queue("cq").request(gpus).holds("cq", since=59)
    victim = held.annotate("kueue.x-k8s.io/preemption-cost", "7")

    found = forecast_of(queue, victim, workload("high").queue("cq").priority(9).request(gpus).gates(GATE))

    assert found.cost == Cost(preemption_cost=7, victims=1, pods=1, accelerator_seconds=120)


def test_the_model_follows_its_objects_and_a_forecast_leaves_it_as_it_is() -> None:
    observed = observe(QUEUE, low(), high())
    version = observed.version
    assert forecast(observed, KEY, NOW) == forecast(observed, KEY, NOW)
    assert observed.version == version

    observed.put("Workload", NAMESPACE, "low", None)
    assert observed.last_change == "Workload ns/low"
    assert forecast(observed, KEY, NOW).verdict is ForecastVerdict.FITS

    put(observed, low("other").raw)
    assert [victim.name for victim in forecast(observed, KEY, NOW).victims] == ["other"]
    assert observed.version > version


def test_preempted_workloads_name_whom_they_made_room_for() -> None:
    message = "Preempted to accommodate a workload (UID: high-uid, JobUID: UNKNOWN) due to x"
    raw = low().condition("Preempted", "True", 59, "InClusterQueue").raw
    raw["status"]["conditions"][-1]["message"] = message
    observed = ObservedCluster()
    put(observed, raw)

    ((key, tenant),) = observed.victims_of("high-uid")

    assert key == ObjectKey(NAMESPACE, "low")
    assert tenant.preempted is not None
    assert tenant.preempted.reason == "InClusterQueue"
    assert flavors_of(tenant) == (("cpu", "f"),)
    assert observed.victims_of("other") == []


def test_what_is_malformed_is_refused_by_name() -> None:
    raw = low().raw
    raw["status"]["admission"]["podSetAssignments"][0]["resourceUsage"] = {"cpu": "much"}
    with pytest.raises(ValueError, match=r'Workload "ns/low": status\.admission\.podSetAssignments\[0\]'):
        ObservedCluster().read("Workload", raw)
    with pytest.raises(ValueError, match="a Secret does not decide"):
        ObservedCluster().read("Secret", {"metadata": {"name": "s"}})


def test_a_victim_that_has_quota_again_still_tells_why_it_was_preempted() -> None:
    raw = low().condition("Preempted", "False", 59, "QuotaReserved").raw
    cause = "due to reclamation within the cohort; preemptor path: /a; preemptee path: /b"
    raw["status"]["conditions"][-1]["message"] = f"Previously: Preempted to accommodate (UID: x, JobUID: y) {cause}"
    observed = ObservedCluster()
    put(observed, raw)

    ((_, tenant),) = observed.victims_of("x")

    assert tenant.preempted is not None
    assert (tenant.preempted.reason, tenant.preempted.is_current) == ("InCohortReclamation", False)
    observed.put("Workload", NAMESPACE, "low", None)
    assert observed.victims_of("x") == []
