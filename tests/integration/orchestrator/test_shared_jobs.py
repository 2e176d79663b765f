"""Jobs in which several Workloads of the hub run: they go with the last of them, and with none before."""

from pathlib import Path
from typing import Any

import pytest

from gates.model import marks
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj, job, workload
from tests.integration.orchestrator.terminating import L, at_rest
from tests.integration.orchestrator.world import World, running

LWS = ("leaderworkersets", "serve", "leaderworkerset.x-k8s.io")
ELASTIC = ("jobs", "elastic", "batch")
OPTIONS: dict[str, Any] = {"jobs": {"integrations": ["leaderworkerset.x-k8s.io/leaderworkerset"]}}
NAMES = ("serve-0", "serve-1")


def component(world: World, index: int, owner: Obj) -> str:
    made = workload(f"serve-{index}", owner)
    made["metadata"]["annotations"] = {
        marks.JOB_OWNER_GVK: "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
        marks.JOB_OWNER_NAME: "serve",
        marks.COMPONENT_INDEX: str(index),
    }
    world.hub.create("workloads", made, KUEUE, NAMESPACE)
    world.give_check(made["metadata"]["name"])
    world.hub.reserve(made["metadata"]["name"])
    return str(made["metadata"]["name"])


async def serving_on_w1(world: World) -> str:
    """Place a LeaderWorkerSet of two groups on w1 and return the UID of its copy."""
    owner = world.hub.create(
        "leaderworkersets", {"metadata": {"name": "serve"}, "spec": {"replicas": 2}}, LWS[2], NAMESPACE
    )
    for index in (0, 1):
        component(world, index, owner)
    await world.until(lambda: world["w1"].has_workload("serve-0"))
    world["w1"].admit("serve-0")
    await world.until(lambda: world["w1"].has_workload("serve-1"))
    world["w1"].admit("serve-1")
    await world.until(lambda: all(world.check(name)["state"] == "Ready" for name in NAMES))
    await world.settled()
    return uid_of(world)


def uid_of(world: World, place: tuple[str, str, str] = LWS) -> str:
    found = world["w1"].find(*place)
    return found["metadata"]["uid"] if found is not None else ""


@pytest.mark.parametrize("index", [0, 1])
async def test_F5_a_group_that_is_scaled_away_leaves_the_others_running(tmp_path: Path, index: int) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        uid = await serving_on_w1(world)
        gone, left = NAMES[index], NAMES[1 - index]
        world.hub.change("leaderworkersets", "serve", lambda s: s["spec"].update(replicas=1), LWS[2])
        world.hub.delete("workloads", gone, KUEUE)
        await world.until(lambda: not world["w1"].has_workload(gone))
        await at_rest(world)
        assert uid_of(world) == uid
        assert world["w1"].has_workload(left)
        world.hub.delete("workloads", left, KUEUE)
        await world.until(lambda: uid_of(world) == "")
        await at_rest(world)


