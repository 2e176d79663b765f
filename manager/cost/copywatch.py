"""Finds out whether a cluster's Kueue copies costs from Jobs to Workloads, by watching whether it does.

Kueue says nowhere which KEPs it knows. So a difference between a Job and its Workload is given a moment: if another
writer ends it, Kueue copies; if it stays, Kueue does not, and then takes no account of costs either.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PATIENCE_SECONDS: Final = 10.0


class Attitude(StrEnum):
    """What a cluster's Kueue does with costs."""

    UNKNOWN = "unknown"
    COPIES = "copied"
    IGNORES = "ignored-by-worker"


@dataclass(frozen=True, slots=True)
class _Difference:
    wanted: str | None
    since: float


class CopyWatch:
    """What was seen on one cluster."""

    def __init__(self) -> None:
        self.attitude = Attitude.UNKNOWN
        self._differences: dict[str, _Difference] = {}

    def observe(self, uid: str, wanted: str | None, *, is_there: bool, now: float) -> float:
        """Note a Job with this cost; return in how many seconds to check again, 0 for never."""
        known = self._differences.get(uid)
        if is_there:
            if known is not None and known.wanted == wanted:
                self.attitude = Attitude.COPIES
            self._differences.pop(uid, None)
            return 0.0
        if known is None or known.wanted != wanted:
            known = self._differences[uid] = _Difference(wanted, now)
        rest = known.since + PATIENCE_SECONDS - now
        if rest <= 0:
            self.attitude = Attitude.IGNORES
            return 0.0
        return rest

    def forget(self, uid: str) -> None:
        """Forget a Job: it is gone, or this controller copied its cost."""
        self._differences.pop(uid, None)
