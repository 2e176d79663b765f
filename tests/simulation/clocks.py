"""The clocks of processes and clusters: each has a wall time of its own, and all go as the loop's time goes."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from localcluster.kinds.clock import Timer
from manager.base.clock import SystemDeadline

_START_NS: Final = 1_750_000_000 * 1_000_000_000
_START: Final = datetime.fromtimestamp(_START_NS / 1e9, UTC)


class ProcessClock:
    """Implements `workerclient.base.clock.Clock` for the processes of one machine."""

    def __init__(self, loop: asyncio.AbstractEventLoop, machine: str, booted: float) -> None:
        self._loop = loop
        self._booted = booted
        self.steady_id = machine
        self.offset_ns = 0
        """How far its wall clock is from true time."""

    def now_ns(self) -> int:
        """Return the wall time."""
        return _START_NS + int(self._loop.time() * 1e9) + self.offset_ns

    def monotonic(self) -> float:
        """Return the seconds since the machine's boot."""
        return self._booted + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> SystemDeadline:
        """Cancel the enclosed block after that many seconds."""
        return SystemDeadline(seconds)


class WallClock:
    """Implements `localcluster.kinds.clock.ServerClock`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.offset = timedelta()
        """How far it is from true time."""

    def now(self) -> datetime:
        """Return the cluster's time."""
        return _START + timedelta(microseconds=int(self._loop.time() * 1e6)) + self.offset

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back after that many seconds: a skew moves the date, not the speed."""
        return self._loop.call_later(max(seconds, 0.0), callback)
