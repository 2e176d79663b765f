"""The system's clock; nothing else in the daemon looks at the wall or at the loop's timers."""

import asyncio
import time
from types import TracebackType
from typing import Self


class SystemDeadline:
    """A timeout of the event loop that can be pushed back."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._timeout.__aexit__(kind, error, traceback)

    def extend(self, seconds: float) -> None:
        """Let the timeout strike that many seconds from now."""
        self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)


class SystemClock:
    """Wall time for facts, monotonic time for waiting."""

    def now_ns(self) -> int:
        """Return the wall time as nanoseconds since the epoch."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return seconds that never run backwards, and run on while the machine sleeps."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> SystemDeadline:
        """Cancel the enclosed block after that many seconds and raise `TimeoutError` in its place."""
        return SystemDeadline(seconds)
