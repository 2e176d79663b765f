"""Actions on their way: one at a time for each Workload and worker, resting after failures."""

import asyncio

from config.api.meta import ObjectKey
from manager.queueing.action_slots import ActionEffect, ActionSlots
from tests.support.virtual_time import VirtualClock, let_run
from tests.support.worker_names import W1, W2
from workerclient.base.errors import Conflict, Forbidden, Operation, Throttled

KEY = ObjectKey("ns", "wl")
OPERATION = Operation("w1", "create", "workloads")


class Bench:
    """Lanes and what they told."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.ends: list[tuple[ObjectKey, float]] = []
        self.failures: list[str] = []
        self.slots = ActionSlots(
            self.clock,
            lambda: 1.0,
            lambda key, rest: self.ends.append((key, rest)),
            lambda _key, cluster, error: self.failures.append(f"{cluster}: {type(error).__name__}"),
        )


async def succeed() -> ActionEffect:
    await asyncio.sleep(0)
    return ActionEffect.DONE


async def test_a_lane_is_busy_until_its_action_ended_and_then_forgotten() -> None:
    bench = Bench()
    async with bench.slots as lanes:
        task = lanes.start(KEY, W1, succeed)
        assert lanes.is_busy(KEY, W1)
        assert not lanes.is_busy(KEY, W2)
        assert await task
        assert not lanes.is_busy(KEY, W1)
        assert lanes.emptied.is_set()
    assert bench.ends == [(KEY, 0.0)]


async def test_a_refusal_rests_longer_each_time_and_tells_why() -> None:
    bench = Bench()

    async def fail() -> ActionEffect:
        raise Forbidden(OPERATION, "no", remedy="ask")

    async with bench.slots as lanes:
        for rest in (5.0, 10.0, 20.0):
            assert not await lanes.start(KEY, W1, fail)
            assert bench.ends[-1] == (KEY, rest)
            assert lanes.is_busy(KEY, W1)
            assert "ask" in lanes.problem(KEY, W1)
            await bench.clock.advance(rest)
            assert not lanes.is_busy(KEY, W1)
        await lanes.start(KEY, W1, succeed)
        assert lanes.problem(KEY, W1) == ""
    assert bench.failures == ["w1: Forbidden"] * 3


async def test_a_conflict_is_routine() -> None:
    bench = Bench()

    async def lose() -> ActionEffect:
        raise Conflict(OPERATION, "changed")

    async with bench.slots as lanes:
        assert not await lanes.start(KEY, W1, lose)
        assert lanes.problem(KEY, W1) == ""
        assert bench.ends[-1] == (KEY, 0.05)
    assert bench.failures == []


async def test_an_unforeseen_failure_ends_no_other_action() -> None:
    bench = Bench()

    async def break_down() -> ActionEffect:
        raise KeyError("surprise")

    async with bench.slots as lanes:
        assert not await lanes.start(KEY, W1, break_down)
        assert await lanes.start(KEY, W2, succeed)
        assert "KeyError" in lanes.problem(KEY, W1)


async def test_the_end_of_the_lanes_ends_what_is_on_its_way() -> None:
    bench = Bench()
    ended = []

    async def hang() -> ActionEffect:
        try:
            await asyncio.Event().wait()
            return ActionEffect.DONE
        finally:
            ended.append("yes")

    async with bench.slots as lanes:
        lanes.start(KEY, W1, hang)
        await let_run()
    assert ended == ["yes"]


async def test_a_rest_is_over_for_an_alarm_that_rings_a_trifle_early() -> None:
    """A Workload that is queued by the end of a rest must find the slot free, or it is not queued again."""
    bench = Bench()

    async def fail() -> ActionEffect:
        raise Conflict(OPERATION, "outrun")

    async with bench.slots as lanes:
        await lanes.start(KEY, W1, fail)
        await bench.clock.advance(bench.ends[-1][1] - 1e-6)
        assert not lanes.is_busy(KEY, W1)


async def test_F2_an_action_that_found_nothing_to_do_rests_its_lane_longer_each_time() -> None:
    """What was decided would be decided again at once, for as long as the caches stay as they are."""
    bench = Bench()

    async def find_nothing() -> ActionEffect:
        return ActionEffect.NOTHING

    async with bench.slots as lanes:
        for rest in (0.05, 0.1, 0.2):
            assert await lanes.start(KEY, W1, find_nothing)
            assert bench.ends[-1] == (KEY, rest)
            assert lanes.is_busy(KEY, W1)
            await bench.clock.advance(rest)
        assert len(bench.ends) == 3, "nothing is looked at before the rest is over"
        assert lanes.problem(KEY, W1) == ""
        await lanes.start(KEY, W1, succeed)
        await lanes.start(KEY, W1, find_nothing)
        assert bench.ends[-1] == (KEY, 0.05)
    assert bench.failures == []


async def test_F8_a_cluster_may_ask_for_a_minute_at_most() -> None:
    bench = Bench()

    async def ask_for_a_day() -> ActionEffect:
        raise Throttled(OPERATION, "come back tomorrow", retry_after=86_400.0)

    async with bench.slots as lanes:
        assert not await lanes.start(KEY, W1, ask_for_a_day)
        assert bench.ends[-1] == (KEY, 60.0)
