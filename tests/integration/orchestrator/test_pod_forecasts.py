"""Below the quota: which pods would go, said before the gate opens and held against what the scheduler does."""

from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from engine.pods.values.values import SchedulerMode
from localcluster.access.auth import Allow
from tests.integration.orchestrator.forecasting import forecasting, passing, queue, record, result, submit, tenant
from tests.integration.orchestrator.kueue import KUEUE, Obj
from tests.integration.orchestrator.pod_scheduling import (
    HIGH,
    POLITE,
    StandInScheduler,
    furnish,
    make_pods,
    one_unit,
    pod_sets,
    pods_record,
    pods_result,
    running_pod,
    with_pods,
)
from tests.integration.orchestrator.world import World
from tests.support.pod_builders import budget, node
from tests.support.worker_names import W1

NODES = [node("n1"), node("n2")]
OF_LOW = running_pod("low-0", 2, "n1", workload="low")
OLD, YOUNG = running_pod("old", 2, "n1", minute=1), running_pod("young", 4, "n2", minute=30)


async def opened(world: World, sets: list[Obj], priority: int = 100) -> None:
    """Submit a Workload and wait until its gate was opened on a forecast."""
    world.submit_ownerless("wl", podSets=sets, priority=priority)
    world.hub.reserve("wl")
    await passing(world, lambda: record(world))


async def landed(world: World, sets: list[Obj], mode: SchedulerMode = SchedulerMode.V1_36) -> None:
    """Let the worker admit the Workload, let its pods be made, and schedule them."""
    worker = world["w1"]
    await passing(world, lambda: worker.condition("Admitted"))
    await world.until(lambda: result(world) not in ("", "pending"))
    if worker.find("pods", "low-0") is not None:
        worker.delete("pods", "low-0")
    await world.clock.advance(31)
    make_pods(worker, sets)
    StandInScheduler(worker, mode).run()


async def test_quota_and_pods_are_forecast_apart_and_both_found_exact(tmp_path: Path) -> None:
    sets = pod_sets(4)
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        await opened(world, sets)
        assert [victim["workload"] for victim in record(world)["victims"]] == ["team/low"]
        said = pods_record(world)
        assert (said["verdict"], said["mode"], said["pods"]) == ("Evicts", "1.36", 1), said
        assert [(victim["pod"], victim["node"]) for victim in said["victims"]] == [("team/young", "n2")]
        assert said["cost"]["pods"] == 1
        await landed(world, sets)
        await passing(world, lambda: pods_result(world) != "pending")
        assert (result(world), pods_result(world)) == ("exact", "exact"), record(world)
        assert world.daemon is not None
        assert world.daemon.forecasts is not None
        history = world.daemon.forecasts.history
        await world.until(lambda: (history.results(W1), history.pod_results(W1)) == (("exact",), ("exact",)))
        (entry,) = world.daemon.inspector.workers()
        assert (entry["podForecast"], entry["podHitRate"]) == ("on", 100)


SITUATIONS: dict[str, tuple[list[Obj], list[Obj], str]] = {
    "room without evicting": ([*NODES, OF_LOW], pod_sets(4), "Fits"),
    "several pods, several victims": ([*NODES, OF_LOW, OLD, YOUNG], pod_sets(4, 2), "Evicts"),
    "a budget keeps the younger one": (
        [*NODES, OF_LOW, OLD, running_pod("young", 4, "n2", minute=30, app="web"), budget("web", 0)],
        pod_sets(4),
        "Evicts",
    ),
    "more than there is": ([*NODES, OF_LOW, OLD, YOUNG], pod_sets(3, 3), "Cannot"),
    "equal victims": ([*NODES, OF_LOW, OLD, running_pod("twin", 2, "n2", minute=1)], pod_sets(4), "Ambiguous"),
    "only on one node": (
        [*NODES, OF_LOW, OLD, YOUNG],
        pod_sets(4, nodeSelector={"kubernetes.io/hostname": "n1"}),
        "Evicts",
    ),
    "never preempts": ([*NODES, OF_LOW, OLD, YOUNG], pod_sets(4, priorityClassName=POLITE), "Cannot"),
}


