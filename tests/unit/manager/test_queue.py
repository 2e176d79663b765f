"""The keyed queue: once at a time, in order, urgent first, now or later."""

import asyncio

from manager.queue import KeyedQueue
from tests.virtual_time import VirtualClock, let_run


async def taken(queue: KeyedQueue[str], count: int) -> list[str]:
    return [await queue.take() for _ in range(count)]


async def test_names_come_once_and_in_order_urgent_ones_first() -> None:
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    for name in ("a", "b", "a", "c"):
        queue.add(name)
    queue.add("c", urgent=True)
    assert await taken(queue, 3) == ["c", "a", "b"]


async def test_a_name_that_is_added_while_taken_comes_again_afterwards() -> None:
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    queue.add("a")
    assert await queue.take() == "a"
    queue.add("a")
    assert not queue._waiting
    queue.done("a")
    assert await queue.take() == "a"
    queue.done("a")
    assert queue.is_idle


async def test_the_earliest_of_several_times_counts() -> None:
    clock = VirtualClock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    looked: list[tuple[str, float]] = []

    async def look(name: str) -> None:
        looked.append((name, clock.monotonic()))

    serving = asyncio.create_task(queue.serve(look))
    await let_run()
    queue.add_after("a", 10)
    queue.add_after("a", 5)
    queue.add_after("a", 7)
    queue.add_after("b", 0)
    await let_run()
    await clock.advance(20)
    assert looked == [("b", 0.0), ("a", 5.0)]
    serving.cancel()
    await asyncio.wait([serving])


async def test_a_closed_queue_hands_out_nothing_and_says_when_it_is_empty() -> None:
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    queue.add("a")
    queue.add("b")
    await queue.take()
    queue.close()
    queue.add("c")
    assert not queue.emptied.is_set()
    queue.done("a")
    assert queue.emptied.is_set()
