"""When something that failed is tried again: the one back-off of the project, composed of tenacity's parts.

Waits are values (`wait_base`) that can be added and bounded. Their bound doubles up to a cap and chance takes a part
of it, so that clients that failed together do not come back together. Two users:

- `retry_loop`: an operation that is repeated until it succeeds or `is_over`, with the caller's sleep and chance.
- `Failures`: work that a queue, a timer or a watch repeats anyway; it counts failures in a row and returns the wait.

Both report every wait to `on_retry`, where it is counted and logged.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_never,
    wait_exponential,
)
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from workerclient.base.errors import Retryable

Jitter = Callable[[], float]
"""A source of random numbers in [0, 1)."""

RetryLoop = AsyncRetrying
"""Repeats the coroutine function that it is called with."""

_NO_LOOP: Final = Retrying()
"""What tenacity's states belong to where no loop of its own runs."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A failure after which something is tried again."""

    operation: str
    """One of few words."""
    subject: str
    """The cluster or object that it is done with."""
    failures: int
    """How many in a row, this one included."""
    seconds: float
    """The wait before the next attempt."""
    error: BaseException | None


OnRetry = Callable[[Retry], None]


def ignore_retry(_retry: Retry) -> None:
    """Neither count nor log a retry."""


class Backoff(wait_base):
    """A bound that doubles from the first wait up to a cap; chance takes any part of it, but not less than `least`."""

    def __init__(
        self, jitter: Jitter, first_seconds: float = 0.25, cap_seconds: float = 30.0, *, least: float = 0.0
    ) -> None:
        self.first_seconds = first_seconds
        self._jitter = jitter
        self._least = least
        self._bound = wait_exponential(multiplier=first_seconds, max=cap_seconds, exp_base=2.0)

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return the wait after an attempt."""
        return self._bound(retry_state) * (self._least + (1.0 - self._least) * self._jitter())


class RetryAfter(wait_base):
    """The wait that a cluster asks for, up to a limit; none if it asks for none."""

    def __init__(self, longest_seconds: float) -> None:
        self._longest = longest_seconds

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return the wait after an attempt."""
        error = _error_of(retry_state)
        asked = error.retry_after if isinstance(error, Retryable) else None
        return min(self._longest, asked or 0.0)


class AtMost(wait_base):
    """Another wait, cut at a limit."""

    def __init__(self, longest_seconds: float, wait: wait_base) -> None:
        self._longest = longest_seconds
        self._wait = wait

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return the wait after an attempt."""
        return min(self._longest, self._wait(retry_state))


class LongestOf(wait_base):
    """The longest of several waits."""

    def __init__(self, *waits: wait_base) -> None:
        self._waits = waits

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return the wait after an attempt."""
        return max(wait(retry_state) for wait in self._waits)


class ByError(wait_base):
    """A wait that depends on what went wrong; nothing did after an attempt that only has to be repeated."""

    def __init__(self, choose: Callable[[BaseException | None], wait_base]) -> None:
        self._choose = choose

    def __call__(self, retry_state: RetryCallState) -> float:
        """Return the wait after an attempt."""
        return self._choose(_error_of(retry_state))(retry_state)


class Failures:
    """The failures in a row of work that is repeated by something else than a loop that sleeps."""

    __slots__ = ("_on_retry", "_operation", "_subject", "_wait", "count")

    def __init__(self, operation: str, wait: wait_base, on_retry: OnRetry = ignore_retry, subject: str = "") -> None:
        self._operation = operation
        self._wait = wait
        self._on_retry = on_retry
        self._subject = subject
        self.count = 0

    def next_wait(self, error: BaseException | None = None) -> float:
        """Count a failure and return the seconds to the next attempt."""
        self.count += 1
        state = RetryCallState(_NO_LOOP, None, (), {})
        state.attempt_number = self.count
        if error is not None:
            state.set_exception((type(error), error, error.__traceback__))
        seconds = self._wait(state)
        self._on_retry(Retry(self._operation, self._subject, self.count, seconds, error))
        return seconds

    def reset(self) -> None:
        """Take note of a success: the next failure is a first one."""
        self.count = 0


class _Over(stop_base):
    def __init__(self, is_over: Callable[[], bool]) -> None:
        self._is_over = is_over

    def __call__(self, retry_state: RetryCallState) -> bool:  # noqa: ARG002 - tenacity's signature
        return self._is_over()


def retry_loop(
    operation: str,
    sleep: Callable[[float], Awaitable[None]],
    wait: wait_base,
    helps: Callable[[BaseException], bool],
    *,
    attempts: int | None = None,
    is_over: Callable[[], bool] | None = None,
    on_retry: OnRetry = ignore_retry,
    subject: str = "",
) -> RetryLoop:
    """Return what repeats a coroutine function while that helps; its last error is raised.

    No attempt follows the last of `attempts`, nor one after which `is_over` is true.
    """
    stop: stop_base = stop_never if attempts is None else stop_after_attempt(attempts)
    if is_over is not None:
        stop = stop | _Over(is_over)

    def report(state: RetryCallState) -> None:
        on_retry(Retry(operation, subject, state.attempt_number, state.upcoming_sleep, _error_of(state)))

    return AsyncRetrying(
        sleep=sleep,
        stop=stop,
        wait=wait,
        retry=retry_if_exception(helps),
        before_sleep=report,
        reraise=True,
    )


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome is not None else None
