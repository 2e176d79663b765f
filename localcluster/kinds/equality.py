"""Whether two values mean the same to the API: an empty object or list is no different from an absent one."""

from typing import Any


def is_same(one: Any, other: Any) -> bool:
    """Compare what two values say, not how they were written down."""
    return bool(one == other or _compact(one) == _compact(other))


def _compact(value: Any) -> Any:
    if isinstance(value, dict):
        compacted = {key: _compact(child) for key, child in value.items()}
        return {key: child for key, child in compacted.items() if child not in ({}, [], None)}
    if isinstance(value, list):
        return [_compact(child) for child in value]
    return value
