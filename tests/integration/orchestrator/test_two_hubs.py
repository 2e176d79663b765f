"""Two hubs that were given one origin by mistake: neither takes the other's objects for its own, or touches them."""

from copy import deepcopy
from pathlib import Path

import pytest

from config.names import ORIGIN_LABEL
from gates.model import marks
from gates.model.texts import foreign_job
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj, job, workload
from tests.integration.orchestrator.terminating import at_rest, job_on
from tests.integration.orchestrator.world import ORIGIN, World, running


def other_hubs_job(world: World, **annotations: str) -> Obj:
    """Put a job of another hub with the same origin where ours would be."""
    document = job("job-wl", managed_by=None)
    document["metadata"]["labels"] |= {ORIGIN_LABEL: ORIGIN, "kueue.x-k8s.io/prebuilt-workload-name": "wl"}
    marked = {marks.HUB: "another-hub", marks.HUB_UID: "another-uid", **annotations}
    document["metadata"]["annotations"] = {name: value for name, value in marked.items() if value}
    return world["w1"].create("jobs", document, "batch", NAMESPACE)


def ours_without_uid(world: World) -> Obj:
    """Put a job there that names our hub but not whose copy it is, which we never write."""
    hub = world.hub.get("namespaces", "kube-system", namespace="")["metadata"]["uid"]
    return other_hubs_job(world, **{marks.HUB: hub, marks.HUB_UID: ""})


MADE = {"another hub's": other_hubs_job, "one that names no UID": ours_without_uid}


async def admitted_beside(world: World, made: str) -> Obj:
    foreign = deepcopy(MADE[made](world))
    await world.settled()
    world.queue()
    await world.until(world["w1"].has_workload)
    world["w1"].admit()
    await at_rest(world)
    return foreign


@pytest.mark.parametrize("made", MADE)
async def test_F9_a_foreign_job_never_makes_the_check_ready(tmp_path: Path, made: str) -> None:
    async with running(tmp_path, "w1") as world:
        foreign = await admitted_beside(world, made)
        assert world.check()["state"] == "Pending"
        assert foreign_job("w1") in world.check()["message"]
        assert world["w1"].get("jobs", "job-wl", "batch") == foreign


@pytest.mark.parametrize("made", MADE)
async def test_F9_a_foreign_jobs_status_is_not_copied(tmp_path: Path, made: str) -> None:
    async with running(tmp_path, "w1") as world:
        await admitted_beside(world, made)
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(active=3), "batch")
        await at_rest(world)
        assert "active" not in world.hub.get("jobs", "job-wl", "batch").get("status", {})


@pytest.mark.parametrize("made", MADE)
async def test_F9_a_foreign_job_outlives_the_workload(tmp_path: Path, made: str) -> None:
    async with running(tmp_path, "w1", gc_interval="1m") as world:
        foreign = await admitted_beside(world, made)
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.until(lambda: world.holders() == [])
        await at_rest(world, 600)
        assert world["w1"].get("jobs", "job-wl", "batch") == foreign


@pytest.mark.parametrize("made", MADE)
async def test_F9_a_foreign_job_holds_no_other_winner_up(tmp_path: Path, made: str) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        foreign = deepcopy(MADE[made](world))
        await world.settled()
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await at_rest(world)
        assert world["w1"].get("jobs", "job-wl", "batch") == foreign


@pytest.mark.parametrize("made", MADE)
async def test_F9_once_the_foreign_job_is_gone_ours_begins(tmp_path: Path, made: str) -> None:
    async with running(tmp_path, "w1") as world:
        await admitted_beside(world, made)
        world["w1"].delete("jobs", "job-wl", "batch")
        await world.settled()
        await world.pass_time(120)
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world["w1"].get("jobs", "job-wl", "batch")["metadata"]["annotations"][marks.HUB] != "another-hub"


async def test_F9_a_foreign_pod_in_the_place_of_a_deleted_one_does_not_hold_up_the_rest_of_its_group(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["pod"]}) as world:
        labels = {"kueue.x-k8s.io/queue-name": "main", "kueue.x-k8s.io/pod-group-name": "wl"}
        spec = {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
        pods = [{"metadata": {"name": name, "labels": labels}, "spec": spec} for name in ("a", "b")]
        made = [world.hub.create("pods", pod, namespace=NAMESPACE) for pod in pods]
        document = workload("wl")
        document["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
            for pod in made
        ]
        world.hub.create("workloads", document, KUEUE, NAMESPACE)
        world.give_check("wl")
        world.hub.reserve()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        # One pod of the group is on its way out on the hub, and another hub's pod has the name of its copy.
        world.hub.change("pods", "a", lambda p: p["metadata"].update(finalizers=["example.com/slow"]))
        world.hub.delete("pods", "a")
        await world.settled()
        copy = deepcopy(world["w1"].get("pods", "a"))
        world["w1"].delete("pods", "a")
        marked = {marks.HUB: "another-hub", marks.HUB_UID: "another-uid"}
        metadata = {"name": "a", "labels": copy["metadata"]["labels"], "annotations": marked}
        world["w1"].create("pods", {"metadata": metadata, "spec": spec}, namespace=NAMESPACE)
        await world.settled()
        world["w1"].change_status("pods", "b", lambda s: s.update(phase="Running"))
        await world.until(lambda: world.hub.get("pods", "b").get("status", {}).get("phase") == "Running")


async def test_F9_a_foreign_job_that_leaves_is_still_foreign(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await admitted_beside(world, "another hub's")
        held = job_on(world["w1"])
        held.hold()
        world["w1"].delete("jobs", "job-wl", "batch")
        await at_rest(world)
        assert world.check()["state"] == "Pending"
        held.let_go()
        await world.pass_time(120)
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_F9_the_copy_of_an_earlier_job_goes_before_the_check_is_ready(tmp_path: Path) -> None:
    """The hub's job was deleted and submitted again under the same name and Workload."""
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(world["w1"].has_workload)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        held = job_on(world["w1"])
        held.hold()
        await world.stop()
        first = (held.find() or {})["metadata"]["uid"]
        world.hub.delete("jobs", "job-wl", "batch")
        await world.until(lambda: world.hub.find("jobs", "job-wl", "batch") is None)
        again = world.hub.create("jobs", job("job-wl"), "batch", NAMESPACE)
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": "job-wl", "uid": again["metadata"]["uid"]}
        world.hub.change("workloads", "wl", lambda w: w["metadata"].update(ownerReferences=[reference]), KUEUE)
        world.give_check("wl", state="Pending")
        world.hub.set_status("wl", lambda s: s.pop("clusterName", None))
        await world.start()
        await world.connected()
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        assert world.check()["state"] == "Pending"
        held.let_go()
        await world.until(lambda: world.check()["state"] == "Ready")
        copy = world["w1"].get("jobs", "job-wl", "batch")["metadata"]
        assert copy["uid"] != first
        assert copy["annotations"][marks.HUB_UID] == again["metadata"]["uid"]
