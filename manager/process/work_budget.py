"""How much work one answer may take, counted in searches of the engine and in processor time of its thread."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from manager.process.worker_thread import Work

MOST_SEARCHES: Final = 10_000
MOST_SECONDS: Final = 3.0


class TooMuchWorkError(Exception):
    """The work that an answer may take is used up."""


class WorkBudget:
    """What is left of it; to be taken from in one thread alone."""

    def __init__(
        self,
        searches: int = MOST_SEARCHES,
        seconds: float = MOST_SECONDS,
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self._searches = searches
        self._seconds = seconds
        self._processor_time = processor_time

    def start(self, work: Work) -> Callable[[], None]:
        """Return what is to be called again and again in a piece of work; it raises `TooMuchWorkError`."""
        counted_at = self._processor_time()

        def take() -> None:
            nonlocal counted_at
            work.step()
            now = self._processor_time()
            self._seconds -= now - counted_at
            counted_at = now
            self._searches -= 1
            if self._searches < 0 or self._seconds < 0:
                raise TooMuchWorkError

        return take


@dataclass(frozen=True, slots=True)
class PlanBudget:
    """What one plan may take: to say what each worker would do, and separately to search for the largest sizes."""

    outlooks: WorkBudget = field(default_factory=WorkBudget)
    sizes: WorkBudget = field(default_factory=WorkBudget)
