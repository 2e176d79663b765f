"""The clock that this package consumes; it never reads the wall clock or the loop's timers directly.

The system clock lives in `manager/base/clock.py`; tests bring a virtual one, so that no test waits for a timeout.
"""

from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Deadline(Protocol):
    """A running timeout that can be pushed back."""

    def extend(self, seconds: float) -> None:
        """Let the timeout strike that many seconds from now instead of when it would have."""
        ...


class Clock(Protocol):
    """Wall time for facts, monotonic time for waiting."""

    def now_ns(self) -> int:
        """Return the wall time as nanoseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...

    @property
    def steady_id(self) -> str:
        """Name the clock behind `monotonic`: readings under one name can be compared, even by two processes."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after that many seconds."""
        ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[Deadline]:
        """Cancel the enclosed block after that many seconds and raise `TimeoutError` in its place."""
        ...
