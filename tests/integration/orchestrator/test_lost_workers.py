"""Workers that go away while a Workload runs there; L is the grace, `workerLostTimeout`."""

from datetime import timedelta
from pathlib import Path

import pytest

from gates.model import marks
from localcluster.cluster import Partition
from manager.clusters.lost_workers import NAME
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import CONFIG, SYSTEM, running
from tests.support.worker_names import W1

L = 15 * 60
LOST = 'Admitting remote lost, Previously: "Ready"'


async def test_59_60_the_grace_ends_exactly(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.pass_time(3)
        await world.cut("w1")
        await world.pass_time(L - world.lost_for("w1") - 0.5)
        assert world.check()["state"] == "Ready"
        await world.pass_time(0.5)
        assert world.check()["state"] == "Retry"
        assert world.check()["message"] == LOST


async def test_61_a_brief_loss_changes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.pass_time(L + 60)
        await world.cut("w1")
        await world.pass_time(30)
        await world.mend("w1")
        await world.connected()
        await world.pass_time(2 * L)
        assert world.check()["state"] == "Ready"


async def test_62_a_replica_that_is_gone_is_a_retry_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world["w1"].delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.check()["state"] == "Retry")
        assert world.check()["message"] == 'Admitting remote no longer exists, Previously: "Ready"'


async def test_63_ready_without_a_cluster_is_a_retry(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.submit()
        world.give_check("wl", state="Ready")
        world.hub.reserve()
        await world.until(lambda: world.check()["state"] == "Retry")
        assert "no admitting cluster is recorded" in world.check()["message"]


async def test_64_the_grace_of_the_winner_holds_while_others_are_cleaned(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        await world.cut("w2")
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.cut("w1")
        world["w2"].change("workloads", "wl", lambda w: w["spec"].update(queueName="other"), KUEUE)
        await world.mend("w2")
        await world.until(lambda: not world["w2"].has_workload())
        assert world.check()["state"] == "Ready"


async def test_65_a_worker_that_is_away_at_the_start_gets_the_whole_grace(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.stop()
        await world["w1"].local.partition(Partition.REFUSED)
        await world.start()
        await world.known("w1")
        await world.pass_time(L - 30)
        assert world.check()["state"] == "Ready"
        await world.pass_time(60)
        assert world.check()["state"] == "Retry"


async def test_65_66_the_grace_goes_on_through_restarts(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.cut("w1")
        await world.pass_time(600)
        assert world.hub.get("configmaps", NAME, namespace=SYSTEM)["data"]["w1"]
        await world.stop()
        await world.start()
        await world.known("w1")
        await world.settled()
        await world.pass_time(L - 600 - 30)
        assert world.check()["state"] == "Ready"
        await world.pass_time(60)
        assert world.check()["state"] == "Retry"


async def test_65_no_restart_evicts_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.cut("w1")
        await world.pass_time(10)
        await world.until(lambda: world.hub.find("configmaps", NAME, namespace=SYSTEM))
        await world.stop()
        await world.clock.advance(3 * L)
        await world.start()
        await world.known("w1")
        await world.settled()
        assert world.check()["state"] == "Ready"
        await world.pass_time(70)
        assert world.check()["state"] == "Retry"


async def test_66_a_deleted_cluster_has_a_finite_grace_also_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        await world.until(lambda: "w1" not in world.running_daemon().fleet.links)
        await world.pass_time(300)
        assert world.check()["state"] == "Ready"
        await world.stop()
        await world.start()
        await world.until(lambda: world.running_daemon().hub.is_connected)
        await world.settled()
        await world.pass_time(L - 300 + 30)
        assert world.check()["state"] == "Retry"
        assert world.check()["message"] == LOST


async def test_66_a_missing_secret_after_a_restart_has_a_finite_grace(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        await world.stop()
        world.hub.delete("secrets", "w1", namespace=SYSTEM)
        await world.start()
        await world.known("w1")
        await world.settled()
        await world.pass_time(L + 30)
        assert world.check()["state"] == "Retry"


async def test_67_a_stale_copy_is_removed_when_its_worker_is_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.cut("w1")
        await world.pass_time(L + 1)
        assert world.check()["state"] == "Retry"
        world.evict_on_hub()
        world.release_quota()
        world.requeue()
        await world.until(world["w2"].has_workload)
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.mend("w1")
        await world.until(lambda: world.holders() == ["w2"])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


async def test_a_cluster_that_leaves_the_list_is_swept_at_once_unless_it_runs_the_workload(tmp_path: Path) -> None:
    """Fault 9 of Kueue v0.19.1."""
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world.hub.change("multikueueconfigs", CONFIG, lambda c: c["spec"].update(clusters=["w1"]), KUEUE, "")
        await world.until(lambda: world.holders() == ["w1"])


@pytest.mark.parametrize("hours", [1, -1], ids=["forward", "back"])
async def test_F11_a_clock_that_is_set_neither_makes_a_worker_lost_nor_keeps_one(tmp_path: Path, hours: int) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.cut("w1")
        world.clock.set_wall(world.clock.now_ns() + hours * 3600 * 10**9)
        lost_for = world.clock.monotonic() - world.daemon.fleet.links[W1].client.lost_at  # type: ignore[union-attr]
        await world.pass_time(L - lost_for - 1)
        assert world.check()["state"] == "Ready"
        await world.pass_time(2)
        assert world.check()["state"] == "Retry"


@pytest.mark.parametrize("same", [True, False], ids=["same machine", "another machine"])
async def test_F11_the_grace_goes_on_after_a_restart(tmp_path: Path, same: bool) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.cut("w1")
        await world.pass_time(L - 300)
        await world.stop()
        if same:
            world.clock.set_wall(world.clock.now_ns() + 3600 * 10**9)
        else:
            world.clock.steady_id = "another machine's"
        await world.start()
        await world.known("w1")
        await world.pass_time(240)
        assert world.check()["state"] == "Ready"
        await world.pass_time(120)
        assert world.check()["state"] == "Retry"


@pytest.mark.parametrize("wrong", ["the next machine's clock", "the hub's clock"])
async def test_F11_one_wrong_clock_makes_no_worker_lost_after_a_failover(tmp_path: Path, wrong: str) -> None:
    hour = timedelta(hours=1)
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.cut("w1")
        await world.pass_time(60)
        await world.stop()
        world.clock.steady_id = "another machine's"
        if wrong == "the hub's clock":
            world.hub.clock.skew = hour
        else:
            world.clock.set_wall(world.clock.now_ns() + 3600 * 10**9)
            world.hub.clock.skew = -hour
        await world.start()
        await world.known("w1")
        await world.pass_time(L - 120)
        assert world.check()["state"] == "Ready"
        await world.pass_time(90)
        assert world.check()["state"] == "Retry"


@pytest.mark.parametrize("how", ["struck from the list", "its MultiKueueCluster is deleted"])
async def test_F11_a_worker_that_is_struck_while_it_is_away_keeps_its_grace(tmp_path: Path, how: str) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world["w1"].local.partition(Partition.REFUSED)
        await world.pass_time(1)
        world.list_workers("w2")
        if how != "struck from the list":
            world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        await world.pass_time(L - 60)
        assert world.check()["state"] == "Ready"
        assert not world["w2"].find("jobs", "job-wl", "batch")
        await world.pass_time(120)
        assert world.check()["state"] == "Retry"


async def test_F11_with_one_worker_the_choice_is_recorded_before_its_job_is_made(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        assert marks.WINNER in world.hub.workload()["metadata"]["annotations"]
