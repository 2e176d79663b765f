"""The loop of the simulation: virtual time, processes that stop and go on, and livelocks that are reported."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

import pytest

from tests.simulation.loop import DeadlockError, LivelockError, SimulatedLoop, context_of


def run(main: Coroutine[Any, Any, Any], seed: int = 1) -> SimulatedLoop:
    loop = SimulatedLoop(Random(seed))
    try:
        loop.run_until_complete(main)
    finally:
        loop.close()
    return loop


def test_time_passes_only_when_nothing_else_is_left_to_do() -> None:
    loop = run(asyncio.sleep(3600.0))
    assert 3600.0 <= loop.time() < 3600.001


def test_a_stopped_process_does_nothing_until_it_goes_on() -> None:
    heard: list[tuple[str, int]] = []

    async def tick(name: str) -> None:
        for number in range(4):
            await asyncio.sleep(1.0)
            heard.append((name, round(asyncio.get_running_loop().time()) if number == 1 else number))

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        tasks = [loop.create_task(tick(name), context=context_of(name)) for name in ("a", "b")]
        loop.call_at(1.5, loop.stop_process, "a")
        loop.call_at(10.0, loop.continue_process, "a")
        await asyncio.gather(*tasks)

    run(main())
    assert [at for name, at in heard if name == "a"][1] == 10
    assert [at for name, at in heard if name == "b"][1] == 2


def test_processes_take_turns_by_chance_and_each_keeps_its_own_order() -> None:
    def order(seed: int) -> list[str]:
        heard: list[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            for number in range(5):
                for name in ("a", "b"):
                    loop.call_soon(heard.append, f"{name}{number}", context=context_of(name))
            await asyncio.sleep(1.0)

        run(main(), seed)
        return heard

    orders = {tuple(order(seed)) for seed in range(10)}
    assert len(orders) > 5
    assert order(3) == order(3)
    for each in orders:
        assert [name for name in each if name[0] == "a"] == ["a0", "a1", "a2", "a3", "a4"]


def test_a_busy_loop_is_reported() -> None:
    async def spin() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(LivelockError, match=r"within a second, busy with: .*spin"):
        run(spin())


def test_a_loop_in_which_nothing_can_happen_any_more_is_reported() -> None:
    async def wait() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(DeadlockError):
        run(wait())
