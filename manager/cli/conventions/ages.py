"""How long ago something was, and in how long it will be, as people say it.

Ages refer to the time that came with the answer: the clock of this machine may be different.
"""

from config.api.meta import NANOSECONDS, parse_time


def age(moment: str, now: str) -> str:
    """Return how long ago a moment was, `-` if there is none."""
    return "-" if not moment else span((parse_time(now) - parse_time(moment)) // NANOSECONDS)


def until(moment: str, now: str) -> str:
    """Return in how long a moment will be, `-` if there is none, `over` if it was."""
    if not moment:
        return "-"
    seconds = (parse_time(moment) - parse_time(now)) // NANOSECONDS
    return f"in {span(seconds)}" if seconds > 0 else "over"


def left(moment: str, now: str) -> str:
    """Return how long it is until a moment, `0s` if it was or if there is none."""
    return "0s" if not moment else span((parse_time(moment) - parse_time(now)) // NANOSECONDS)


def span(seconds: int) -> str:
    """Write a length of time in its largest unit, with the next smaller one while that matters: 90s, 5m, 3h20m, 4d."""
    seconds = max(0, seconds)
    if seconds < 120:
        return f"{seconds}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"
