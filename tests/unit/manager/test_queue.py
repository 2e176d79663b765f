"""The keyed queue: once at a time, in order, urgent first, now or later."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from manager.queueing.queue import KeyedQueue
from tests.support.virtual_time import VirtualClock, let_run, until


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
    again = asyncio.create_task(queue.take())
    await let_run()
    assert not again.done()
    queue.done("a")
    assert await again == "a"
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


async def served(queue: KeyedQueue[str], looked: list[str]) -> asyncio.Task[None]:
    async def look(name: str) -> None:
        looked.append(name)

    return asyncio.create_task(queue.serve(look))


async def test_S1_many_names_are_handed_out_between_other_things_and_urgent_ones_pass_them() -> None:
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    looked: list[str] = []
    for number in range(1000):
        queue.add(str(number))
    serving = await served(queue, looked)
    await let_run()
    assert 0 < len(looked) <= 20, "at most one in each turn of the loop"
    queue.add("999", urgent=True)
    queue.add("urgent", urgent=True)
    await let_run()
    assert {"999", "urgent"} <= set(looked)
    await until(lambda: queue.is_idle)
    assert sorted(looked) == sorted(["urgent", *map(str, range(1000))])
    serving.cancel()
    await asyncio.wait([serving])


async def test_S1_a_name_becomes_urgent_without_a_search_through_those_that_wait() -> None:
    compared = 0

    @dataclass(frozen=True, eq=False)
    class Compared:
        number: int

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return isinstance(other, Compared) and self.number == other.number

        def __hash__(self) -> int:
            return hash(self.number)

    queue: KeyedQueue[Compared] = KeyedQueue(VirtualClock())
    for number in range(1000):
        queue.add(Compared(number))
    for number in reversed(range(1000)):
        queue.add(Compared(number), urgent=True)
    assert [(await queue.take()).number for _ in range(3)] == [999, 998, 997]
    assert compared < 20_000


async def test_S1_a_group_is_added_in_pieces_and_once_more_if_it_is_added_meanwhile() -> None:
    queue: KeyedQueue[str] = KeyedQueue(VirtualClock())
    looked: list[str] = []

    def names() -> Iterator[str]:
        for number in range(3500):
            if number == 3400:
                assert 0 < len(looked) < 10, "others go on between two pieces"
                queue.add_all("group", lambda: ["0"])
            yield str(number)

    for _ in range(3):
        queue.add_all("group", names)
    assert not queue.is_idle, "what waits to be added counts"
    serving = await served(queue, looked)
    await until(lambda: queue.is_idle)
    assert sorted(looked) == sorted(["0", *map(str, range(3500))])
    serving.cancel()
    await asyncio.wait([serving])


async def test_S1_many_names_that_fall_due_together_are_added_in_pieces() -> None:
    clock = VirtualClock()
    queue: KeyedQueue[str] = KeyedQueue(clock)
    looked: list[str] = []
    for number in range(2500):
        queue.add_after(str(number), 5)
    serving = await served(queue, looked)
    await clock.advance(5)
    await until(lambda: len(looked) == 2500)
    serving.cancel()
    await asyncio.wait([serving])
