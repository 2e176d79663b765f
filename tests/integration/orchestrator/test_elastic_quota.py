"""Elastic jobs with several groups of pods: no group runs beyond the pod set that has quota."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.orchestrator.job_kinds import RAY, cpu_group, elastic_workload, ray_cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster
from tests.integration.orchestrator.world import World, running

ONLY_RAY: dict[str, Any] = {"integrations": ["ray.io/raycluster"]}


def groups(cluster: Cluster) -> dict[str, tuple[int, int]]:
    found = cluster.get("rayclusters", "ray", RAY)["spec"]["workerGroupSpecs"]
    return {group["groupName"]: (group["replicas"], group.get("numOfHosts", 1)) for group in found}


def resize(world: World, **sizes: int) -> None:
    def change(ray: dict[str, Any]) -> None:
        for group in ray["spec"]["workerGroupSpecs"]:
            group["replicas"] = sizes[group["groupName"]]

    world.hub.change("rayclusters", "ray", change, RAY)


async def test_S3_fewer_pods_of_one_group_do_not_pay_for_more_of_another(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        owner = world.hub.create("rayclusters", ray_cluster(9), RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=9, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world["w1"].find("rayclusters", "ray", RAY))
        await world.until(lambda: world.check("first")["state"] == "Ready")
        resize(world, cpu=1, gpu=5)
        elastic_workload(world, "second", owner, replaces=f"{NAMESPACE}/first", head=1, cpu=1, gpu=10)
        await world.settled()
        await world.pass_time(60)
        assert groups(world["w1"]) == {"cpu": (9, 1), "gpu": (1, 2)}
        world.hub.reserve("second")
        world.hub.set_status("second", lambda s: s.update(clusterName="w1"))
        await world.until(lambda: world.holders("second") == ["w1"])
        world["w1"].admit("second")
        await world.until(lambda: groups(world["w1"]) == {"cpu": (1, 1), "gpu": (5, 2)})


async def test_S3_a_job_that_outgrew_its_quota_is_not_started_with_more(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        owner = world.hub.create("rayclusters", ray_cluster(9), RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=9, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        resize(world, cpu=1, gpu=5)
        await world.settled()
        world["w1"].admit("first")
        await world.until(lambda: "more pods than this Workload has quota for" in world.check("first")["message"])
        await world.pass_time(60)
        assert world["w1"].find("rayclusters", "ray", RAY) is None
        assert world.check("first")["state"] == "Pending"
        resize(world, cpu=8, gpu=1)
        await world.until(lambda: world.check("first")["state"] == "Ready")
        assert groups(world["w1"]) == {"cpu": (8, 1), "gpu": (1, 2)}


async def test_S3_a_group_that_the_workload_does_not_know_is_never_resized(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        document = ray_cluster(2)
        document["spec"]["workerGroupSpecs"][1]["groupName"] = "GPU"  # the pod set is called "gpu"
        owner = world.hub.create("rayclusters", document, RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=2, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        assert groups(world["w1"]) == {"cpu": (2, 1), "GPU": (1, 2)}
        world.hub.change(
            "rayclusters",
            "ray",
            lambda r: r["spec"]["workerGroupSpecs"].append({"groupName": "spot", "replicas": 0, "template": {}}),
            RAY,
        )
        resize(world, cpu=1, GPU=0, spot=1)
        await world.settled()
        assert groups(world["w1"]) == {"cpu": (2, 1), "GPU": (1, 2)}


async def test_S3_hosts_and_minimums_count_as_what_runs(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        document = ray_cluster(2)
        document["spec"]["workerGroupSpecs"][0].update(minReplicas=2)
        owner = world.hub.create("rayclusters", document, RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=6, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        # One replica of six hosts has quota; a minimum of two such replicas has not, so that it falls along.
        world.hub.change(
            "rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"][0].update(replicas=1, numOfHosts=6), RAY
        )
        await world.settled()
        assert groups(world["w1"])["cpu"] == (1, 6)
        assert cpu_group(world["w1"])["minReplicas"] == 1
        world.hub.change(
            "rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"][0].update(replicas=7, numOfHosts=0), RAY
        )
        await world.settled()
        assert groups(world["w1"])["cpu"] == (1, 6)


def change_groups(world: World, change: Callable[[list[dict[str, Any]]], None], **counts: int) -> None:
    """Change the hub's job, and let Kueue take the quota back in place."""
    world.hub.change("rayclusters", "ray", lambda r: change(r["spec"]["workerGroupSpecs"]), RAY)

    def shrink(workload: dict[str, Any]) -> None:
        for pod_set in workload["spec"]["podSets"]:
            pod_set["count"] = counts.get(pod_set["name"], pod_set["count"])

    world.hub.change("workloads", "first", shrink, KUEUE)


def rename_and_shrink(groups: list[dict[str, Any]]) -> None:
    groups[0].update(groupName="CPU", replicas=1)


def lower_the_minimum(groups: list[dict[str, Any]]) -> None:
    groups[0].update(replicas=1, minReplicas=0)


def shrink_below_the_minimum(groups: list[dict[str, Any]]) -> None:
    groups[0].update(replicas=1)


SHRUNK = {
    "a group that is written in other letters": rename_and_shrink,
    "a group whose minimum falls along": lower_the_minimum,
    "a group whose minimum stays": shrink_below_the_minimum,
}


@pytest.mark.parametrize("how", SHRUNK)
async def test_S3_a_group_that_gave_its_quota_back_stops_running(tmp_path: Path, how: str) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        document = ray_cluster(9)
        document["spec"]["workerGroupSpecs"][0].update(minReplicas=9)
        owner = world.hub.create("rayclusters", document, RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=9, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        change_groups(world, SHRUNK[how], cpu=1)
        await world.settled()
        copy = cpu_group(world["w1"])
        assert max(copy["replicas"], copy["minReplicas"]) == 1


async def test_S3_a_group_that_the_hub_dropped_stops_running(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs=ONLY_RAY) as world:
        owner = world.hub.create("rayclusters", ray_cluster(3), RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=3, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        world.hub.change("rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"].pop(1), RAY)
        await world.settled()
        assert groups(world["w1"]) == {"cpu": (3, 1), "gpu": (0, 2)}
