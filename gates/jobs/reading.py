"""Reads fields of a job that was written by hand: a malformed field is refused by its name."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from config.api.meta import Raw

LARGEST_COUNT: Final = 1_000_000
LARGEST_MANIFEST: Final = 1_000_000
"""In bytes of JSON; no API server takes much more."""


class ManifestFieldError(ValueError):
    """A field of a manifest that cannot be used; the message names it and what is allowed."""


def block_at(raw: Raw, *path: str) -> Raw:
    """Return a block, an empty one where it is left out."""
    found: Any = raw
    for index, step in enumerate(path):
        found = found.get(step)
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            raise ManifestFieldError(f"{'.'.join(path[: index + 1])} is not allowed: must be a map")
    return dict(found)


def needed_block_at(raw: Raw, *path: str) -> Raw:
    """Return a block that must be there."""
    found = block_at(raw, *path)
    if not found:
        raise ManifestFieldError(f"{'.'.join(path)} is missing: must be a map")
    return found


def items_at(raw: Raw, *path: str) -> Iterator[tuple[str, Raw]]:
    """Return the maps of a list, each with its place."""
    found = block_at(raw, *path[:-1]).get(path[-1])
    place = ".".join(path)
    if found is None:
        return
    if not isinstance(found, list):
        raise ManifestFieldError(f"{place} is not allowed: must be a list")
    for index, item in enumerate(found):
        if not isinstance(item, Mapping):
            raise ManifestFieldError(f"{place}[{index}] is not allowed: must be a map")
        yield f"{place}[{index}]", item


def count_at(raw: Raw, name: str, place: str, default: int) -> int:
    """Return a number of pods."""
    value = raw.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_COUNT:
        raise ManifestFieldError(f"{place}.{name} is {value!r}: must be a number from 0 to {LARGEST_COUNT}")
    return value


def text_at(raw: Raw, name: str, place: str) -> str:
    """Return a string, an empty one where it is left out."""
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ManifestFieldError(f"{place}.{name} is {value!r}: must be a string")
    return value
