"""When failed work on an object is due again, by what kind of failure it was."""

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from manager.base.retrying import RetriedOperation
from workerclient.base.backoff import Backoff, ByError, Failures, Jitter, LongestOf, OnRetry, RetryAfter, ignore_retry
from workerclient.base.errors import AlreadyExists, Conflict, NotFound, Retryable, TooLate

Key = TypeVar("Key", bound=Hashable)

_LONGEST_ASKED_SECONDS: Final = 60.0
"""How long a cluster may ask us to stay away; a worker must not keep a Workload waiting by asking for more."""


def is_outrun(error: BaseException) -> bool:
    """Return whether the world only moved on since the decision."""
    return isinstance(error, Conflict | AlreadyExists | TooLate) or (
        isinstance(error, NotFound) and error.kind != "namespaces"
    )


def requeue_wait(jitter: Jitter) -> ByError:
    """Return the waits after failures of work that a queue repeats."""
    outrun = Backoff(jitter, 0.05, 5.0, least=0.5)  # the caches will know in a moment
    trouble = LongestOf(RetryAfter(_LONGEST_ASKED_SECONDS), Backoff(jitter, 0.5, 60.0, least=0.5))  # which passes
    refusal = Backoff(jitter, 5.0, 300.0, least=0.5)  # until a role, an object or a bug is fixed

    def choose(error: BaseException | None) -> Backoff | LongestOf:
        if error is None or is_outrun(error):
            return outrun
        return trouble if isinstance(error, Retryable) else refusal

    return ByError(choose)


class KeyedFailures(Generic[Key]):
    """The failures in a row of each object that a queue serves."""

    def __init__(self, operation: RetriedOperation, jitter: Jitter, on_retry: OnRetry = ignore_retry) -> None:
        self._operation = operation
        self._wait = requeue_wait(jitter)
        self._on_retry = on_retry
        self._failures: dict[Key, Failures] = {}

    def next_wait(self, key: Key, error: BaseException | None) -> float:
        """Count a failure, or with None that there was nothing to do yet; return the seconds to the next attempt."""
        failures = self._failures.get(key)
        if failures is None:
            failures = self._failures[key] = Failures(self._operation, self._wait, self._on_retry, str(key))
        return failures.next_wait(error)

    def count(self, key: Key) -> int:
        """Return how many failures in a row there were."""
        failures = self._failures.get(key)
        return 0 if failures is None else failures.count

    def forget(self, key: Key) -> None:
        """Take note of a success, or that the object is gone."""
        self._failures.pop(key, None)
