"""The system's clock; nothing else in the daemon reads the wall clock or sets timers."""

import asyncio
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE: Final = Path("/proc/self/ns/time")


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

    def __init__(self) -> None:
        self.steady_id = steady_id()
        """Which boot of which machine `monotonic` counts from."""

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


def steady_id(boot_id: Path = _BOOT_ID, time_namespace: Path = _TIME_NAMESPACE) -> str:
    """Name the clock that counts from the boot of this machine; where it has no name, one that no other process has.

    A time namespace may shift that clock, so its readings are compared only within one.
    """
    try:
        return f"{boot_id.read_text().strip()}/{time_namespace.readlink()}"
    except OSError:
        return str(uuid4())
