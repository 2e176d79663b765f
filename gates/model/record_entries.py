"""How the entries of a record write moments: for people, and exactly."""

from collections.abc import Mapping
from typing import Any

from config.api.meta import format_time


def moment_entry(name: str, moment_ns: int | None) -> dict[str, str]:
    """Return the fields of a moment; none for one that has not come."""
    if moment_ns is None:
        return {}
    return {name: format_time(moment_ns), _exact(name): str(moment_ns)}


def read_moment(entry: Mapping[str, Any], name: str) -> int | None:
    """Return a moment in nanoseconds; None when there is none. Raises what odd shapes raise."""
    written = entry.get(_exact(name))
    return int(written) if written is not None else None


def _exact(name: str) -> str:
    return f"{name}UnixNano"
