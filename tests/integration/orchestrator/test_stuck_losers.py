"""A worker that does not let its copy of the job be deleted: it holds another winner up for a bounded time only."""

from pathlib import Path
from typing import Any

import pytest

from localcluster.access.auth import Allow
from localcluster.serving.faults import Effect, Fault, ServerError, Throttle
from tests.integration.orchestrator.terminating import job_on
from tests.integration.orchestrator.world import World, running

L = 180
OPTIONS: dict[str, Any] = {"worker_lost_timeout": "3m"}
FAULTS: dict[str, Effect] = {
    "errors": ServerError(),
    "asks for a day": Throttle(86_400),
}


async def lost_to_w2(world: World) -> None:
    """Let w1 keep the job of an attempt that is over, and let w2 admit the next one."""
    world.evict_on_hub()
    await world.settled()
    world["w1"].evict()
    await world.settled()
    world.release_quota()
    await world.pass_time(10, settle=False)  # what is answered with errors is tried again after a while
    world.requeue()
    await world.until(world["w2"].has_workload)
    world["w2"].admit()
    await world.pass_time(1, settle=False)


async def running_on_w1(world: World) -> None:
    world.queue()
    await world.until(lambda: len(world.holders()) == 2)
    world["w1"].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    await world.settled()


async def jobs_seen(world: World, seconds: float) -> None:
    """Let time pass, during which the job exists on one worker at most."""
    while seconds > 0:
        await world.pass_time(min(seconds, 30), settle=False)
        seconds -= 30
        assert not (job_on(world["w1"]).find() and job_on(world["w2"]).find())


def refuse_deletes(world: World, how: str) -> Fault:
    return world["w1"].local.faults.add(FAULTS[how], verb="delete")


@pytest.mark.parametrize("how", FAULTS)
async def test_F8_a_loser_that_refuses_to_be_removed_is_given_up_in_time(tmp_path: Path, how: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        await running_on_w1(world)
        refuse_deletes(world, how)
        await lost_to_w2(world)
        await jobs_seen(world, L - 30)
        assert world.check()["state"] == "Pending"
        assert 'starts when the job on "w1" is gone' in world.check()["message"]
        await world.pass_time(60, settle=False)
        await world.until(lambda: world.check()["state"] == "Ready")
        assert job_on(world["w2"]).find()
        warnings = [e["message"] for e in world.events() if e["type"] == "Warning"]
        assert any('the job on "w1" was not removed in time' in warning for warning in warnings)
        # The removal goes on, and takes effect as soon as the worker lets it.
        world["w1"].local.faults.clear()
        await world.pass_time(120, settle=False)
        assert job_on(world["w1"]).find() is None
        assert world.holders() == ["w2"]
        assert world.check()["state"] == "Ready"


@pytest.mark.parametrize("how", FAULTS)
async def test_F8_a_loser_that_is_in_trouble_for_a_while_is_waited_for(tmp_path: Path, how: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        await running_on_w1(world)
        refuse_deletes(world, how)
        await lost_to_w2(world)
        await jobs_seen(world, 120)
        world["w1"].local.faults.clear()
        await jobs_seen(world, 120)
        assert world.check()["state"] == "Ready"
        assert job_on(world["w1"]).find() is None


async def test_F8_a_restart_begins_the_wait_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        await running_on_w1(world)
        refuse_deletes(world, "errors")
        await lost_to_w2(world)
        await jobs_seen(world, L - 60)
        await world.stop()
        await world.start()
        await world.connected()
        await jobs_seen(world, L - 60)
        await world.pass_time(120, settle=False)
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_F8_a_running_winner_is_followed_whatever_a_loser_does(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        await running_on_w1(world)
        refuse_deletes(world, "asks for a day")
        await lost_to_w2(world)
        await world.pass_time(L + 60, settle=False)
        await world.until(lambda: world.check()["state"] == "Ready")
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        world["w2"].change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        world["w2"].change_status("jobs", "job-wl", lambda s: s.update(active=1), "batch")
        await world.until(lambda: world.hub.get("jobs", "job-wl", "batch").get("status", {}).get("active") == 1)
        world["w2"].finish()
        await world.until(lambda: world.hub.condition("Finished"))


async def test_F8_a_worker_without_the_right_to_delete_is_given_up_too(tmp_path: Path) -> None:
    everything_else: Any = Allow(("get", "list", "watch", "create", "patch", "update"), ("*",))
    async with running(
        tmp_path, "w1", "w2", limited={"w1": (everything_else, Allow(("get",), paths=("*",)))}, **OPTIONS
    ) as world:
        await running_on_w1(world)
        await lost_to_w2(world)
        await jobs_seen(world, L - 30)
        await world.pass_time(60, settle=False)
        await world.until(lambda: world.check()["state"] == "Ready")
        assert job_on(world["w2"]).find()
