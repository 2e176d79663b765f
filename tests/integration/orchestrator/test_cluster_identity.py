"""One cluster under two names, one name for two clusters: nothing that runs dies, and everything comes to rest (F4)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gates.model import marks
from localcluster.access.auth import Allow
from tests.integration.orchestrator.cluster_names import (
    LOST_SECONDS,
    WITHOUT_NAMESPACES,
    Lives,
    by_two_steps,
    cluster_uid,
    forget_identities,
    job_uid,
    known_as,
    list_first,
    name_again,
    reason,
)
from tests.integration.orchestrator.conditions import cluster
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import CHECK, World, running
from tests.integration.orchestrator.world import world as prepared_world

DUPLICATE = 'this is the same cluster as "w1"; nothing is dispatched or removed under this name'


def add_check(world: World, check: str, *clusters: str) -> None:
    world.hub.create("multikueueconfigs", {"metadata": {"name": check}, "spec": {"clusters": list(clusters)}}, KUEUE)
    parameters = {"apiGroup": KUEUE, "kind": "MultiKueueConfig", "name": check}
    spec = {"controllerName": "multikueue-turnstile.dev/orchestrator", "parameters": parameters}
    world.hub.create("admissionchecks", {"metadata": {"name": check}, "spec": spec}, KUEUE)


async def restart(world: World) -> None:
    await world.pass_time(10, settle=False)
    await world.stop()
    await world.start()


# --- marks


async def test_F4_copies_and_jobs_carry_the_name_that_wrote_them(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        for plural, name, group in (("workloads", "wl", KUEUE), ("jobs", "job-wl", "batch")):
            metadata = world["w1"].get(plural, name, group)["metadata"]
            assert metadata["annotations"][marks.CLUSTER] == "w1"


# --- a second name


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
async def test_F4_a_second_name_for_a_cluster_kills_nothing(tmp_path: Path, *, restarts: bool) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        uid, lives = job_uid(world), Lives(world, "w1")
        if restarts:
            await world.pass_time(10)
            await world.stop()
        name_again(world, "w1-b", "w1")
        add_check(world, "mk-b", "w1-b")
        if restarts:
            await world.start()
        await known_as(world, "w1-b", "DuplicateCluster")
        assert cluster(world, "w1-b") == ("False", "DuplicateCluster", DUPLICATE)
        assert world.daemon is not None
        shown = {each["name"]: (each["connection"], each["message"]) for each in world.daemon.inspector.workers()}
        assert shown["w1-b"] == ("Refused", DUPLICATE)
        world.submit("other", check="mk-b")
        world.hub.reserve("other")
        await world.pass_time(LOST_SECONDS + 60)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert world.check("other", "mk-b")["state"] == "Pending"
        assert (lives.made, lives.removed) == (0, 0)
        assert reason(world, "w1") == "Active"
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))


async def test_F4_the_elder_of_two_names_is_used_whatever_the_order_of_connections(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", prepared=False) as world:
        add_check(world, CHECK, "zz", "aa")
        for name in ("zz", "aa"):
            name_again(world, name, "w1")
            await world.clock.advance(5)
        for _ in range(3):
            await world.start()
            await known_as(world, "aa", "DuplicateCluster")
            assert reason(world, "zz") == "Active"
            await world.pass_time(10, settle=False)
            await world.stop()


async def test_F4_a_worker_does_not_take_a_cluster_over_by_claiming_its_uid(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world, "w2")
        uid = job_uid(world, "w2")
        await world.pass_time(10)
        world.put_secret("w1", world["w2"].kubeconfig())
        await known_as(world, "w1", "ClusterChanged")
        await world.pass_time(LOST_SECONDS + 60, settle=False)
        await known_as(world, "w1", "DuplicateCluster")
        assert reason(world, "w2") == "Active"
        assert (job_uid(world, "w2"), world.check()["state"]) == (uid, "Ready")


# --- another name


RENAMES: dict[str, tuple[Callable[[World], None], bool]] = {
    "old kept": (by_two_steps, False),
    "old deleted": (by_two_steps, True),
    "listed first, old kept": (list_first, False),
    "listed first, old deleted": (list_first, True),
}


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
@pytest.mark.parametrize(("rename", "deletes"), RENAMES.values(), ids=RENAMES.keys())
async def test_F4_a_running_job_survives_the_renaming_of_its_worker(
    tmp_path: Path, rename: Callable[[World], None], *, deletes: bool, restarts: bool
) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world.queue("waiting")
        await world.until(lambda: world["w1"].has_workload("waiting"))
        await world.pass_time(10)
        uid, lives = job_uid(world), Lives(world, "w1")
        if restarts:
            await world.stop()
        if deletes:
            world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        rename(world)
        if restarts:
            await world.start()
        await known_as(world, "w1-new", "Active")
        await world.pass_time(LOST_SECONDS + 60)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert lives.made <= 1
        assert lives.removed <= 1, "at most the copy that waits is made once more"
        if not deletes:
            assert reason(world, "w1") == "DuplicateCluster"
        await restart(world)
        await known_as(world, "w1-new", "Active")
        await world.settled()
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        world["w1"].admit("waiting")
        await world.until(lambda: world.check("waiting")["state"] == "Ready")
        assert world.status("waiting")["clusterName"] == "w1-new"
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: not world["w1"].has_workload("wl"))
        await world.until(lambda: world["w1"].find("jobs", "job-wl", "batch") is None)


async def test_F4_a_worker_without_a_known_cluster_converges_after_a_renaming_too(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", limited={"w1": WITHOUT_NAMESPACES}) as world:
        world.queue()
        await world.until(world["w1"].has_workload)
        lives = Lives(world, "w1")
        by_two_steps(world)
        await world.pass_time(120)
        assert world["w1"].has_workload()
        assert world["w1"].workload()["metadata"]["annotations"][marks.CLUSTER] == "w1-new"
        assert (lives.made, lives.removed) == (1, 1)


# --- another cluster


@pytest.mark.parametrize("restarts", [False, True], ids=["running", "restarted"])
async def test_F4_absence_on_another_cluster_is_not_believed(tmp_path: Path, *, restarts: bool) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        world.list_workers("w1", "w2")
        world.hub.delete("multikueueclusters", "w3", KUEUE, "")
        await world.settled()
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.until(lambda: world["w1"].find("jobs", "job-wl", "batch"))
        await world.pass_time(10)
        if restarts:
            await world.stop()
        world.put_secret("w1", world["w3"].kubeconfig())
        if restarts:
            await world.start()
        await known_as(world, "w1", "ClusterChanged")
        message = (cluster(world, "w1") or ("", "", ""))[2]
        assert cluster_uid(world, "w1") in message
        assert cluster_uid(world, "w3") in message
        await world.pass_time(LOST_SECONDS - 60, settle=False)
        assert world.check()["state"] == "Ready", "nothing is concluded from a cluster that is another"
        assert not world["w3"].has_workload()
        await world.pass_until(lambda: world.check()["state"] == "Retry")
        await world.pass_time(60, settle=False)
        assert reason(world, "w1") == "Active", "the former cluster counts as lost, and the name as the new one's"


async def test_F4_the_right_kubeconfig_again_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        uid, lives = job_uid(world), Lives(world, "w1")
        world.hub.delete("multikueueclusters", "w2", KUEUE, "")
        world.list_workers("w1")
        await world.pass_time(10)
        world.put_secret("w1", world["w2"].kubeconfig())
        await known_as(world, "w1", "ClusterChanged")
        await world.pass_time(300, settle=False)
        world.put_secret("w1")
        await known_as(world, "w1", "Active")
        await world.pass_time(LOST_SECONDS)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert (lives.made, lives.removed) == (0, 0)


async def test_F4_the_hub_is_no_worker_of_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world.put_secret("self", world.hub.kubeconfig())
        source = {"kubeConfig": {"location": "self", "locationType": "Secret"}}
        document = {"metadata": {"name": "self"}, "spec": {"clusterSource": source}}
        world.hub.create("multikueueclusters", document, KUEUE)
        world.list_workers("w1", "self")
        await known_as(world, "self", "DuplicateCluster")
        assert "the hub, which cannot be its own worker" in (cluster(world, "self") or ("", "", ""))[2]
        world.queue("next")
        await world.until(lambda: world["w1"].has_workload("next"))
        assert world.check()["state"] == "Ready"


# --- a role that does not let the identity be read, and objects of earlier versions


async def test_F4_a_worker_whose_role_is_older_works_and_says_what_is_missing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", limited={"w1": WITHOUT_NAMESPACES}) as world:
        await won_by(world)
        await world.until(lambda: "namespaces kube-system" in (cluster(world, "w1") or ("", "", ""))[2])
        assert reason(world, "w1") == "Active"
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "of an earlier version"])
@pytest.mark.parametrize("rules", [None, WITHOUT_NAMESPACES], ids=["identified", "unidentified"])
async def test_F4_upgrading_with_two_names_kills_nothing(
    tmp_path: Path, rules: tuple[Allow, ...] | None, *, marked: bool
) -> None:
    async with running(tmp_path, "w1", limited={"w1": rules} if rules else None) as world:
        await won_by(world)
        uid = job_uid(world)
        await world.stop()
        if not marked:
            for plural, name, group in (("workloads", "wl", KUEUE), ("jobs", "job-wl", "batch")):
                world["w1"].change(plural, name, forget_cluster, group)
            forget_identities(world)
        lives = Lives(world, "w1")
        name_again(world, "a-second-name", "w1")
        await world.start()
        await world.known("w1", "a-second-name")
        await world.pass_time(LOST_SECONDS + 60)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert (lives.made, lives.removed) == (0, 0)
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))


def forget_cluster(obj: dict[str, Any]) -> None:
    del obj["metadata"]["annotations"][marks.CLUSTER]