@pytest.mark.parametrize(("objects", "sets", "verdict"), SITUATIONS.values(), ids=SITUATIONS)
async def test_what_is_forecast_is_what_the_scheduler_does(
    tmp_path: Path, objects: list[Obj], sets: list[Obj], verdict: str
) -> None:
    async with with_pods(tmp_path, [queue(12), tenant("low", 12)], objects) as world:
        await opened(world, sets)
        assert pods_record(world)["verdict"] == verdict, pods_record(world)
        await landed(world, sets)
        await passing(world, lambda: pods_result(world) != "pending", 20)
        assert pods_result(world) == "exact", pods_record(world)


async def test_another_eviction_than_forecast_is_wrong_and_reported(tmp_path: Path) -> None:
    sets = pod_sets(4)
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        await opened(world, sets)
        worker = world["w1"]
        await passing(world, lambda: worker.condition("Admitted"))
        worker.delete("pods", "low-0")
        await world.clock.advance(31)
        make_pods(worker, sets)
        await world.settled()
        scheduler = StandInScheduler(worker)
        scheduler.evict("old")
        scheduler.bind("wl-0", "n1")
        await passing(world, lambda: pods_result(world) != "pending")
        assert (result(world), pods_result(world)) == ("exact", "wrong"), record(world)
        (event,) = [event for event in world.events() if event["reason"] == "ForecastMissed"]
        assert event["message"].startswith("Pod forecast for cluster w1: wrong. forecast: evicted team/young; ")


async def test_a_worker_that_changes_before_the_pods_come_overtakes_the_forecast(tmp_path: Path) -> None:
    sets = pod_sets(4)
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        await opened(world, sets)
        furnish(world["w1"], node("n3"))
        await landed(world, sets)
        await passing(world, lambda: pods_result(world) != "pending")
        assert pods_result(world) == "overtaken", pods_record(world)


async def test_evictions_elsewhere_are_not_laid_to_the_workload(tmp_path: Path) -> None:
    sets = pod_sets(4)
    far = [node("n3"), running_pod("far", 4, "n3", minute=10)]
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, *far, OF_LOW, OLD, YOUNG]) as world:
        await opened(world, sets)
        await passing(world, lambda: world["w1"].condition("Admitted"))
        StandInScheduler(world["w1"]).evict("far")
        rival = running_pod("rival", 4, "n3")
        world["w1"].create("pods", {**rival, "spec": {**rival["spec"], "priorityClassName": HIGH}}, "", "team")
        await landed(world, sets)
        await passing(world, lambda: pods_result(world) != "pending")
        assert pods_result(world) == "exact", pods_record(world)


async def test_pods_that_never_get_a_node_are_a_timeout(tmp_path: Path) -> None:
    sets = pod_sets(4)
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW]) as world:
        await opened(world, sets)
        await passing(world, lambda: world["w1"].condition("Admitted"))
        make_pods(world["w1"], sets)
        await world.pass_time(290)
        assert pods_result(world) == "pending"
        await world.pass_time(20)
        assert pods_result(world) == "timeout", pods_record(world)


async def test_after_a_restart_nothing_is_claimed(tmp_path: Path) -> None:
    sets = pod_sets(4)
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        await opened(world, sets)
        await world.stop()
        await world.start()
        await world.connected()
        await landed(world, sets)
        await passing(world, lambda: pods_result(world) != "pending")
        assert pods_result(world) == "none"
        assert "not all evictions were seen" in pods_record(world)["resultMessage"]


async def test_explain_names_both_kinds_of_victims(tmp_path: Path) -> None:
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        worker = world["w1"]
        await passing(world, lambda: worker.condition("Admitted", "low"))
        world.submit_ownerless("wl", podSets=pod_sets(4), priority=100)
        assert world.daemon is not None
        inspector = world.daemon.inspector
        for _ in range(200):
            found = _first_worker(await inspector.explain(ObjectKey("team", "wl")))
            if found.get("pods"):
                break
            await world.pass_time(0.5, settle=False)
        assert [victim["workload"] for victim in found["forecast"]["victims"]] == ["team/low"]
        pods = found["pods"]
        assert (pods["verdict"], pods["cost"]["pods"], pods["pods"]) == ("Evicts", 1, 1)
        assert [(each["pod"], each["node"], each["priority"]) for each in pods["victims"]] == [("team/young", "n2", 0)]


def _first_worker(explanation: Obj | None) -> Obj:
    workers: list[Obj] = (explanation or {}).get("workers") or [{}]
    return workers[0]


