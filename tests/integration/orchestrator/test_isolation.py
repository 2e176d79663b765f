"""A dead, slow or hanging worker changes nothing for the others."""

from pathlib import Path

import pytest

from localcluster.cluster import Partition
from localcluster.serving.faults import HalfOpen, Latency, ServerError
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import running


async def test_isolation_a_frozen_worker_delays_no_other_worker(tmp_path: Path) -> None:
    """Kueue v0.19.1 copies nothing to a healthy worker for 48 seconds after another one froze."""
    async with running(tmp_path, "w1", "w2") as world:
        world["w2"].local.freeze()
        for number in range(20):
            world.queue(f"wl-{number}")
        await world.until(lambda: all(world["w1"].has_workload(f"wl-{n}") for n in range(20)))
        world["w1"].admit("wl-3")
        await world.until(lambda: world.check("wl-3")["state"] == "Ready")
        assert world.clock.monotonic() == 0
        world["w2"].local.thaw()


async def test_isolation_a_winner_that_hangs_is_not_looked_at_over_and_over(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        world["w1"].local.faults.add(HalfOpen(), verb="create", plural="jobs")
        world["w1"].admit()
        await world.until(lambda: world.running_daemon().slots.in_flight)
        world.decisions.clear()
        await world.pass_time(8, settle=False)
        assert len(world.decisions) < 5
        assert world.check()["state"] == "Pending"


@pytest.mark.parametrize("how", list(Partition))
async def test_isolation_a_partition_in_the_middle_of_everything(tmp_path: Path, how: Partition) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        await won_by(world, "w1")
        world.queue("second")
        await world["w2"].local.partition(how)
        await world.until(lambda: world["w1"].has_workload("second") and world["w3"].has_workload("second"))
        world["w3"].admit("second")
        await world.until(lambda: world.check("second")["state"] == "Ready")


async def test_isolation_a_slow_worker_delays_no_other_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        slow = world["w2"].local.faults.add(Latency(5), verb="create")
        for number in range(20):
            world.queue(f"wl-{number}")
        await world.until(lambda: all(world["w1"].has_workload(f"wl-{n}") for n in range(20)))
        await world.until(lambda: all(world["w3"].has_workload(f"wl-{n}") for n in range(20)))
        world["w3"].admit("wl-7")
        await world.until(lambda: world.check("wl-7")["state"] == "Ready")
        assert slow.hits
        assert not world["w2"].has_workload("wl-3")
        assert world.clock.monotonic() == 0


async def test_isolation_a_worker_that_refuses_everything_delays_no_other_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world["w2"].local.faults.add(ServerError("on fire"), verb="create")
        for number in range(20):
            world.queue(f"wl-{number}")
        await world.until(lambda: all(world["w1"].has_workload(f"wl-{n}") for n in range(20)))
        world["w1"].admit("wl-3")
        await world.until(lambda: world.check("wl-3")["state"] == "Ready")
        assert world.clock.monotonic() == 0
