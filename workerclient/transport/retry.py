"""Which failures are tried again at once, and when.

A request that may have been carried out is repeated only if that does no harm: it reads, or its preconditions make
the second one fail. Waits are short and jittered; what needs more patience than `longest_wait_seconds` goes back to
the caller, who has a queue for that. A cluster whose breaker is open is not waited for at all.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from workerclient.base.backoff import AtMost, Backoff, OnRetry, RetryAfter, ignore_retry, retry_loop
from workerclient.base.clock import Clock
from workerclient.base.errors import CircuitOpen, ClusterError, Retryable

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """How often one call is retried."""

    attempts: int = 4
    longest_wait_seconds: float = 5.0


class RetryPolicy:
    """Repeats attempts of one cluster's requests."""

    def __init__(self, clock: Clock, backoff: Backoff, limits: RetryLimits, on_retry: OnRetry = ignore_retry) -> None:
        self._clock = clock
        self._wait = AtMost(limits.longest_wait_seconds, RetryAfter(limits.longest_wait_seconds) + backoff)
        self._limits = limits
        self._on_retry = on_retry

    async def call(self, attempt: Callable[[], Awaitable[Result]], *, repeatable: bool) -> Result:
        """Return the first result; `repeatable` says that carrying the request out twice does no harm."""
        try:
            # A loop of tenacity takes as long as an eighth of a request: only calls that failed once enter it.
            return await attempt()
        except Retryable as failure:
            return await self._repeat(attempt, failure, repeatable=repeatable)

    async def _repeat(self, attempt: Callable[[], Awaitable[Result]], first: Retryable, *, repeatable: bool) -> Result:
        executed, pending = first.may_have_been_executed, [first]

        async def once() -> Result:
            nonlocal executed
            if pending:  # the attempt that was made outside the loop is its first one
                raise pending.pop()
            try:
                return await attempt()
            except ClusterError as failure:
                executed = executed or failure.may_have_been_executed
                raise

        loop = retry_loop(
            "request",
            self._clock.sleep,
            self._wait,
            lambda error: self._helps(error, repeatable=repeatable),
            attempts=self._limits.attempts,
            on_retry=self._on_retry,
            subject=first.operation.cluster,
        )
        try:
            return await loop(once)
        except ClusterError as failure:
            failure.may_have_been_executed = executed  # by this try or an earlier one
            raise

    def _helps(self, error: BaseException, *, repeatable: bool) -> bool:
        if not isinstance(error, Retryable) or isinstance(error, CircuitOpen):
            return False
        if (error.retry_after or 0.0) > self._limits.longest_wait_seconds:
            return False
        return repeatable or not error.may_have_been_executed
