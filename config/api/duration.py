"""Go durations such as `1h30m`, as Kubernetes objects carry them; exact, in nanoseconds."""

import re
from fractions import Fraction
from typing import Final

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MAX: Final = 2**63 - 1
_MAX_LENGTH: Final = 256


def parse_duration(text: object) -> int:
    """Return the nanoseconds of a Go duration; raise ValueError with what is allowed."""
    if not isinstance(text, str) or len(text) > _MAX_LENGTH:
        raise ValueError(f"{text!r} is not a duration: must be text such as 90s or 1h30m")
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    total, end = 0, 0
    for part in _PART.finditer(unsigned):
        if part.start() != end:
            break
        end = part.end()
        total += int(Fraction(part.group(1).rstrip(".")) * _UNITS[part.group(2)])
    if end != len(unsigned) or not unsigned:
        raise ValueError(f"{text!r} is not a duration: must be numbers with units ns, us, ms, s, m or h, such as 1h30m")
    if total > _MAX:
        raise ValueError(f"{text!r} is not a duration: longer than about 292 years")
    return -total if text.startswith("-") else total
