"""Small checks of raw fields, each yielding FieldErrors that name the path and what is allowed there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.api.quantity import QuantityError, parse_quantity
from engine.errors import FieldError

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


def check_integer(block: Mapping[str, Any], key: str, path: str, allowed: range = INT32) -> Iterator[FieldError]:
    """Refuse what is not a whole number in the range."""
    value = block.get(key)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value in allowed):
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
    resources = block.get(key)
    if resources is None:
        return
    if not isinstance(resources, Mapping):
        yield FieldError(f"{path}.{key}", f"{resources!r} is not allowed: must be a map of resource name to quantity")
        return
    for name, value in resources.items():
        yield from check_amount(value, f"{path}.{key}[{name}]")


def mapping_at(block: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any]:
    """Return a nested map, empty when absent; raise FieldError for anything else."""
    value = block.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise FieldError(f"{path}.{key}" if path else key, f"{value!r} is not allowed: must be a map")
    return value


def entries_at(block: Mapping[str, Any], key: str, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the maps of a list with their paths; raise FieldError for anything else."""
    value = block.get(key)
    if value is None:
        return
    here = f"{path}.{key}"
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise FieldError(here, f"{value!r} is not allowed: must be a list")
    for index, entry in enumerate(value):
        if not isinstance(entry, Mapping):
            raise FieldError(f"{here}[{index}]", f"{entry!r} is not allowed: must be a map")
        yield f"{here}[{index}]", entry
