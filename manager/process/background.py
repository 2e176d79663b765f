"""Work on the models of one worker that is too long for a reconcile: done afterwards, one piece after another.

What is short is done on the loop, in a step of its own; what is long goes to a thread that all workers share,
on values that nothing changes. How much may wait is bounded, so that no worker makes work faster than it is done.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from manager.logging.logs import get_log
from manager.process.worker_thread import Result, Work, WorkerThread
from workerclient.base.clock import Clock

_MOST_WAITING: Final = 16

Job = Callable[[], Awaitable[None]]


class Background:
    """What is to be worked out about one worker."""

    def __init__(self, name: str, thread: WorkerThread, clock: Clock) -> None:
        self._name = name
        self._thread = thread
        self._clock = clock
        self._waiting: deque[Job] = deque()
        self._has_work = asyncio.Event()
        self._is_working = False

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is left to do."""
        return not self._is_working and not self._waiting

    def has_room(self, kept_free: int = 0) -> bool:
        """Return whether more may be added; so many places are left to what matters more."""
        return len(self._waiting) + kept_free < _MOST_WAITING

    def add(self, job: Job) -> None:
        """Take a piece of work, for which there has to be room."""
        self._waiting.append(job)
        self._has_work.set()

    async def run(self) -> None:
        """Do what waits until cancelled; may be run again."""
        while True:
            while self._waiting:
                await self._clock.sleep(0)
                await self._do(self._waiting.popleft())
            self._has_work.clear()
            await self._has_work.wait()

    async def in_thread(self, call: Callable[[Work], Result]) -> Result:
        """Return what a call returns in the thread."""
        return await self._thread.run(call)

    async def _do(self, job: Job) -> None:
        self._is_working = True
        try:
            await job()
        except Exception as error:  # noqa: BLE001 - the boundary of a forecast: others go on
            get_log().error("forecast.failed", worker=self._name, exc_info=error)
        finally:
            self._is_working = False
