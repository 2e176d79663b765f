"""Which cluster a name stands for where its UID cannot be read, is forgotten, or changes behind the address (F4)."""

from collections.abc import Callable
from pathlib import Path

import pytest

from localcluster.access.auth import Allow
from localcluster.serving.faults import ServerError
from manager.clusters.cluster_identity import NAME
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
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import SYSTEM, World, running
from tests.support.etcd_backups import become_another, change_uid, take_backup

CASES: dict[str, tuple[tuple[Allow, ...] | None, bool]] = {
    "its role is older": (WITHOUT_NAMESPACES, False),
    "its role is older, daemon restarted": (WITHOUT_NAMESPACES, True),
    "nothing remembered, daemon restarted": (None, True),
}


@pytest.mark.parametrize("rename", [by_two_steps, list_first])
@pytest.mark.parametrize(("rules", "restarts"), CASES.values(), ids=CASES.keys())
async def test_F4_a_job_survives_a_renaming_that_only_marks_can_tell(
    tmp_path: Path, rename: Callable[[World], None], rules: tuple[Allow, ...] | None, *, restarts: bool
) -> None:
    async with running(tmp_path, "w1", limited={"w1": rules} if rules else None) as world:
        await won_by(world)
        world.queue("waiting")
        await world.until(lambda: world["w1"].has_workload("waiting"))
        uid, lives = job_uid(world), Lives(world, "w1")
        if restarts:
            await world.stop()
            forget_identities(world)
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        rename(world)
        if restarts:
            await world.start()
        await known_as(world, "w1-new", "Active")
        await world.pass_time(LOST_SECONDS + 60)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert (lives.made, lives.removed) == (0, 0)
        world["w1"].admit("waiting")
        await world.until(lambda: world.check("waiting")["state"] == "Ready")
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: not world["w1"].has_workload("wl"))
        await world.until(lambda: world["w1"].find("jobs", "job-wl", "batch") is None)


