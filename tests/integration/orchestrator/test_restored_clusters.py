"""A hub or a worker that is restored from a backup: the daemon goes on from what there is now."""

from pathlib import Path

import pytest

from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import World, running
from tests.support.etcd_backups import restore, take_backup

both = pytest.mark.parametrize("bump", [True, False], ids=["with a bump", "without a bump"])


async def caught_up(world: World, *, bump: bool) -> None:
    """Let a 410 lead to a list; without one, the list of the hour comes when its watch ends."""
    await world.pass_time(10 if bump else 4300, settle=False)
    await world.settled()


@both
async def test_F10_a_restored_hub_gets_its_workload_placed_again(tmp_path: Path, bump: bool) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        await world.settled()
        backup = take_backup(world.hub.local, "workloads")
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        job = world["w1"].get("jobs", "job-wl", "batch")["metadata"]["uid"]
        restore(world.hub.local, backup, bump=bump)
        assert world.check()["state"] == "Pending"
        await caught_up(world, bump=bump)
        assert world.check()["state"] == "Ready"
        assert world.status()["clusterName"] == "w1"
        assert world["w1"].get("jobs", "job-wl", "batch")["metadata"]["uid"] == job
        assert world.daemon is not None
        assert world.daemon.hub.new_histories == 1


@both
async def test_F10_a_restored_worker_is_seen_as_it_is(tmp_path: Path, bump: bool) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        world["w1"].close_gate()
        await world.settled()
        backup = take_backup(world["w1"].local, "workloads")
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        restore(world["w1"].local, backup, bump=bump)
        assert world["w1"].condition("Admitted") is None
        await caught_up(world, bump=bump)
        assert world.check()["state"] == "Retry"  # the winner has a copy that is not admitted
        world.evict_on_hub()
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        assert world["w1"].find("workloads", "wl", KUEUE) is None
