"""Durations as kubectl shows them: two units at most, coarser the longer they are."""

from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

_STEPS: Final = (
    # (below, unit, its letter, finer unit or 0, its letter)
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
)


def human_duration(seconds: float) -> str:
    """Return a duration such as 45s, 3m20s, 5h, 2d4h; a second ahead of time is clock skew, more is invalid."""
    if int(seconds) < -1:
        return "<invalid>"
    whole = max(0, int(seconds))
    for below, unit, letter, finer, finer_letter in _STEPS:
        if whole < below:
            rest = (whole % unit) // finer if finer else 0
            return f"{whole // unit}{letter}" + (f"{rest}{finer_letter}" if rest else "")
    return f"{whole // _YEAR}y"


def seconds_between(start: str, end: str) -> float:
    """Return the time between two RFC 3339 timestamps."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
