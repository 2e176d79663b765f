"""A clock that stands still until a test moves it, so that no test waits for a timeout."""

import asyncio
import heapq
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count

_START_NS = 1_750_000_000 * 1_000_000_000
_PATIENCE_SECONDS = 120.0
_ROUNDING = 1e-9


class VirtualDeadline:
    """A running timeout of a virtual clock."""

    def __init__(self, clock: "VirtualClock", timeout: asyncio.Timeout, seconds: float) -> None:
        self._clock = clock
        self._timeout = timeout
        self.due = clock.monotonic() + seconds
        self.is_over = False

    def extend(self, seconds: float) -> None:
        """Strike that many seconds from now."""
        self.due = self._clock.monotonic() + seconds
        self._clock.wake_at(self.due, self.strike)

    def strike(self) -> None:
        """Cancel the block if it is still running and the deadline was not pushed back meanwhile."""
        if not self.is_over and self._clock.monotonic() >= self.due - _ROUNDING:
            self._timeout.reschedule(asyncio.get_running_loop().time())


class VirtualClock:
    """Implements `workerclient.base.clock.Clock`."""

    def __init__(self, now_ns: int = _START_NS) -> None:
        self.steady_id = "the test's"
        self.wall_tick_ns = 0
        """How much later every reading of the wall time is than the one before, as if reading took time."""
        self._start_ns = now_ns
        self._elapsed_ns = 0
        self._order = count()
        self._alarms: list[tuple[float, int, Callable[[], None]]] = []
        self._sleepers: list[float] = []

    def now_ns(self) -> int:
        """Return the wall time."""
        self._start_ns += self.wall_tick_ns
        return self._start_ns + self._elapsed_ns

    def monotonic(self) -> float:
        """Return the seconds that the test let pass."""
        return self._elapsed_ns / 1e9

    async def sleep(self, seconds: float) -> None:
        """Return once the test has let that much time pass; at once for 0."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        awake = asyncio.get_running_loop().create_future()
        due = self.monotonic() + seconds
        self.wake_at(due, lambda: None if awake.done() else awake.set_result(None))
        self._sleepers.append(due)
        try:
            await awake
        finally:
            self._sleepers.remove(due)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[VirtualDeadline]:
        """Cancel the block once the test has let that much time pass in it."""
        async with asyncio.timeout(None) as timeout:
            deadline = VirtualDeadline(self, timeout, seconds)
            self.wake_at(deadline.due, deadline.strike)
            try:
                yield deadline
            finally:
                deadline.is_over = True

    async def advance(self, seconds: float) -> None:
        """Let time pass, stopping at everything that falls due on the way and letting it run."""
        target = self.monotonic() + seconds
        while self._alarms and self._alarms[0][0] <= target:
            due, _, ring = heapq.heappop(self._alarms)
            self._set(max(due, self.monotonic()))
            ring()
            await let_run()
        self._set(target)
        await let_run()

    def set_wall(self, now_ns: int) -> None:
        """Set the wall clock, as an operator or NTP would, without letting time pass."""
        self._start_ns = now_ns - self._elapsed_ns

    @property
    def next_awakening(self) -> float | None:
        """Return in how many seconds the first sleeper wakes, None when there is no sleeper."""
        return min(self._sleepers) - self.monotonic() if self._sleepers else None

    def wake_at(self, when: float, ring: Callable[[], None]) -> None:
        """Keep a callback until `advance` reaches it."""
        heapq.heappush(self._alarms, (when, next(self._order), ring))

    def _set(self, monotonic: float) -> None:
        self._elapsed_ns = max(self._elapsed_ns, round(monotonic * 1e9))


class EagerClock(VirtualClock):
    """Lets every sleep pass at once and remembers it."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Return when that much time has passed, which it does now."""
        self.slept.append(seconds)
        await self.advance(seconds)


async def let_run() -> None:
    """Let every task that needs no outside event go on until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for something that real sockets bring about."""
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - the condition spans objects that know nothing of each other
            await asyncio.sleep(0.001)
