"""A kill after every single write of the daemon, a restart, and the same end.

The daemon dies while the server carries out its n-th write, so the write happened and its answer was never read.
"""

from pathlib import Path

import pytest

from gates.model import marks
from localcluster.cluster import Partition
from tests.integration.orchestrator.killing import Killer
from tests.integration.orchestrator.world import running
from tests.support.virtual_time import until

LAST = 26
"""More than the daemon's writes in the story."""


async def test_59_a_job_created_just_before_a_kill_is_not_run_twice(tmp_path: Path) -> None:
    """The worker with the job is lost before the hub learned who won: no other worker wins while it may be running."""
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        await world.settled()
        killed: list[bool] = []

        def kill(_change: object) -> None:
            if world.task is not None and not killed:
                killed.append(True)
                world.task.cancel()

        store = world["w1"].store
        store.collection(store.kind("jobs", "batch")).listen(kill)
        await world.cut("w2")
        world["w1"].admit()
        await until(lambda: killed)
        await world.stop()
        await world["w1"].local.partition(Partition.REFUSED)
        assert world.check()["state"] == "Pending"
        await world["w2"].local.heal()
        await world.start()
        await world.known("w1")
        await world.connected("w2")
        world["w2"].admit()
        await world.until(lambda: 'Admitted on "w1", which cannot be reached' in world.check()["message"])
        await world.pass_time(14 * 60)
        assert world["w2"].find("jobs", "job-wl", "batch") is None
        await world.pass_time(60)
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world.status()["clusterName"] == "w2"
        assert world["w2"].find("jobs", "job-wl", "batch") is not None
        await world.mend("w1")
        await world.until(lambda: world.holders() == ["w2"] and world["w1"].find("jobs", "job-wl", "batch") is None)


@pytest.mark.parametrize("at", range(1, LAST + 1))
async def test_a_kill_after_any_write_leads_to_the_same_end(tmp_path: Path, at: int) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        killer = Killer(world, at)
        world.queue()
        await killer.until(lambda: world.holders() == ["w1", "w2"])
        world["w1"].block()
        await killer.until(lambda: world["w1"].gate() == "Open")
        world["w2"].block()
        await killer.until(world.is_settled)
        assert world["w2"].gate() == "Closed"
        world["w1"].admit()
        await killer.until(lambda: world.check()["state"] == "Ready" and world.holders() == ["w1"])
        await killer.until(lambda: world["w1"].find("jobs", "job-wl", "batch"))
        assert world.status()["clusterName"] == "w1"
        assert world.check()["message"] == 'The workload was admitted on "w1"'
        world["w1"].finish()
        await killer.until(lambda: world.hub.condition("Finished") and world.holders() == [])
        await killer.until(lambda: world["w1"].find("jobs", "job-wl", "batch") is None)
        await killer.until(world.is_settled)
        assert world.hub.workload()["metadata"]["annotations"][marks.GATE_OPENINGS].count('"cluster"') == 1
        assert world["w2"].find("jobs", "job-wl", "batch") is None
        assert len(world.events()) <= 1
        assert at < LAST or killer.left > 0, "the story has more writes than there are cases"
