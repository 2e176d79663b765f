"""Actions on their way: one at a time for each Workload and worker, resting after failures."""

import asyncio

from manager.lanes import Lanes
from tests.virtual_time import VirtualClock, let_run
from workerclient.errors import Conflict, Forbidden, Operation
from workerclient.kind import Key

KEY = Key("ns", "wl")
OPERATION = Operation("w1", "create", "workloads")


class Bench:
    """Lanes and what they told."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.ends: list[tuple[Key, float]] = []
        self.failures: list[str] = []
        self.lanes = Lanes(
            self.clock,
            lambda: 1.0,
            lambda key, rest: self.ends.append((key, rest)),
            lambda _key, cluster, error: self.failures.append(f"{cluster}: {type(error).__name__}"),
        )


async def succeed() -> None:
    await asyncio.sleep(0)


async def test_a_lane_is_busy_until_its_action_ended_and_then_forgotten() -> None:
    bench = Bench()
    async with bench.lanes as lanes:
        task = lanes.start(KEY, "w1", succeed)
        assert lanes.is_busy(KEY, "w1")
        assert not lanes.is_busy(KEY, "w2")
        assert await task
        assert not lanes.is_busy(KEY, "w1")
        assert lanes.emptied.is_set()
    assert bench.ends == [(KEY, 0.0)]


async def test_a_refusal_rests_longer_each_time_and_tells_why() -> None:
    bench = Bench()

    async def fail() -> None:
        raise Forbidden(OPERATION, "no", remedy="ask")

    async with bench.lanes as lanes:
        for rest in (5.0, 10.0, 20.0):
            assert not await lanes.start(KEY, "w1", fail)
            assert bench.ends[-1] == (KEY, rest)
            assert lanes.is_busy(KEY, "w1")
            assert "ask" in lanes.problem(KEY, "w1")
            await bench.clock.advance(rest)
            assert not lanes.is_busy(KEY, "w1")
        await lanes.start(KEY, "w1", succeed)
        assert lanes.problem(KEY, "w1") == ""
    assert bench.failures == ["w1: Forbidden"] * 3


async def test_a_conflict_is_routine() -> None:
    bench = Bench()

    async def lose() -> None:
        raise Conflict(OPERATION, "changed")

    async with bench.lanes as lanes:
        assert not await lanes.start(KEY, "w1", lose)
        assert lanes.problem(KEY, "w1") == ""
        assert bench.ends[-1] == (KEY, 0.05)
    assert bench.failures == []


async def test_an_unforeseen_failure_ends_no_other_action() -> None:
    bench = Bench()

    async def break_down() -> None:
        raise KeyError("surprise")

    async with bench.lanes as lanes:
        assert not await lanes.start(KEY, "w1", break_down)
        assert await lanes.start(KEY, "w2", succeed)
        assert "KeyError" in lanes.problem(KEY, "w1")


async def test_the_end_of_the_lanes_ends_what_is_on_its_way() -> None:
    bench = Bench()
    ended = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")

    async with bench.lanes as lanes:
        lanes.start(KEY, "w1", hang)
        await let_run()
    assert ended == ["yes"]


async def test_a_rest_is_over_for_an_alarm_that_rings_a_trifle_early() -> None:
    """Whoever is woken by the end of a rest must find the lane free, or nobody wakes him again."""
    bench = Bench()

    async def fail() -> None:
        raise Conflict(OPERATION, "outrun")

    async with bench.lanes as lanes:
        await lanes.start(KEY, "w1", fail)
        await bench.clock.advance(bench.ends[-1][1] - 1e-6)
        assert not lanes.is_busy(KEY, "w1")
