"""How much of a cluster's API server we allow ourselves: a rate with a burst, and a number of requests in flight.

Bulk requests queue in order. Urgent ones (gate openings) pass them: they may overdraw the bucket by one burst, which
the bulk then earns back, and the places in flight that they need are never given to bulk requests.
Invariant: over any span, at most burst + rate · span bulk requests start, and urgent ones at most one burst more.
"""

import asyncio
from dataclasses import dataclass, replace
from enum import StrEnum
from types import TracebackType
from typing import Final

from workerclient.base.clock import Clock
from workerclient.base.errors import Operation, Throttled

_ROUNDING: Final = 1e-9


class RequestPriority(StrEnum):
    """The priority of a request."""

    URGENT = "urgent"
    BULK = "bulk"


@dataclass(frozen=True, slots=True)
class BudgetLimits:
    """What one cluster may be asked for."""

    queries_per_second: float = 50.0
    burst: int = 100
    in_flight: int = 32
    """Bulk requests at once; the session keeps connections beyond these for urgent ones."""
    longest_wait_seconds: float = 60.0
    """A request that waited for this long fails as throttled."""


class RequestBudget:
    """The budget of one cluster."""

    def __init__(self, limits: BudgetLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._tokens = float(limits.burst)
        self._counted_at = clock.monotonic()
        self._turn = asyncio.Lock()
        self._places = asyncio.Semaphore(limits.in_flight)
        self.waiting = 0
        """How many requests are waiting."""

    @property
    def left(self) -> float:
        """Return how many requests could be sent at once now; negative while urgent ones have overdrawn it."""
        return self._refill()

    @property
    def burst(self) -> int:
        """Return the most that can be left."""
        return self._limits.burst

    def change(self, limits: BudgetLimits) -> None:
        """Allow another rate and burst from now on; the places in flight stay as many as they are."""
        self._refill()
        self._limits = replace(limits, in_flight=self._limits.in_flight)

    def admit(self, priority: RequestPriority, operation: Operation) -> "Admission":
        """Return what waits for a slot and holds it during an `async with`."""
        return Admission(self, priority, operation)

    async def enter(self, priority: RequestPriority, operation: Operation) -> None:
        """Wait for a slot; `leave` gives it back."""
        if priority is RequestPriority.URGENT:
            if self._refill() >= 1.0 - self._limits.burst:
                self._tokens -= 1.0
                return
        elif self._refill() >= 1.0 and not self._turn.locked() and not self._places.locked():
            self._tokens -= 1.0
            await self._places.acquire()  # free, as just seen: this does not wait
            return
        await self._wait(priority, operation)

    def leave(self, priority: RequestPriority) -> None:
        """Give the place in flight back."""
        if priority is RequestPriority.BULK:
            self._places.release()

    async def _wait(self, priority: RequestPriority, operation: Operation) -> None:
        longest = self._limits.longest_wait_seconds
        self.waiting += 1
        try:
            async with self._clock.timeout(longest):
                await (self._take(-self._limits.burst) if priority is RequestPriority.URGENT else self._stand_in_line())
        except TimeoutError as error:
            problem = f"our own request budget is used up: the request waited for {longest:g} s"
            raise Throttled(operation, problem, retry_after=longest) from error
        finally:
            self.waiting -= 1

    async def _stand_in_line(self) -> None:
        await self._places.acquire()
        try:
            async with self._turn:
                await self._take(0)
        except BaseException:
            self._places.release()
            raise

    async def _take(self, floor: int) -> None:
        while (missing := floor + 1.0 - self._refill()) > _ROUNDING:
            await self._clock.sleep(missing / self._limits.queries_per_second)
        self._tokens -= 1.0

    def _refill(self) -> float:
        now = self._clock.monotonic()
        earned = (now - self._counted_at) * self._limits.queries_per_second
        self._tokens = min(float(self._limits.burst), self._tokens + earned)
        self._counted_at = now
        return self._tokens


@dataclass(frozen=True, slots=True)
class Admission:
    """A request's slot. Every request passes here, so this is a plain class: a generator would cost more."""

    budget: RequestBudget
    lane: RequestPriority
    operation: Operation

    async def __aenter__(self) -> None:
        await self.budget.enter(self.lane, self.operation)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.budget.leave(self.lane)