async def test_a_missing_permission_costs_the_pods_and_nothing_else(tmp_path: Path) -> None:
    rules = (
        Allow(("*",), ("*",), (KUEUE, "batch", "node.k8s.io")),
        Allow(("*",), ("namespaces", "limitranges"), ("",)),
    )
    async with with_pods(tmp_path, [queue(), tenant("low")], [], limited={"w1": rules}) as world:
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")
        said = pods_record(world)
        assert (said["verdict"], said["result"]) == ("Unsupported", "none")
        assert "forbidden" in said["message"]


async def test_the_rules_of_an_unknown_release_are_not_guessed(tmp_path: Path) -> None:
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG]) as world:
        world["w1"].local.change_release("v1.38.0")
        await world.pass_time(3601)  # the version is asked for again once an hour
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")
        said = pods_record(world)
        assert (said["verdict"], said["result"]) == ("Unsupported", "none")
        assert said["message"] == (
            "scheduler version v1.38.0: the rules of 1.36 and 1.37 are known (podForecastMode overrides)"
        )


async def test_the_rules_may_be_given(tmp_path: Path) -> None:
    options = {"worker": {"pod_forecast_mode": "v1.37"}}
    async with with_pods(tmp_path, [queue(), tenant("low")], [*NODES, OF_LOW, OLD, YOUNG], **options) as world:
        await opened(world, pod_sets(4))
        assert pods_record(world)["mode"] == "1.37"


async def test_a_group_of_pods_is_forecast_and_evicted_as_a_whole(tmp_path: Path) -> None:
    sets = pod_sets(4)
    members = [
        running_pod("gang-0", 4, "n2", minute=30, group="gang"),
        running_pod("gang-1", 2, "n1", minute=30, group="gang"),
    ]
    objects = [*NODES, one_unit("gang", 2), OF_LOW, *members]
    options = {"worker": {"pod_forecast_mode": "v1.37"}}
    async with with_pods(tmp_path, [queue(), tenant("low")], objects, **options) as world:
        await opened(world, sets)
        said = pods_record(world)
        assert (said["verdict"], said["mode"]) == ("Evicts", "1.37"), said
        assert [(each["pod"], each["podGroup"]) for each in said["victims"]] == [
            ("team/gang-0", "gang"),
            ("team/gang-1", "gang"),
        ]
        await landed(world, sets, SchedulerMode.V1_37)
        await passing(world, lambda: pods_result(world) != "pending")
        assert pods_result(world) == "exact", pods_record(world)


async def test_pods_of_a_workload_that_are_a_gang_are_forecast_together(tmp_path: Path) -> None:
    sets = pod_sets(4, 2, schedulingGroup={"podGroupName": "own"})
    gang = {"schedulingPolicy": {"gang": {"minCount": 2}}, "priorityClassName": HIGH}
    objects = [*NODES, {"kind": "PodGroup", "metadata": {"name": "own"}, "spec": gang}, OF_LOW, OLD, YOUNG]
    async with with_pods(tmp_path, [queue(12), tenant("low", 12)], objects) as world:
        await opened(world, sets)
        said = pods_record(world)
        assert (said["verdict"], said["pods"]) == ("Evicts", 2), said
        assert {each["pod"] for each in said["victims"]} == {"team/old", "team/young"}


async def test_without_the_setting_no_pod_is_followed(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue(), tenant("low")]}) as world:
        assert world.daemon is not None
        assert world.daemon.fleet.links[W1].pods is None
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")
        assert pods_record(world) == {}


async def test_S1_an_outlook_that_takes_long_comes_later_and_blocks_no_other_work(tmp_path: Path) -> None:
    nodes = [node(f"n{number}", 10) for number in range(50)]
    pods = [running_pod(f"p{number}", 1, f"n{number // 10}") for number in range(500)]
    slow = tenant("low").annotate("localcluster.multikueue-turnstile.dev/stop-seconds", "20")
    async with with_pods(tmp_path, [queue(), slow], [*nodes, *pods]) as world:
        world.lag.forget()
        await opened(world, pod_sets(4))
        await world.until(lambda: "pods" in record(world))
        said = pods_record(world)
        assert (said["verdict"], said["message"]) == (
            "Ambiguous",
            "too many possibilities: given up after 20000 steps",
        ), said
        assert int(said["madeAtUnixNano"]) <= int(record(world)["openedAtUnixNano"])
        assert world["w1"].condition("Admitted") is None, "it came before the quota"
