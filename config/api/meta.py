"""What every Kubernetes object carries: keys, times, conditions, label selectors.

Raw JSON comes in, frozen values go out. Times are integer nanoseconds since the epoch, so that comparing them is exact
and cheap; a time that is absent is Go's zero time, as it is for Kueue.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from config.api.selectors import SelectorError, matches_selector

__all__ = [
    "NANOSECONDS",
    "ZERO_TIME_NS",
    "Condition",
    "ObjectKey",
    "SelectorError",
    "conditions",
    "format_time",
    "is_true",
    "matches_selector",
    "object_key",
    "parse_time",
]

Raw = Mapping[str, Any]
"""A decoded object that is only read."""
Obj = dict[str, Any]
"""A decoded object that is being made or changed."""

NANOSECONDS: Final = 1_000_000_000
"""In a second."""
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
ZERO_TIME_NS: Final = (1 - _EPOCH_ORDINAL) * 86_400 * NANOSECONDS
"""0001-01-01T00:00:00Z: what an absent timestamp decodes to."""

_LAST_SECOND: Final = (date.max.toordinal() + 1 - _EPOCH_ORDINAL) * 86_400 - 1
"""9999-12-31T23:59:59Z: the last that can be written."""

_LONGEST_TIME: Final = 64
"""In characters; nothing longer is kept for the next time that it comes."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TRANSITION: Final = "lastTransitionTime"
_LARGEST_GENERATION: Final = (1 << 63) - 1
_WHOLE_SECOND_UTC: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII
)


class ObjectKey(NamedTuple):
    """Namespace and name; the namespace of a cluster-scoped object is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """Write the key as kubectl and Kueue's logs do."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def object_key(raw: Mapping[str, Any]) -> ObjectKey:
    """Return the key of a raw object."""
    metadata = raw.get("metadata") or {}
    return ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")


def not_a_time(text: str) -> str:
    """Say that a string is not in the form of Kubernetes' times."""
    return f"{text!r} is not a time: must be RFC 3339 such as 2026-08-01T12:00:00Z"


@lru_cache(maxsize=1 << 16)  # most conditions of most objects carry a time that was just read elsewhere
def parse_time(text: str) -> int:
    """Return nanoseconds since the epoch of an RFC 3339 time of the years 1 to 9999."""
    if len(text) > _LONGEST_TIME:
        raise ValueError(f"{text[:_LONGEST_TIME]!r}... is not a time: must be RFC 3339 such as 2026-08-01T12:00:00Z")
    if _WHOLE_SECOND_UTC.fullmatch(text):
        try:
            since = datetime.fromisoformat(text) - _EPOCH  # ten times faster than the general way
        except ValueError as error:
            raise ValueError(f"{text!r} is not a time: {error}") from None
        return (since.days * 86_400 + since.seconds) * NANOSECONDS
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(not_a_time(text))
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    offset_hours, offset_minutes = int(match.group(9) or 0), int(match.group(10) or 0)
    try:
        days = date(year, month, day).toordinal() - _EPOCH_ORDINAL
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None
    if hour > 23 or minute > 59 or second > 59 or offset_hours > 23 or offset_minutes > 59:
        raise ValueError(f"{text!r} is not a time: hour, minute, second or offset is out of range")
    offset = (offset_hours * 60 + offset_minutes) * (60 if match.group(8) != "-" else -60)
    seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
    if not ZERO_TIME_NS // NANOSECONDS <= seconds <= _LAST_SECOND:
        raise ValueError(f"{text!r} is not a time: must be of the years 1 to 9999")
    return seconds * NANOSECONDS + int((match.group(7) or "")[:9].ljust(9, "0"))


def format_time(ns: int) -> str:
    """Write a time as Kubernetes stores it: UTC, whole seconds, the fraction cut off.

    A time that no object can state, which adding a difference between two clocks may lead to, is written as the first
    or the last that one can.
    """
    return _format_second(min(max(ns // NANOSECONDS, ZERO_TIME_NS // NANOSECONDS), _LAST_SECOND))


@lru_cache(maxsize=64)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def format_microtime(ns: int) -> str:
    """Write a time with microseconds, as Leases hold it."""
    return f"{format_time(ns)[:-1]}.{ns % NANOSECONDS // 1000:06d}Z"


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of `status.conditions`."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_ns: int = ZERO_TIME_NS
    observed_generation: int = 0

    @property
    def is_true(self) -> bool:
        """Return whether the condition holds; Unknown and False are alike here."""
        return self.status == "True"


def conditions(raw: Mapping[str, Any]) -> dict[str, Condition]:
    """Return the conditions of a raw object, or of its raw status, by type; raises ValueError for odd ones."""
    status = raw.get("status")
    source = status if isinstance(status, Mapping) else raw
    entries = source.get("conditions")
    if entries is None:
        return {}
    if not isinstance(entries, list | tuple):
        raise ValueError("status.conditions must be a list")
    found = (_condition(entry, f"status.conditions[{index}]") for index, entry in enumerate(entries))
    return {condition.type: condition for condition in found}


def _condition(entry: object, place: str) -> Condition:
    if not isinstance(entry, Mapping):
        raise ValueError(f"{place} must be a map")
    type_, generation = entry.get("type"), entry.get("observedGeneration") or 0
    status, transition = entry.get("status") or "Unknown", entry.get("lastTransitionTime") or ""
    reason, message = entry.get("reason") or "", entry.get("message") or ""
    if not isinstance(type_, str) or not type_:
        raise ValueError(f"{place}.type must be a non-empty string")
    for name, value in (("status", status), ("reason", reason), ("message", message), (_TRANSITION, transition)):
        if not isinstance(value, str):
            raise ValueError(f"{place}.{name} must be a string")
    if not isinstance(generation, int) or isinstance(generation, bool) or not 0 <= generation <= _LARGEST_GENERATION:
        raise ValueError(f"{place}.observedGeneration must be a whole number from 0 to {_LARGEST_GENERATION}")
    try:
        since_ns = parse_time(transition) if transition else ZERO_TIME_NS
    except ValueError as error:
        raise ValueError(f"{place}.{_TRANSITION}: {error}") from None
    return Condition(type_, status, reason, message, since_ns, generation)


def is_true(conds: Mapping[str, Condition], condition_type: str) -> bool:
    """Return whether the condition of this type is present with status True."""
    condition = conds.get(condition_type)
    return condition is not None and condition.status == "True"
