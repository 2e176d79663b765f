"""The probe that bounds what the daemon takes of the loop: it must see what is long, and whose it is."""

import asyncio
import time

import pytest

from tests.support.lag import LagProbe, measured_loop


def burn(seconds: float) -> None:
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        pass


async def burning(seconds: float) -> None:
    await asyncio.sleep(0)
    burn(seconds)


async def starting_others() -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(burning(0.03))


async def test_what_its_tasks_start_counts_and_nothing_else_does() -> None:
    probe = LagProbe()
    with measured_loop():
        await asyncio.create_task(burning(0.06))
        assert probe.worst < 0.01
        await probe.create_task(starting_others())
        assert 0.03 <= probe.worst < 0.06
        assert "burning" in probe.longest[0].what
        probe.check(0.06)
        await probe.create_task(burning(0.06))
        probe.check()
        await probe.create_task(burning(0.06))
        with pytest.raises(AssertionError, match="ms in burning"):
            probe.check()


async def test_one_stretch_alone_may_be_twice_as_long_and_no_longer() -> None:
    probe = LagProbe()
    with measured_loop():
        await probe.create_task(burning(0.03))
        probe.check(0.02)
        with pytest.raises(AssertionError, match="ms in burning"):
            probe.check(0.01)


async def test_time_that_merely_passes_is_not_counted() -> None:
    probe = LagProbe()

    async def sleep() -> None:
        time.sleep(0.08)  # noqa: ASYNC251 - as a thread that gets no processor does

    with measured_loop():
        await probe.create_task(sleep())
    probe.check(0.02)


async def test_many_short_steps_of_one_turn_are_long_together() -> None:
    probe = LagProbe()

    async def together() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(12):
                group.create_task(burning(0.02))

    async def one_after_the_other() -> None:
        for _ in range(12):
            await burning(0.02)

    with measured_loop():
        await probe.create_task(one_after_the_other())
        probe.check()
        await probe.create_task(together())
        assert probe.worst < 0.05
        with pytest.raises(AssertionError, match=r"one turn of the loop took .* 12 steps of one turn"):
            probe.check()
