"""Jobs of the hub whose Workload was deleted while they ran: Kueue queues them again once they have stopped.

Its hub part is played here: a job that it told to stop is suspended, and its status is what the worker last said.
"""

from pathlib import Path

import pytest

from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import World, running

GC = 60.0
L = 15 * 60
RUNS = {"active": 1, "startTime": "2025-06-15T15:00:00Z"}


def active(world: World, name: str = "job-wl") -> int | None:
    found = world.hub.get("jobs", name, "batch")
    return (found.get("status") or {}).get("active")


def show_as_running(world: World, name: str = "job-wl") -> None:
    world.hub.change_status("jobs", name, lambda status: status.update(RUNS), "batch")


@pytest.mark.parametrize("restarts", [False, True], ids=["seen", "while no daemon ran"])
async def test_a_job_whose_workload_was_deleted_is_said_to_have_stopped(tmp_path: Path, restarts: bool) -> None:
    async with running(tmp_path, "w1", "w2", gc_interval=f"{GC:.0f}s") as world:
        await won_by(world)
        if restarts:
            await world.stop()
        show_as_running(world)
        world.hub.delete("workloads", "wl", KUEUE)
        if restarts:
            await world.start()
            await world.connected()
        await world.pass_until(lambda: world["w1"].find("jobs", "job-wl", "batch") is None)
        await world.pass_until(lambda: active(world) is None)
        conditions = world.hub.get("jobs", "job-wl", "batch")["status"]["conditions"]
        assert [each["type"] for each in conditions if each["status"] == "True"] == ["Suspended"]


async def test_it_is_not_while_a_worker_that_may_run_it_cannot_be_asked(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", gc_interval=f"{GC:.0f}s") as world:
        await won_by(world)
        await world.cut("w1")
        show_as_running(world)
        world.hub.delete("workloads", "wl", KUEUE)
        await world.pass_time(L - world.lost_for("w1") - 3 * GC)
        assert active(world) == 1
        await world.pass_time(6 * GC)
        assert active(world) is None


async def test_a_job_of_another_manager_is_left_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", gc_interval=f"{GC:.0f}s") as world:
        for name, manager in (("theirs", "example.dev/other"), ("nobodys", None)):
            world.hub.create("jobs", job(name, manager), "batch", NAMESPACE)
            show_as_running(world, name)
        await world.pass_time(4 * GC)
        assert active(world, "theirs") == active(world, "nobodys") == 1
