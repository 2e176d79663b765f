"""Bulk requests keep to the rate, urgent ones pass them."""

import asyncio

import pytest

from tests.support.virtual_time import VirtualClock, let_run
from workerclient.base.errors import Operation, Throttled
from workerclient.transport.budget import BudgetLimits, RequestBudget, RequestPriority

OPERATION = Operation("w1", "create", "workloads")


class Desk:
    """Starts requests under a budget and keeps the order in which they began."""

    def __init__(self, clock: VirtualClock, **limits: float) -> None:
        values = {"queries_per_second": 10.0, "burst": 2, "in_flight": 100, **limits}
        self.budget = RequestBudget(BudgetLimits(**values), clock)  # type: ignore[arg-type]
        self.began: list[str] = []
        self.release = asyncio.Event()

    async def ask(self, name: str, priority: RequestPriority = RequestPriority.BULK) -> None:
        async with self.budget.admit(priority, OPERATION):
            self.began.append(name)
            await self.release.wait()


async def test_a_burst_passes_and_the_rest_follows_at_the_rate_in_order() -> None:
    clock = VirtualClock()
    desk = Desk(clock)
    async with asyncio.TaskGroup() as group:
        for name in "abcde":
            group.create_task(desk.ask(name))
        await let_run()
        assert desk.began == ["a", "b"]
        await clock.advance(0.1)
        assert desk.began == ["a", "b", "c"]
        await clock.advance(0.2)
        assert desk.began == list("abcde")
        desk.release.set()


async def test_an_urgent_request_passes_the_queue_and_the_bulk_pays_for_it() -> None:
    clock = VirtualClock()
    desk = Desk(clock)
    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(desk.ask(name))
        await let_run()
        group.create_task(desk.ask("urgent", RequestPriority.URGENT))
        await let_run()
        assert desk.began == ["a", "b", "urgent"]
        await clock.advance(0.1)
        assert desk.began == ["a", "b", "urgent"]
        await clock.advance(0.2)
        assert desk.began == ["a", "b", "urgent", "c", "d"]
        desk.release.set()


async def test_urgent_requests_are_bounded_too() -> None:
    clock = VirtualClock()
    desk = Desk(clock)
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(desk.ask(f"u{number}", RequestPriority.URGENT))
        await let_run()
        assert len(desk.began) == 4  # the bucket, and one more burst of debt
        await clock.advance(0.2)
        assert len(desk.began) == 6
        desk.release.set()


async def test_slow_bulk_requests_never_take_the_place_of_an_urgent_one() -> None:
    clock = VirtualClock()
    desk = Desk(clock, burst=50, in_flight=3)
    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(desk.ask(f"b{number}"))
        await let_run()
        assert desk.began == ["b0", "b1", "b2"]
        group.create_task(desk.ask("urgent", RequestPriority.URGENT))
        await let_run()
        assert desk.began == ["b0", "b1", "b2", "urgent"]
        desk.release.set()
    assert desk.began == ["b0", "b1", "b2", "urgent", "b3", "b4"]


async def given_back(desk: Desk, priority: RequestPriority = RequestPriority.BULK) -> None:
    with pytest.raises(Throttled, match="our own request budget is used up: the request waited for 5 s"):
        await desk.ask("late", priority)


async def test_a_request_that_stood_in_line_too_long_is_given_back() -> None:
    clock = VirtualClock()
    desk = Desk(clock, in_flight=1, longest_wait_seconds=5.0)
    async with asyncio.TaskGroup() as group:
        group.create_task(desk.ask("slow"))
        await let_run()
        waiting = group.create_task(given_back(desk))
        await let_run()
        await clock.advance(4.9)
        assert not waiting.done()
        await clock.advance(0.1)
        assert waiting.done()
        desk.release.set()


async def test_an_urgent_request_does_not_wait_for_ever_either() -> None:
    clock = VirtualClock()
    desk = Desk(clock, queries_per_second=0.1, longest_wait_seconds=5.0)
    desk.release.set()
    for _ in range(4):
        await desk.ask("urgent", RequestPriority.URGENT)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(given_back(desk, RequestPriority.URGENT))
        await let_run()
        assert not waiting.done()
        await clock.advance(5)


async def test_a_cancelled_request_gives_its_place_back() -> None:
    clock = VirtualClock()
    desk = Desk(clock, burst=1, in_flight=1)
    async with asyncio.TaskGroup() as group:
        first = group.create_task(desk.ask("first"))
        second = group.create_task(desk.ask("second"))
        await let_run()
        second.cancel()
        first.cancel()
        await let_run()
        group.create_task(desk.ask("third"))
        await clock.advance(0.1)
        assert desk.began == ["first", "third"]
        desk.release.set()


async def test_an_idle_budget_earns_no_more_than_a_burst() -> None:
    clock = VirtualClock()
    desk = Desk(clock)
    await clock.advance(3600)
    async with asyncio.TaskGroup() as group:
        for name in "abc":
            group.create_task(desk.ask(name))
        await let_run()
        assert desk.began == ["a", "b"]
        await clock.advance(0.1)
        desk.release.set()
