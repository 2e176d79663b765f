"""How fast the story goes on: pauses for a reader, which keys shorten or hold."""

import asyncio
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long a reader gets; nothing else depends on it."""

    step_seconds: float = 0.0
    """Before and after what happens in an act."""
    act_seconds: float = 0.0
    """Between two acts."""


class Pace:
    """Waits between the steps of the story, unless told to hurry or to hold."""

    def __init__(self, pauses: Pauses) -> None:
        self._pauses = pauses
        self._told = asyncio.Event()
        self._is_hurried = False
        self.is_held = False
        """The story stops at its next pause, and the screen at once."""
        self.next_act_at: float | None = None
        """While it waits between two acts: when that ends, by the monotonic clock."""

    def hold_or_go_on(self) -> None:
        """Hold the story, or let it go on."""
        self.is_held = not self.is_held
        self._told.set()

    def hurry(self) -> None:
        """Leave out all pauses up to the next act."""
        self.is_held, self._is_hurried = False, True
        self._told.set()

    async def step(self) -> None:
        """Pause within an act."""
        await self._wait_until(time.monotonic() + self._pauses.step_seconds)

    async def between_acts(self) -> None:
        """Pause between two acts; from the next one on there are pauses again."""
        if self._pauses.act_seconds:
            self.next_act_at = time.monotonic() + self._pauses.act_seconds
            await self._wait_until(self.next_act_at)
        self.next_act_at, self._is_hurried = None, False

    async def _wait_until(self, end: float) -> None:
        while self.is_held or (not self._is_hurried and time.monotonic() < end):
            self._told.clear()
            left = None if self.is_held else end - time.monotonic()
            try:
                async with asyncio.timeout(left):
                    await self._told.wait()
            except TimeoutError:
                return
