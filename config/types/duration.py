"""Durations as Go writes them: `5m`, `1h30m`, `1.5s`, `300ms`, `0`.

The grammar, the rounding of fractions and the limits are those of Go's `time.ParseDuration`, because Kubernetes users
copy such values between files. Invariant: parsing what `format_duration` or `go_string` printed gives the same back.
"""

import math
import re
from datetime import timedelta
from typing import Final

from config.api.meta import NANOSECONDS

PATTERN: Final = r"[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"

NOT_A_DURATION: Final = 'must be a number and a unit, such as "300ms", "30s", "5m" or "1h30m"'
_WHOLE: Final = re.compile(PATTERN)
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_MICROSECOND: Final = 1_000
_MILLISECOND: Final = 1_000_000
_SECOND: Final = NANOSECONDS
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_UNITS: Final = {
    "ns": 1,
    "us": _MICROSECOND,
    "µs": _MICROSECOND,  # U+00B5, the micro sign
    "μs": _MICROSECOND,  # U+03BC, the Greek letter
    "ms": _MILLISECOND,
    "s": _SECOND,
    "m": _MINUTE,
    "h": _HOUR,
}
_LIMIT: Final = 1 << 63
_MAX_LENGTH: Final = 128


class DurationError(ValueError):
    """A string that is not a duration, or one that is out of range."""


def parse_nanoseconds(text: str) -> int:
    """Return the nanoseconds that `text` stands for, exactly as Go would."""
    if len(text) > _MAX_LENGTH or not _WHOLE.fullmatch(text):
        raise DurationError(NOT_A_DURATION)
    negative = text.startswith("-")
    total = sum(_term_nanoseconds(*match.groups(default="")) for match in _TERM.finditer(text))
    if total > (_LIMIT if negative else _LIMIT - 1):
        raise DurationError("is out of range: at most about 292 years")
    return -total if negative else total


def parse_duration(text: str) -> timedelta:
    """Return the duration that `text` stands for; what a timedelta cannot hold is refused, never rounded."""
    nanoseconds = parse_nanoseconds(text)
    if nanoseconds % _MICROSECOND:
        raise DurationError("must not be finer than a microsecond")
    return timedelta(microseconds=nanoseconds // _MICROSECOND)


def nanoseconds_of(duration: timedelta) -> int:
    """Return the duration as Go's integer."""
    return duration // timedelta(microseconds=1) * _MICROSECOND


def go_string(nanoseconds: int) -> str:
    """Print the way Go's `Duration.String` does: `5m0s`, `1h30m0s`, `1.5s`, `0s`."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest < _SECOND:
        return sign + _below_a_second(rest)
    hours, rest = divmod(rest, _HOUR)
    minutes, rest = divmod(rest, _MINUTE)
    text = f"{_decimal(rest, _SECOND)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def format_duration(duration: timedelta) -> str:
    """Print canonically for people: Go's form without its trailing zero parts (`5m`, `1h`, `1h30m`)."""
    text = go_string(nanoseconds_of(duration))
    text = re.sub(r"(?<=m)0s$", "", text)
    return re.sub(r"(?<=h)0m$", "", text)


def _term_nanoseconds(whole: str, fraction: str, unit: str) -> int:
    scale = _UNITS[unit]
    nanoseconds = int(whole or "0") * scale
    if fraction:
        digits = _leading_digits(fraction)
        # Go computes a fraction in float64 and truncates: the same steps give the same nanoseconds for any input.
        nanoseconds += int(float(int(digits)) * (float(scale) / math.prod([10.0] * len(digits))))
    return nanoseconds


def _leading_digits(fraction: str) -> str:
    """Return the digits that fit Go's integer; the ones after those are too fine to matter and Go ignores them."""
    end = len(fraction)
    while int(fraction[:end]) > _LIMIT:
        end -= 1
    return fraction[:end]


def _below_a_second(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    if nanoseconds < _MICROSECOND:
        return f"{nanoseconds}ns"
    if nanoseconds < _MILLISECOND:
        return f"{_decimal(nanoseconds, _MICROSECOND)}µs"
    return f"{_decimal(nanoseconds, _MILLISECOND)}ms"


def _decimal(value: int, unit: int) -> str:
    whole, rest = divmod(value, unit)
    if not rest:
        return str(whole)
    digits = str(rest).rjust(len(str(unit)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
