"""Openings that Kueue overlooks because they come in the middle of its cycle: the gate is closed and opened again."""

from pathlib import Path

from tests.integration.orchestrator.timing import OpeningLog, T, ledger, opened, pending, say_gated
from tests.integration.orchestrator.world import World, running


async def overlooked(world: World) -> OpeningLog:
    """Let w1 get its gate and Kueue not notice."""
    await pending(world)
    world["w1"].block()
    say_gated(world["w1"])
    await world.until(lambda: opened(world) == ["w1"])
    await world.settled()
    log = OpeningLog(world)
    log.look()
    return log


async def test_missed_an_opening_that_kueue_overlooks_is_repeated_within_seconds(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        log = await overlooked(world)
        world["w2"].block()
        await log.pass_time(4)
        assert log.closings == []
        await log.pass_time(6, step=0.5)
        assert [name for name, _ in log.closings] == ["w1"]
        assert [name for name, _ in log.openings] == ["w1", "w1"]
        closed, opened_again = log.closings[0][1], log.openings[1][1]
        assert opened_again - closed >= 1
        say_gated(world["w1"], "couldn't assign flavors to pod set main. Pending the preemption of 1 workload(s)")
        await log.pass_time(60)
        assert len(log.closings) == 1
        assert ledger(world)[0]["nudges"] == 1


async def test_missed_no_other_gate_opens_for_it(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        log = await overlooked(world)
        world["w2"].block()
        await log.pass_time(2 * T, step=0.5)
        assert "w2" in [name for name, _ in log.openings]
        assert all(gap >= T for gap in log.gaps())


async def test_missed_the_gate_is_closed_three_times_at_most_after_growing_delays(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        log = await overlooked(world)
        await log.pass_time(3 * T, step=0.5)
        delays = [closed - opening for (_, closed), (_, opening) in zip(log.closings, log.openings, strict=False)]
        assert [round(delay) for delay in delays] == [5, 10, 20]
        assert opened(world) == ["w1"]


async def test_missed_what_kueue_has_looked_at_is_left_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        log = await overlooked(world)
        say_gated(world["w1"], "couldn't assign flavors to pod set main. Pending the preemption of 1 workload(s)")
        await log.pass_time(T - 20)
        assert log.closings == []


async def test_missed_a_kill_while_the_gate_is_closed_leaves_it_closed_for_a_moment_only(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        log = await overlooked(world)
        await log.pass_time(5, step=0.1)
        while opened(world):
            await log.pass_time(0.1)
        await world.stop()
        await world.clock.advance(1)
        await world.start()
        await world.connected()
        await log.pass_time(3)
        assert opened(world) == ["w1"]
