"""Long work in a thread of its own: it is done once, and ends when it is no longer awaited."""

import asyncio
import threading

import pytest

from manager.process.worker_thread import AbandonedError, Work, WorkerThread
from tests.support.virtual_time import until


async def test_S1_work_that_is_no_longer_awaited_ends_at_its_next_step() -> None:
    thread = WorkerThread("test")
    began, ended = threading.Event(), threading.Event()

    def endless(work: Work) -> None:
        began.set()
        try:
            while True:
                work.step()
        except AbandonedError:
            ended.set()
            raise

    waiting = asyncio.create_task(thread.run(endless))
    await until(began.is_set)
    waiting.cancel()
    await until(ended.is_set)
    assert waiting.cancelled()
    assert await thread.run(lambda _: "free again") == "free again"


async def test_S1_work_that_did_not_begin_is_never_done() -> None:
    thread = WorkerThread("test")
    release, done = threading.Event(), []
    first = asyncio.create_task(thread.run(lambda _: release.wait()))
    second = asyncio.create_task(thread.run(lambda _: done.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    release.set()
    await first
    assert await thread.run(lambda _: "free again") == "free again"
    assert done == []


async def test_S1_what_goes_wrong_in_the_thread_reaches_who_waits() -> None:
    def wrong(_: Work) -> None:
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        await WorkerThread("test").run(wrong)
