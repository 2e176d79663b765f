"""Yields to the event loop in the middle of long work, so that no cluster delays the others.

Counted in what was done rather than in time: work is the same on every machine, and so is what tests see.
"""

from typing import Final

from workerclient.base.clock import Clock

ITEMS: Final = 200
BYTES: Final = 256 << 10


class LoopTurns:
    """Counts work since the last yield to the loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._items = 0
        self._bytes = 0

    async def after_item(self, size: int) -> None:
        """Count one more processed object, and yield if the limit is reached."""
        self._items += 1
        self._bytes += size
        if self._items >= ITEMS or self._bytes >= BYTES:
            self._items = self._bytes = 0
            await self._clock.sleep(0)
