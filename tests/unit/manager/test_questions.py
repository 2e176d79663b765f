"""The turns of questions: so many at once, so many that wait, and everybody else is told to come again."""

import asyncio

import pytest

from manager.serving.questions import QuestionSlots, TooManyQuestionsError


async def ask(turns: QuestionSlots, release: asyncio.Event, inside: list[int], number: int) -> None:
    async with turns.take():
        inside.append(number)
        await release.wait()


@pytest.mark.parametrize("at_once", [1, 2])
async def test_S1_so_many_at_once_four_wait_and_the_next_is_refused(at_once: int) -> None:
    turns, release, inside = QuestionSlots("plans", at_once), asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(ask(turns, release, inside, number)) for number in range(at_once + 4)]
    await asyncio.sleep(0)
    assert inside == list(range(at_once))
    with pytest.raises(TooManyQuestionsError, match=r"for plans: .* try again in a moment"):
        await ask(turns, release, inside, -1)
    release.set()
    await asyncio.gather(*tasks)
    assert (inside, turns.present) == (list(range(at_once + 4)), 0)


async def test_S1_who_stops_waiting_leaves_its_place() -> None:
    turns, release, inside = QuestionSlots("plans", 1), asyncio.Event(), list[int]()
    tasks = [asyncio.create_task(ask(turns, release, inside, number)) for number in range(5)]
    await asyncio.sleep(0)
    for task in tasks[:3]:
        task.cancel()
    await asyncio.wait(tasks[:3])
    await asyncio.sleep(0)
    assert (inside, turns.present) == ([0, 3], 2)
    release.set()
    await asyncio.gather(*tasks[3:])
    assert inside == [0, 3, 4]
