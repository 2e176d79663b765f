"""Watches how long the event loop is held by one step: while it is, no gate opens anywhere."""

from collections.abc import Callable
from typing import Final

from workerclient.base.clock import Clock

LOOK_SECONDS: Final = 0.05
"""A hold that is longer is seen for certain, as that much less."""


class LoopWatch:
    """Sleeps for short times, and tells by how much each lasted longer."""

    def __init__(self, clock: Clock, note: Callable[[float], None]) -> None:
        self._clock = clock
        self._note = note

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            began = self._clock.monotonic()
            await self._clock.sleep(LOOK_SECONDS)
            self._note(max(0.0, self._clock.monotonic() - began - LOOK_SECONDS))