async def test_F5_a_group_without_quota_or_at_its_end_leaves_the_others_running(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        uid = await serving_on_w1(world)
        world.release_quota("serve-1")
        await world.until(lambda: not world["w1"].has_workload("serve-1"))
        await at_rest(world)
        assert uid_of(world) == uid
        world.hub.finish("serve-0")
        await world.until(lambda: uid_of(world) == "")
        await at_rest(world)
        assert not world["w1"].has_workload("serve-0")


async def test_F5_the_last_group_takes_the_job_along_although_the_hubs_job_is_gone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", **OPTIONS) as world:
        await serving_on_w1(world)
        world.hub.delete("leaderworkersets", "serve", LWS[2])
        for name in NAMES:
            world.hub.delete("workloads", name, KUEUE)
        await world.until(lambda: uid_of(world) == "" and world.holders("serve-0") == world.holders("serve-1") == [])
        await at_rest(world)


async def test_F5_a_group_goes_where_the_others_run_and_nowhere_else(tmp_path: Path) -> None:
    """A copy of an earlier attempt is admitted on another worker: the job that they share would run twice."""
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        uid = await serving_on_w1(world)
        await world.stop()
        copy = world["w1"].workload("serve-0")
        world["w1"].delete("workloads", "serve-0", KUEUE)
        put(world["w2"], copy)
        world["w2"].admit("serve-0")
        world.give_check("serve-0", state="Pending")
        world.hub.set_status("serve-0", lambda s: s.pop("clusterName"))
        await world.start()
        await world.connected()
        await world.until(lambda: world.holders("serve-0") == ["w1"])
        world["w1"].admit("serve-0")
        await world.until(lambda: world.check("serve-0")["state"] == "Ready")
        assert world["w2"].find(*LWS) is None
        assert uid_of(world) == uid


def put(cluster: Cluster, copy: Obj) -> None:
    """Create an object as it is on another cluster."""
    metadata = {field: copy["metadata"][field] for field in ("name", "labels", "annotations")}
    cluster.create("workloads", {"metadata": metadata, "spec": copy["spec"]}, KUEUE, NAMESPACE)


# --- slices of an elastic job


def elastic(world: World, name: str, owner: Obj, count: int, replaces: str = "") -> None:
    document = workload(name, owner)
    document["metadata"]["annotations"] = {marks.ELASTIC: "true"}
    if replaces:
        document["metadata"]["annotations"][marks.REPLACED_SLICE] = f"{NAMESPACE}/{replaces}"
    document["spec"]["podSets"][0]["count"] = count
    world.hub.create("workloads", document, KUEUE, NAMESPACE)
    world.give_check(name)


async def replaced_slice(world: World, *, taken_over: bool) -> str:
    """Let a second slice replace the first on w1 and return the UID of the job that both ran in."""
    document = job("elastic", parallelism=2)
    document["metadata"]["annotations"] = {marks.ELASTIC: "true"}
    owner = world.hub.create("jobs", document, "batch", NAMESPACE)
    elastic(world, "first", owner, 2)
    world.hub.reserve("first")
    await world.until(lambda: world["w1"].has_workload("first"))
    world["w1"].admit("first")
    await world.until(lambda: world.check("first")["state"] == "Ready")
    uid = uid_of(world, ELASTIC)
    world.hub.change("jobs", "elastic", lambda j: j["spec"].update(parallelism=3), "batch")
    elastic(world, "second", owner, 3, replaces="first")
    world.hub.set_status("second", lambda s: s.update(clusterName="w1"))
    world.hub.reserve("second")
    await world.until(lambda: world["w1"].has_workload("second"))
    if taken_over:
        world["w1"].admit("second")
        await world.until(lambda: world.check("second")["state"] == "Ready")
    world.hub.finish("first", reason="WorkloadSliceReplaced")
    await world.settled()
    return uid


@pytest.mark.parametrize("taken_over", [True, False], ids=["taken over", "not yet"])
async def test_F2_F5_a_replaced_slice_is_deleted_while_its_successor_runs(tmp_path: Path, *, taken_over: bool) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        uid = await replaced_slice(world, taken_over=taken_over)
        world.hub.delete("workloads", "first", KUEUE)
        await at_rest(world)
        assert uid_of(world, ELASTIC) == uid
        assert not world["w1"].has_workload("first")
        assert world["w1"].has_workload("second")
        world.hub.delete("workloads", "second", KUEUE)
        await world.until(lambda: uid_of(world, ELASTIC) == "")
        await at_rest(world)


async def test_F5_garbage_collection_spares_the_job_of_a_slices_successor(tmp_path: Path) -> None:
    """The job names the first slice until the second is admitted, and the first may be gone by then."""
    async with running(tmp_path, "w1", "w2", gc_interval="1m") as world:
        uid = await replaced_slice(world, taken_over=False)
        await world.stop()
        world.hub.delete("workloads", "first", KUEUE)
        await world.start()
        await world.connected()
        await world.pass_time(300)
        assert uid_of(world, ELASTIC) == uid
        assert not world["w1"].has_workload("first")
        world["w1"].admit("second")
        await world.until(lambda: world.check("second")["state"] == "Ready")
        assert uid_of(world, ELASTIC) == uid


async def test_F5_the_last_slice_takes_the_job_along_whatever_it_names(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await replaced_slice(world, taken_over=False)
        world.hub.delete("workloads", "first", KUEUE)
        await world.until(lambda: not world["w1"].has_workload("first"))
        world.hub.delete("jobs", "elastic", "batch")
        world.hub.delete("workloads", "second", KUEUE)
        await world.until(lambda: uid_of(world, ELASTIC) == "")
        await at_rest(world)


async def test_F5_the_end_of_a_slice_wakes_the_one_that_waits_for_its_job_to_be_gone(tmp_path: Path) -> None:
    """Our own delete is not told by the watch, and waiting for a timer instead would take minutes."""
    async with running(tmp_path, "w1", "w2") as world:
        await replaced_slice(world, taken_over=False)
        await world.stop()
        copy = world["w1"].workload("second")
        world["w1"].delete("workloads", "second", KUEUE)
        put(world["w2"], copy)
        world["w2"].admit("second")
        world.hub.set_status("second", lambda s: s.pop("clusterName"))
        assert world.status("first")["clusterName"] == "w1"
        world.hub.set_condition("first", "Finished", status="False", reason="Test")
        await world.start()
        await world.connected()
        await world.pass_time(2 * L)
        assert world["w2"].find(*ELASTIC) is None, "the job would run twice: the first slice runs on w1"
        passed = world.clock.monotonic()
        world.hub.delete("workloads", "first", KUEUE)
        await world.until(lambda: world["w2"].find(*ELASTIC) and uid_of(world, ELASTIC) == "")
        assert world.clock.monotonic() == passed


# --- groups of pods


async def test_F5_a_group_of_pods_is_kept_together_when_its_first_pod_is_gone_on_the_hub(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["pod"]}) as world:
        labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "wl"}
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
        document = workload("wl")
        document["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": made["metadata"]["uid"]}
            for name in ("a", "b", "c")
            for made in [
                world.hub.create(
                    "pods", {"metadata": {"name": name, "labels": labels}, "spec": spec}, namespace=NAMESPACE
                )
            ]
        ]
        world.hub.create("workloads", document, KUEUE, NAMESPACE)
        world.give_check("wl")
        world.hub.delete("pods", "a")
        world.hub.reserve()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert [world["w1"].find("pods", name) is not None for name in ("a", "b", "c")] == [False, True, True]
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        await at_rest(world)
        assert [world["w1"].find("pods", name) for name in ("a", "b", "c")] == [None, None, None]
