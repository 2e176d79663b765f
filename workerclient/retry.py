"""Which failures are tried again at once, and when.

A request that may have been carried out is repeated only if that does no harm: it reads, or its preconditions make
the second one fail. Waits are short and jittered; what needs more patience than `longest_wait_seconds` goes back to
the caller, who has a queue for that. A cluster whose breaker is open is not waited for at all.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from workerclient.backoff import Backoff
from workerclient.clock import Clock
from workerclient.errors import CircuitOpen, Retryable

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How stubborn one call is."""

    attempts: int = 4
    longest_wait_seconds: float = 5.0


class RetryPolicy:
    """Repeats attempts of one cluster's requests."""

    def __init__(self, clock: Clock, backoff: Backoff, limits: RetryLimits) -> None:
        self._clock = clock
        self._backoff = backoff
        self._limits = limits

    async def call(self, attempt: Callable[[], Awaitable[Result]], *, repeatable: bool) -> Result:
        """Return the first result; `repeatable` says that carrying the request out twice does no harm."""
        try:
            return await attempt()
        except Retryable as failure:
            if self._limits.attempts < 2 or not self._helps(failure, repeatable=repeatable):
                raise
            await self._clock.sleep(self._wait(failure, 1))
        # tenacity costs as much as an eighth of a request, so only calls that need it pay for it.
        remaining = AsyncRetrying(
            sleep=self._clock.sleep,
            stop=stop_after_attempt(self._limits.attempts - 1),
            wait=self._wait_after,
            retry=retry_if_exception(lambda error: self._helps(error, repeatable=repeatable)),
            reraise=True,
        )

        async def once() -> Result:
            return await attempt()  # tenacity awaits only what it recognises as a coroutine function

        return await remaining(once)

    def _helps(self, error: BaseException, *, repeatable: bool) -> bool:
        if not isinstance(error, Retryable) or isinstance(error, CircuitOpen):
            return False
        if (error.retry_after or 0.0) > self._limits.longest_wait_seconds:
            return False
        return repeatable or not error.may_have_been_executed

    def _wait(self, error: BaseException | None, failures: int) -> float:
        asked = error.retry_after if isinstance(error, Retryable) else None
        return min(self._limits.longest_wait_seconds, (asked or 0.0) + self._backoff.delay(failures))

    def _wait_after(self, state: RetryCallState) -> float:
        return self._wait(state.outcome.exception() if state.outcome else None, state.attempt_number + 1)