@pytest.mark.parametrize("rules", [None, WITHOUT_NAMESPACES], ids=["identified", "unidentified"])
async def test_F4_a_waiting_replica_survives_a_renaming_whose_list_arrives_first(
    tmp_path: Path, rules: tuple[Allow, ...] | None
) -> None:
    async with running(tmp_path, "w1", limited={"w1": rules} if rules else None) as world:
        world.queue()
        await world.until(world["w1"].has_workload)
        lives = Lives(world, "w1")
        world.list_workers("w1-new")
        await world.pass_time(30)
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        name_again(world, "w1-new", "w1")
        await known_as(world, "w1-new", "Active")
        await world.pass_time(LOST_SECONDS + 60)
        assert (lives.made, lives.removed) == (0, 0)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_F4_a_waiting_replica_is_removed_once_the_listed_name_counts_as_lost(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(world["w1"].has_workload)
        world.list_workers("never")
        await world.pass_time(LOST_SECONDS - 60)
        assert world["w1"].has_workload()
        await world.pass_time(120)
        assert not world["w1"].has_workload()


async def test_F4_an_admitted_replica_on_an_unlisted_worker_is_removed_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(world["w1"].has_workload)
        world.list_workers("w1-new")
        await world.settled()
        assert world["w1"].has_workload(), "it may be that of the listed name"
        world["w1"].admit()
        await world.until(lambda: not world["w1"].has_workload())


async def test_F4_a_waiting_replica_is_removed_once_the_listed_name_is_another_cluster(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.list_workers("w1")
        world.hub.delete("multikueueclusters", "w2", KUEUE, "")
        await world.settled()
        world.queue()
        await world.until(world["w1"].has_workload)
        world.list_workers("w3")
        await world.pass_time(30)
        assert world.holders() == ["w1"], "the listed name may be that cluster's new one"
        name_again(world, "w3", "w2")
        await known_as(world, "w3", "Active")
        await world.pass_until(lambda: world.holders() == ["w2"])


@pytest.mark.parametrize("rules", [None, WITHOUT_NAMESPACES], ids=["identified", "unidentified"])
async def test_F4_of_three_names_in_one_list_the_first_may_go(tmp_path: Path, rules: tuple[Allow, ...] | None) -> None:
    async with running(tmp_path, "w1", limited={"w1": rules} if rules else None) as world:
        await won_by(world)
        uid, lives = job_uid(world), Lives(world, "w1")
        for name in ("a", "z"):
            name_again(world, name, "w1")
        world.list_workers("a", "w1", "z")
        await world.known("a", "w1", "z")
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        world.list_workers("a", "z")
        await world.pass_time(LOST_SECONDS + 60)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")
        assert (lives.made, lives.removed) == (0, 0)


# --- another cluster behind the same address


async def test_F4_another_cluster_behind_an_open_connection_is_noticed_before_it_is_believed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        empty = take_backup(world["w1"].local, "workloads", "jobs")
        await won_by(world)
        full, uid, former = (
            take_backup(world["w1"].local, "workloads", "jobs"),
            job_uid(world),
            cluster_uid(world, "w1"),
        )
        await world.pass_time(10)
        become_another(world["w1"].local, empty, "another")
        await known_as(world, "w1", "ClusterChanged")
        await world.pass_time(LOST_SECONDS - 120, settle=False)
        assert world.check()["state"] == "Ready", "absence on another cluster means nothing"
        become_another(world["w1"].local, full, former)
        await known_as(world, "w1", "Active")
        await world.pass_time(LOST_SECONDS)
        assert (job_uid(world), world.check()["state"]) == (uid, "Ready")


async def test_F4_a_cluster_that_is_replaced_without_any_watch_ending_is_noticed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.pass_time(10)
        change_uid(world["w1"].local, "another")
        changed = world.clock.monotonic()
        await known_as(world, "w1", "ClusterChanged")
        assert world.clock.monotonic() - changed < 90, "it is asked every minute"
        assert world.check()["state"] == "Ready"


async def test_F4_a_kubeconfig_that_leads_to_a_cluster_that_does_not_say_which_is_not_believed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", limited={"w2": WITHOUT_NAMESPACES}) as world:
        world.list_workers("w1")
        world.hub.delete("multikueueclusters", "w2", KUEUE, "")
        await world.settled()
        world.queue()
        await world.until(world["w1"].has_workload)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.until(lambda: world["w1"].find("jobs", "job-wl", "batch"))
        await world.pass_time(10)
        world.put_secret("w1", world["w2"].kubeconfig())
        await known_as(world, "w1", "ClusterUnidentified")
        await world.pass_time(LOST_SECONDS - 60, settle=False)
        assert world.check()["state"] == "Ready"
        await world.pass_until(lambda: world.check()["state"] == "Retry")
        await world.pass_until(lambda: reason(world, "w1") == "Active")
        await world.pass_time(2 * LOST_SECONDS, settle=False)
        assert reason(world, "w1") == "Active", "what the name once led to is forgotten"


# --- what is remembered


@pytest.mark.parametrize("text", ["x \u00b2", "x " + "1" * 5000, "", " ", "x -1", "x 1 2"])
async def test_F4_an_edited_memory_of_identities_ends_nothing(tmp_path: Path, text: str) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.pass_time(10)
        await world.stop()
        name = "turnstile-worker-clusters"
        world.hub.change("configmaps", name, lambda found: found.update(data={"w1": text}), namespace=SYSTEM)
        await world.start()
        await world.connected()
        await world.pass_time(10)
        assert (reason(world, "w1"), world.check()["state"]) == ("Active", "Ready")
        stored = world.hub.get("configmaps", name, namespace=SYSTEM)["data"]
        assert stored["w1"].split()[0] == cluster_uid(world, "w1")


async def test_F4_identities_that_the_hub_does_not_hand_out_at_the_start_are_waited_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        world.hub.delete("multikueueclusters", "w2", KUEUE, "")
        world.list_workers("w1")
        await world.pass_time(10)
        await world.stop()
        world.put_secret("w1", world["w2"].kubeconfig())
        unread = world.hub.local.faults.add(ServerError(), verb="get", plural="configmaps", name=NAME)
        await world.start()
        await world.pass_time(60, settle=False)
        assert unread.hits > 0
        assert world.check()["state"] == "Ready"
        world.hub.local.faults.remove(unread)
        await known_as(world, "w1", "ClusterChanged")
        assert world.check()["state"] == "Ready", "absence on another cluster is not believed"
