"""How long to leave something alone after a failure, by what kind of failure it was."""

from dataclasses import dataclass
from typing import Final

from workerclient.backoff import Jitter
from workerclient.errors import AlreadyExists, ClusterError, Conflict, NotFound, Retryable


@dataclass(frozen=True, slots=True)
class Pace:
    """Delays that double from the first to the longest."""

    first_seconds: float
    longest_seconds: float

    def after(self, failures: int, jitter: Jitter) -> float:
        """Return the delay after so many failures in a row: at least half of a bound that doubles."""
        bound = min(self.longest_seconds, self.first_seconds * 2.0 ** min(max(failures, 1) - 1, 32))
        return bound * (0.5 + jitter() / 2)


OUTRUN: Final = Pace(0.05, 5.0)
"""Somebody else was faster: look again as soon as the caches had a moment."""
TROUBLE: Final = Pace(0.5, 60.0)
"""The cluster is in trouble, which passes."""
REFUSAL: Final = Pace(5.0, 300.0)
"""Somebody has to change something first."""


def is_outrun(error: ClusterError) -> bool:
    """Tell whether the world only moved on since the decision."""
    return isinstance(error, Conflict | AlreadyExists) or (isinstance(error, NotFound) and error.kind != "namespaces")


def rest_seconds(error: ClusterError, failures: int, jitter: Jitter) -> float:
    """Return how long to wait after so many failures in a row."""
    if is_outrun(error):
        return OUTRUN.after(failures, jitter)
    if isinstance(error, Retryable):
        return max(error.retry_after or 0.0, TROUBLE.after(failures, jitter))
    return REFUSAL.after(failures, jitter)
