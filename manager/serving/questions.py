"""Limits how many requests to `/v1` are answered at the same time, and how many may wait.

Every class of questions has its own places, so that plans never keep a list waiting, nor lists a plan.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

RETRY_AFTER_SECONDS: Final = 1
_WAITING: Final = 4


class TooManyQuestionsError(Exception):
    """Too many requests wait already; the message is for the client."""


class QuestionSlots:
    """The places for one class of questions."""

    def __init__(self, what: str, at_once: int, waiting: int = _WAITING) -> None:
        self._what = what
        self._at_once = at_once
        self._most = at_once + waiting
        self._free = asyncio.Semaphore(at_once)
        self.present = 0
        """How many are answered or wait."""

    @asynccontextmanager
    async def take(self) -> AsyncIterator[None]:
        """Wait for a place and hold it; raises `TooManyQuestionsError` if too many wait already."""
        if self.present >= self._most:
            others = f"{self._at_once} at once and {self._most - self._at_once} that wait"
            raise TooManyQuestionsError(f"too many requests for {self._what}: {others}; try again in a moment")
        self.present += 1
        try:
            async with self._free:
                yield
        finally:
            self.present -= 1


class QuestionLimits:
    """All classes."""

    def __init__(self) -> None:
        self.lists = QuestionSlots("what there is", 2)
        self.timelines = QuestionSlots("timelines", 1)
        self.plans = QuestionSlots("plans", 1)
