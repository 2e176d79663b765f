"""The pauses of the demo: a reader can hold the story, and go on before time."""

import asyncio

from manager.demo.pace import Pace, Pauses

LONG = Pauses(step_seconds=3600, act_seconds=3600)
PATIENCE_SECONDS = 30


async def test_without_pauses_nothing_waits() -> None:
    pace = Pace(Pauses())
    async with asyncio.timeout(PATIENCE_SECONDS):
        await pace.step()
        await pace.between_acts()


async def test_hurrying_leaves_out_the_pauses_up_to_the_next_act() -> None:
    pace = Pace(LONG)
    waiting = asyncio.create_task(pace.step())
    await asyncio.sleep(0)
    assert not waiting.done()
    pace.hurry()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await waiting
        await pace.step()
        await pace.between_acts()
    following = asyncio.create_task(pace.step())
    await asyncio.sleep(0)
    assert not following.done()
    following.cancel()


async def test_the_wait_between_acts_says_when_it_ends() -> None:
    pace = Pace(LONG)
    waiting = asyncio.create_task(pace.between_acts())
    await asyncio.sleep(0)
    assert pace.next_act_at is not None
    pace.hurry()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await waiting
    assert pace.next_act_at is None


async def test_a_held_story_waits_where_there_is_no_pause() -> None:
    pace = Pace(Pauses())
    pace.hold_or_go_on()
    waiting = asyncio.create_task(pace.step())
    for _ in range(5):
        await asyncio.sleep(0)
    assert not waiting.done()
    pace.hold_or_go_on()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await waiting


async def test_hurrying_also_ends_the_hold() -> None:
    pace = Pace(LONG)
    pace.hold_or_go_on()
    waiting = asyncio.create_task(pace.step())
    await asyncio.sleep(0)
    pace.hurry()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await waiting
    assert not pace.is_held
