"""Puts off the reconciles of everything that depends on a worker which comes and goes all the time.

A worker that came or went concerns every Workload that may run there. One that does so every second must not have all
of them reconciled each time. Nothing is missed by that: every reconcile reads the state that the worker has then.
"""

from typing import Final

from config.api.identifiers import WorkerName
from workerclient.base.clock import Clock

BURST: Final = 30
"""How often in a row; one that comes and goes once is reported about five times."""
PAUSE_SECONDS: Final = 20.0
"""How often in the long run."""


class Flapping:
    """Counts the news of each worker."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def delay(self, worker: WorkerName) -> float:
        """Take note of news and return after how many seconds everything that depends on the worker is reconciled."""
        now = self._clock.monotonic()
        left, at = self._left.get(worker, (float(BURST), now))
        left = min(float(BURST), left + (now - at) / PAUSE_SECONDS)
        if left < 1.0:
            self._left[worker] = (left, now)
            return (1.0 - left) * PAUSE_SECONDS
        self._left[worker] = (left - 1.0, now)
        return 0.0

    def forget(self, worker: WorkerName) -> None:
        """Keep nothing of a worker that is not wanted any more."""
        self._left.pop(worker, None)
