"""When to ask the daemon next, so that a view never becomes a load: one question at a time, fewer when it is slow."""

import random
from typing import Final

from workerclient.base.backoff import Backoff, Failures, Jitter

_LONGEST_WAIT: Final = 30.0


class RefreshPace:
    """How often the daemon is asked."""

    def __init__(self, interval: float, jitter: Jitter = random.random) -> None:
        self.interval = interval
        growing = Backoff(jitter, interval, max(interval, _LONGEST_WAIT), least=0.5)
        self._failures = Failures("top", growing)

    def after_answer(self, took: float) -> float:
        """Return how long to rest after an answer: as long as it took, so that no daemon is kept busy by a view."""
        self._failures.reset()
        return max(self.interval - took, min(took, _LONGEST_WAIT))

    def after_failure(self, asked_to_wait: float = 0.0) -> float:
        """Return how long to rest after a failure: longer each time, and at least as long as the daemon asked for."""
        return max(self._failures.next_wait(), asked_to_wait)
