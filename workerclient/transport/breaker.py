"""Stops asking a cluster that does not answer, and asks again with one request at a time.

Closed: everything passes. After `threshold` failures in a row: open, nothing passes until a delay (growing, jittered,
capped) is over. Then half-open: one request passes as a probe; its success closes the breaker, its failure opens it
for longer.
Invariant: while not closed, at most one request that passed after the breaker opened is in flight.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from workerclient.base.backoff import Backoff, Failures
from workerclient.base.clock import Clock
from workerclient.base.errors import (
    CircuitOpen,
    ClusterError,
    InternalFailure,
    Operation,
    ProtocolViolation,
    TimedOut,
    TooLarge,
    Unavailable,
)


class BreakerState(StrEnum):
    """Whether requests pass."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """The circuit breaker of one cluster."""

    def __init__(self, clock: Clock, backoff: Backoff, threshold: int = 5) -> None:
        self._clock = clock
        self._first_seconds = backoff.first_seconds
        self._outage = Failures("breaker", backoff)
        self._threshold = threshold
        self._failures = 0
        self._open_until = 0.0
        self._probing = False
        self._last_error = ""

    @property
    def state(self) -> BreakerState:
        """Return whether requests pass right now."""
        if self._failures < self._threshold:
            return BreakerState.CLOSED
        if self._probing or self.seconds_until_probe() <= 0.0:
            return BreakerState.HALF_OPEN
        return BreakerState.OPEN

    def seconds_until_probe(self) -> float:
        """Return how long the breaker stays open; 0 when a request may be tried."""
        return max(0.0, self._open_until - self._clock.monotonic()) if self._failures >= self._threshold else 0.0

    @contextmanager
    def passage(self, operation: Operation) -> Iterator[None]:
        """Let one request pass and learn from how it ends, or raise `CircuitOpen`.

        Any proper answer, be it a refusal, shows that the cluster works; a cancelled request shows nothing.
        """
        probe = self._enter(operation)
        try:
            yield
        except (InternalFailure, TooLarge):
            self._succeeded()
            raise
        except (Unavailable, TimedOut, ProtocolViolation) as error:
            self._failed(error, probe=probe)
            raise
        except ClusterError:
            self._succeeded()
            raise
        except BaseException:
            if probe:
                self._probing = False
            raise
        self._succeeded()

    def _enter(self, operation: Operation) -> bool:
        """Return whether the request is the probe."""
        if self._failures < self._threshold:
            return False
        wait = self.seconds_until_probe()
        if wait > 0.0:
            why = f"{self._last_error} ({self._failures} requests failed in a row)"
            raise CircuitOpen(operation, why, retry_after=wait)
        if self._probing:
            raise CircuitOpen(operation, f"{self._last_error} (a probe is in flight)", retry_after=self._first_seconds)
        self._probing = True
        return True

    def _succeeded(self) -> None:
        self._failures = 0
        self._outage.reset()
        self._probing = False

    def _failed(self, error: ClusterError, *, probe: bool) -> None:
        if self._failures >= self._threshold and not probe:
            return  # sent before the breaker opened: part of the trouble that is known already
        self._failures += 1
        self._last_error = error.message
        self._probing = False
        if self._failures >= self._threshold:
            self._open_until = self._clock.monotonic() + self._outage.next_wait()
