"""Keeps what repeats from filling the log: the same warning once a minute, and no event more often than that says.

Other lines say what happened, each time; only one that repeats without end is left out beyond so many a minute. What
is left out is counted, and the next line of its sort that is written says how many were.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

import structlog

WINDOW_SECONDS: Final = 60.0
MOST_PER_EVENT: Final = 200
"""How many lines of one event are written in one window, however different they are."""
MOST_ALIKE: Final = 30
"""How many equal lines that are no warnings are written in one window."""
_REMEMBERED: Final = 2048
_LIMITED: Final = frozenset({"warning", "error", "critical"})
_PASSING: Final = frozenset({"cause", "timestamp", "failures", "exc_info", "exception", "retry_seconds"})
"""What may differ between two lines that say the same."""


@dataclass(slots=True)
class _Seen:
    began: float
    written: int = 0
    left_out: int = 0


class Repetition:
    """A structlog processor; usable from several threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._seen: OrderedDict[Hashable, _Seen] = OrderedDict()
        self._repeated_lines: OrderedDict[Hashable, _Seen] = OrderedDict()
        """The same for lines that are no warnings; apart, because there are many more of them."""
        self._lock = Lock()
        self.suppressed = 0
        """How many lines were left out so far."""

    def __call__(self, _logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        """Let a line pass, or leave it out."""
        is_limited = event.get("level") in _LIMITED
        with self._lock:
            now = self._monotonic()
            name = str(event.get("event"))
            said = tuple(sorted((key, repr(value)) for key, value in event.items() if key not in _PASSING))
            if is_limited:
                repeated = self._pass(self._seen, ("line", said), 1, now)
                crowded = None if repeated is None else self._pass(self._seen, ("event", name), MOST_PER_EVENT, now)
            else:
                repeated, crowded = self._pass(self._repeated_lines, said, MOST_ALIKE, now), 0
            if repeated is None or crowded is None:
                self.suppressed += 1
                raise structlog.DropEvent
        if repeated:
            event["repeated"] = repeated
        if crowded:
            event["left_out"] = crowded
        return event

    @staticmethod
    def _pass(known: OrderedDict[Hashable, _Seen], what: Hashable, most: int, now: float) -> int | None:
        """Return how many were left out since the last one that passed; None if this one is to be left out too."""
        seen = known.get(what)
        left_out = 0
        if seen is None or now - seen.began >= WINDOW_SECONDS:
            left_out = seen.left_out if seen is not None else 0
            seen = known[what] = _Seen(now)
        known.move_to_end(what)
        if seen.written >= most:
            seen.left_out += 1
            return None
        seen.written += 1
        while len(known) > _REMEMBERED:
            known.popitem(last=False)
        return left_out
