"""How long to wait after failures in a row: fast at first, then longer up to a cap, never in step with others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Jitter = Callable[[], float]
"""A source of random numbers in [0, 1)."""

_MAX_DOUBLINGS: Final = 32


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential delays with full jitter."""

    jitter: Jitter
    first_seconds: float = 0.25
    cap_seconds: float = 30.0

    def delay(self, failures: int) -> float:
        """Return the seconds to wait after that many failures in a row: part of a bound that doubles up to the cap."""
        doublings = min(max(failures, 1) - 1, _MAX_DOUBLINGS)
        return self.jitter() * min(self.cap_seconds, self.first_seconds * 2.0**doublings)
