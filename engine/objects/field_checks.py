"""Small checks of raw fields, each yielding FieldErrors that name the path and what is allowed there.

They read objects whose structure `engine.objects.shapes` has found in order.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.api.meta import parse_time
from config.api.quantity import QuantityError, parse_quantity
from engine.vocabulary.errors import FieldError

INT32 = range(-(2**31), 2**31)


def check_choice(
    block: Mapping[str, Any], key: str, path: str, allowed: Sequence[str], also_understood: Sequence[str] = ()
) -> Iterator[FieldError]:
    """Refuse a value outside a closed set; absent and null are the default's business.

    `also_understood` are values that no API server stores, though Kueue's scheduler knows what they mean.
    """
    value = block.get(key)
    if value is not None and value not in allowed and value not in also_understood:
        yield FieldError.not_allowed(f"{path}.{key}", value, allowed)


def require_choice(block: Mapping[str, Any], key: str, path: str, allowed: Sequence[str]) -> Iterator[FieldError]:
    """Refuse a value outside a closed set, and its absence."""
    if block.get(key) not in allowed:
        yield FieldError.not_allowed(f"{path}.{key}", block.get(key) or "", allowed)


def check_integer(block: Mapping[str, Any], key: str, path: str, allowed: range = INT32) -> Iterator[FieldError]:
    """Refuse what is not a whole number in the range; absent and null are the default's business."""
    if block.get(key) is not None:
        yield from require_integer(block, key, path, allowed)


def require_integer(block: Mapping[str, Any], key: str, path: str, allowed: range = INT32) -> Iterator[FieldError]:
    """Refuse what is not a whole number in the range, and its absence."""
    value = block.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and value in allowed:
        return
    lowest, highest = allowed.start, allowed.stop - 1
    yield FieldError(f"{path}.{key}", f"{value!r} is not allowed: must be a whole number from {lowest} to {highest}")


def check_boolean(block: Mapping[str, Any], key: str, path: str) -> Iterator[FieldError]:
    """Refuse what is not true or false."""
    value = block.get(key)
    if value is not None and not isinstance(value, bool):
        yield FieldError(f"{path}.{key}", f"{value!r} is not allowed: true, false")


def check_quantity(block: Mapping[str, Any], key: str, path: str) -> Iterator[FieldError]:
    """Refuse what is not a quantity, or is negative."""
    if block.get(key) is not None:
        yield from check_amount(block[key], f"{path}.{key}")


def check_amount(value: object, path: str) -> Iterator[FieldError]:
    """Refuse a value that is not a quantity of zero or more."""
    try:
        quantity = parse_quantity(value)
    except QuantityError as error:
        yield FieldError(path, str(error))
        return
    if quantity < 0:
        yield FieldError(path, f'"{value}" is not allowed: must be zero or more')


def check_resource_list(block: Mapping[str, Any], key: str, path: str) -> Iterator[FieldError]:
    """Check every entry of a map of resource to quantity."""
    for name, value in (block.get(key) or {}).items():
        yield from check_amount(value, f"{path}.{key}[{name}]")


def block_at(block: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a nested map, empty when absent."""
    return block.get(key) or {}


def entries_at(block: Mapping[str, Any], key: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the maps of a list with their paths."""
    for index, entry in enumerate(block.get(key) or ()):
        yield f"{path}.{key}[{index}]", entry


def require(block: Mapping[str, Any], key: str, path: str) -> Iterator[FieldError]:
    """Refuse a string that is absent or empty."""
    if not block.get(key):
        yield FieldError(f"{path}.{key}", "must be set")


def check_time(block: Mapping[str, Any], key: str, path: str) -> Iterator[FieldError]:
    """Refuse what is not an RFC 3339 time."""
    value = block.get(key)
    if value is None:
        return
    try:
        parse_time(value)
    except ValueError as error:
        yield FieldError(f"{path}.{key}", str(error))
