"""The time of one cluster: what it stamps on objects, and when its watches end.

Each cluster has a clock of its own, because real clusters disagree about the time. Nothing else in `localcluster` reads
the wall clock.
"""

import asyncio
import heapq
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Protocol


class Timer(Protocol):
    """A callback that is still to come."""

    def cancel(self) -> None:
        """Forget the callback."""


class ServerClock(Protocol):
    """The time that one local cluster stamps on its objects.

    It is not `workerclient.base.clock.Clock`, which measures waiting on this machine: clusters disagree about the date,
    so each has its own, as a `datetime`, with callbacks in place of coroutines.
    """

    def now(self) -> datetime:
        """Return the cluster's time, in UTC."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back once that many of the cluster's seconds have passed."""


class SkewedClock:
    """The machine's time, shifted by a skew that may be changed while the cluster runs."""

    def __init__(self, skew: timedelta = timedelta()) -> None:
        self.skew = skew

    def now(self) -> datetime:
        """Return the shifted time."""
        return datetime.now(UTC) + self.skew

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Use the running event loop: a skew moves the date, not the speed."""
        return asyncio.get_running_loop().call_later(seconds, callback)


class _Alarm:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualClock:
    """A clock that stands still until a test moves it; due callbacks run inside `advance`."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._order = count()
        self._alarms: list[tuple[datetime, int, _Alarm]] = []

    def now(self) -> datetime:
        """Return the time that was set."""
        return self._now

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Keep the callback until `advance` reaches it."""
        alarm = _Alarm(callback)
        heapq.heappush(self._alarms, (self._now + timedelta(seconds=seconds), next(self._order), alarm))
        return alarm

    def has_alarms(self) -> bool:
        """Return whether anybody waits for the time to pass."""
        return any(alarm.callback is not None for _, _, alarm in self._alarms)

    def advance(self, seconds: float) -> None:
        """Move the time forward, stopping at each callback that falls due on the way."""
        target = self._now + timedelta(seconds=seconds)
        while self._alarms and self._alarms[0][0] <= target:
            due, _, alarm = heapq.heappop(self._alarms)
            self._now = max(self._now, due)
            if alarm.callback is not None:
                alarm.callback()
        self._now = target


def rfc3339(moment: datetime) -> str:
    """Return the moment as Kubernetes writes `metav1.Time`: whole seconds, Z."""
    return moment.isoformat(timespec="seconds")[:19] + "Z"
