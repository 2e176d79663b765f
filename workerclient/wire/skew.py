"""How far a cluster's clock is from ours, from the `Date` header of its answers.

The header has a resolution of one second and was written somewhere between our sending and our receiving. So each
answer gives an interval that holds the difference for certain: [date - received, date + 1 s - sent]. Recent intervals
are intersected, which narrows the estimate far below a second when answers fall on both sides of a tick. A clock that
was set makes old intervals contradict new ones; the old ones are then dropped.
Invariant: if neither clock was set within the window, the true difference lies within the estimate's uncertainty.
"""

from collections import deque
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

from config.api.meta import NANOSECONDS

_UNBOUNDED_NS: Final = 1 << 63
_WINDOW: Final = 32


@dataclass(frozen=True, slots=True)
class Skew:
    """The cluster's clock minus ours."""

    seconds: float
    uncertainty_seconds: float


class SkewEstimator:
    """Collects the `Date` headers of one cluster."""

    def __init__(self) -> None:
        self._intervals: deque[tuple[int, int]] = deque(maxlen=_WINDOW)
        self._low, self._high = -_UNBOUNDED_NS, _UNBOUNDED_NS
        self._parsed: tuple[str, int | None] = ("", None)

    def estimate(self) -> Skew | None:
        """Return the difference as far as known, or None before the first usable answer."""
        if not self._intervals:
            return None
        return Skew((self._low + self._high) / 2 / NANOSECONDS, (self._high - self._low) / 2 / NANOSECONDS)

    def observe(self, date: str, sent_ns: int, received_ns: int) -> None:
        """Take the header of one answer into account; a header that is not a date is ignored."""
        server_ns = self._parse(date)
        if server_ns is None or received_ns < sent_ns:
            return
        low, high = server_ns - received_ns, server_ns + NANOSECONDS - sent_ns
        if low <= self._low and high >= self._high:
            return  # says nothing new, like most answers within one second
        self._intervals.append((low, high))
        self._intersect()
        while self._low > self._high:
            self._intervals.popleft()
            self._intersect()

    def _intersect(self) -> None:
        self._low = max(low for low, _ in self._intervals)
        self._high = min(high for _, high in self._intervals)

    def _parse(self, date: str) -> int | None:
        if self._parsed[0] != date:
            self._parsed = (date, _epoch_ns(date))
        return self._parsed[1]


def _epoch_ns(date: str) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp()) * NANOSECONDS
    except (ArithmeticError, LookupError, OSError, TypeError, ValueError):
        return None
