"""A kill after every write of the daemon while a Workload leaves its worker: evicted, taken back, lost, deleted.

Each story begins with a Workload that runs on w1, and ends as it does without a kill.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from localcluster.cluster import Partition
from tests.integration.orchestrator.killing import Killer
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import World, running

LAST = 12
"""More than the daemon's writes in any of these stories."""


def has_job(world: World, name: str) -> bool:
    return world[name].find("jobs", "job-wl", "batch") is not None


async def pass_time_until(killer: Killer, condition: Callable[[], object]) -> None:
    """Let time pass, through a death of the daemon, until something is so."""

    async def pass_time() -> None:
        while not condition():
            await killer.world.clock.advance(5)
            await asyncio.sleep(0.005)

    passing = asyncio.create_task(asyncio.wait_for(pass_time(), 60))
    await killer.until(passing.done)
    await passing


async def dispatched_again(world: World, killer: Killer) -> None:
    world.release_quota()
    await killer.until(lambda: world.holders() == [] and not has_job(world, "w1"))
    world.requeue()
    await killer.until(lambda: world.holders() == ["w1", "w2"])
    await killer.until(lambda: world.status().get("nominatedClusterNames") == ["w1", "w2"])
    await killer.until(lambda: world.check()["message"] == "Pending on w1, w2")
    assert world.check()["state"] == "Pending"
    assert not has_job(world, "w1")
    assert not has_job(world, "w2")


async def evicted_on_the_hub(world: World, killer: Killer) -> None:
    world.evict_on_hub()
    await killer.until(lambda: world["w1"].condition("DeactivationTarget"))
    world["w1"].change("workloads", "wl", lambda w: w["spec"].update(active=False), KUEUE)
    world["w1"].evict(reason="DeactivatedDueToEvictedOnManagerCluster")
    await killer.until(world.is_settled)
    assert world.holders() == ["w1"]
    await dispatched_again(world, killer)


async def evicted_on_the_worker(world: World, killer: Killer) -> None:
    world["w1"].evict()
    await killer.until(lambda: world.check()["state"] == "Retry")
    world.evict_on_hub()
    await dispatched_again(world, killer)


async def out_of_sync(world: World, killer: Killer) -> None:
    world["w1"].finish(reason="OutOfSync")
    await killer.until(lambda: world.check()["state"] == "Retry")
    assert world.check()["requeueAfterSeconds"] == 1, "counted once, however often it was looked at"
    assert world.hub.condition("Finished") is None
    world.evict_on_hub()
    await dispatched_again(world, killer)


async def lost(world: World, killer: Killer) -> None:
    await world["w1"].local.partition(Partition.REFUSED)
    await pass_time_until(killer, lambda: world.check()["state"] == "Retry")
    assert world.check()["message"] == 'Admitting remote lost, Previously: "Ready"'
    await world["w1"].local.heal()
    world.evict_on_hub()
    world.release_quota()
    await pass_time_until(killer, lambda: world.holders() == [] and not has_job(world, "w1"))


async def deleted(world: World, killer: Killer) -> None:
    world.hub.delete("workloads", "wl", KUEUE)
    await pass_time_until(killer, lambda: world.holders() == [] and not has_job(world, "w1"))


Ending = Callable[[World, Killer], Awaitable[None]]


@pytest.mark.parametrize("at", range(1, LAST + 1))
@pytest.mark.parametrize("ending", [evicted_on_the_hub, evicted_on_the_worker, out_of_sync, lost, deleted])
async def test_a_kill_after_any_write_leads_to_the_same_end(tmp_path: Path, ending: Ending, at: int) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        killer = Killer(world, at)
        await ending(world, killer)
        assert at < LAST or killer.left > 0, "the story has more writes than there are cases"
