"""The life of the controller: kills, lost clusters, time, and many jobs."""

import asyncio
from pathlib import Path

import pytest

from config.api.meta import format_time
from engine.cost.models import LAST_CHECKPOINT, checkpoint
from localcluster.cluster import Partition
from localcluster.store.ledger import Change
from manager.cost.propagating import CostPropagation
from tests.integration.cost.world import BOOST, cost_world
from tests.integration.orchestrator.kueue import KUEUE
from workerclient.cluster import ClientLimits
from workerclient.transport.budget import BudgetLimits

MANY = 300


@pytest.mark.parametrize("at", range(1, 8))
async def test_a_kill_at_any_write_and_a_restart_lead_to_the_same_end(tmp_path: Path, at: int) -> None:
    """The controller dies while the server carries out its n-th write; it has three Jobs with a boost each to write."""
    async with cost_world(tmp_path) as world:
        world.propagation = CostPropagation(bridges=True)
        left = at

        def written(_change: Change) -> None:
            nonlocal left
            left -= not world.cluster.is_test_writing
            if left == 0 and world.task is not None:
                world.task.cancel()

        for number in range(3):
            world.submit(f"j{number}", preempted=number + 1)
        for plural, group in (("jobs", "batch"), ("workloads", KUEUE)):
            world.cluster.store.collection(world.cluster.store.kind(plural, group)).listen(written)
        starting = asyncio.create_task(world.start())
        while not starting.done():
            if world.task is not None and world.task.done():
                starting.cancel()
                await asyncio.wait([starting])
                world.task = None
                break
            await asyncio.sleep(0.001)
        await world.stop()
        await world.start()
        for number in range(3):
            want = str(number + 1)
            assert world.cost(f"j{number}") == world.workload_annotations(f"j{number}")[BOOST] == want
        assert (left <= 0) == (at <= 6)


async def test_a_lost_cluster_is_caught_up_with(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        controller = await world.start()
        await world.cluster.local.partition(Partition.REFUSED)
        await world.pass_until(lambda: not controller.is_connected)
        world.preempt(times=3)
        await world.cluster.local.heal()
        await world.pass_until(lambda: world.cost() == "3")


async def test_time_alone_changes_a_cost_that_depends_on_it(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.model, world.refresh_seconds, world.policy = checkpoint, 60, {"max_cost": 12}
        world.submit()
        await world.start()
        world.cluster.admit("j")
        await world.pass_time(6 * 60)
        assert world.cost() in ("5", "6")
        world.annotate_job({LAST_CHECKPOINT: format_time(world.clock.now_ns())})
        await world.until(lambda: world.cost() == "0")
        await world.pass_time(20 * 60)
        assert world.cost() == "12"


async def test_without_a_refresh_only_changes_count(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.model, world.refresh_seconds = checkpoint, 0
        world.submit()
        await world.start()
        world.cluster.admit("j")
        await world.pass_time(5 * 60)
        assert world.cost() is None


async def test_a_boost_of_another_client_is_left_alone_and_reported(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.propagation = CostPropagation(bridges=True)
        world.submit(preempted=1)
        world.annotate_workload({BOOST: "-5"})
        await world.start()
        assert (world.cost(), world.workload_annotations()) == ("1", {BOOST: "-5"})
        assert [event["reason"] for event in world.events()] == ["PriorityBoostNotOurs"]


async def test_many_jobs_get_one_patch_each_that_changed_and_the_others_none(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.limits = ClientLimits(budget=BudgetLimits(queries_per_second=10_000, burst=10_000))
        for number in range(MANY):
            world.submit(f"j{number}", preempted=number % 3)
        changed = [number for number in range(MANY) if number % 3]
        jobs = world.counted("jobs")
        workloads = world.counted("workloads")
        await world.start()
        assert [world.cost(f"j{number}") for number in changed] == [str(number % 3) for number in changed]
        hits = {verb: fault.hits for verb, fault in jobs.items()}
        lists = 2  # a first part of a hundred shows how long the others may be
        assert hits == {"get": 0, "list": lists, "watch": 1, "create": 0, "update": 0} | {
            "patch": len(changed),
            "delete": 0,
        }
        assert {verb for verb, fault in workloads.items() if fault.hits} == {"list", "watch"}
        await world.pass_time(2 * world.refresh_seconds)
        world.preempt("j7")
        await world.until(lambda: world.cost("j7") == "2")
        await world.settled()
        assert jobs["patch"].hits == len(changed) + 1
