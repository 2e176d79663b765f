"""Reads fields of objects that a cluster sent: what is not as it must be is refused by the name of the field.

Every reader raises `UnusableFieldError` and nothing else for any JSON, so that one odd object is one sentence.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import orjson

from config.api.meta import Condition, Obj, conditions, parse_time

Given = ParamSpec("Given")
Value = TypeVar("Value")

ODD_SHAPES: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError)
"""What an object of unexpected structure can raise where a field is not read by its type."""
_LARGEST: Final = (1 << 63) - 1
_MOST_ITEMS: Final = 1000
"""In a list, unless its reader expects more: every item is read, and all of them in one piece."""
_MOST_CONDITIONS: Final = 100
_LONGEST_CONDITIONS: Final = 128 << 10
"""In characters: what conditions say goes into the journal with every decision."""
_SAMPLE: Final = 60
_CALLED: Final[Mapping[type, str]] = {dict: "a map", list: "a list", type(None): "missing"}


class UnusableFieldError(ValueError):
    """A field that cannot be used; the message names it and what is expected."""


def refusal(place: str, value: object, expected: str) -> UnusableFieldError:
    """Return the error about one field; of a foreign value no more is said than fits a line."""
    called = _CALLED.get(type(value))
    return UnusableFieldError(f"{place} is {called or repr(value)[:_SAMPLE]}: must be {expected}")


def block(raw: Mapping[str, Any], name: str, place: str) -> Obj:
    """Return a map, an empty one where it is left out."""
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refusal(_at(place, name), value, "a map")
    return value


def items(raw: Mapping[str, Any], name: str, place: str, most: int = _MOST_ITEMS) -> Iterator[tuple[str, Obj]]:
    """Return the maps of a list, each with its place."""
    for index, item in enumerate(_list(raw, name, place, most)):
        at = f"{_at(place, name)}[{index}]"
        if not isinstance(item, dict):
            raise refusal(at, item, "a map")
        yield at, item


def texts(raw: Mapping[str, Any], name: str, place: str) -> tuple[str, ...]:
    """Return a list of strings."""
    found = _list(raw, name, place)
    for index, item in enumerate(found):
        if not isinstance(item, str):
            raise refusal(f"{_at(place, name)}[{index}]", item, "a string")
    return tuple(found)


def text(raw: Mapping[str, Any], name: str, place: str) -> str:
    """Return a string, empty if it is omitted."""
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise refusal(_at(place, name), value, "a string")
    return value


def needed_text(raw: Mapping[str, Any], name: str, place: str) -> str:
    """Return a required, non-empty string."""
    value = raw.get(name)
    if not isinstance(value, str) or not value:
        raise refusal(_at(place, name), value, "a non-empty string")
    return value


def text_map(raw: Mapping[str, Any], name: str, place: str) -> dict[str, str]:
    """Return labels or annotations."""
    found = block(raw, name, place)
    for key, value in found.items():
        if not isinstance(value, str):
            raise refusal(f"{_at(place, name)}[{key[:_SAMPLE]!r}]", value, "a string")
    return found


def whole(raw: Mapping[str, Any], name: str, place: str, default: int = 0, largest: int = _LARGEST) -> int:
    """Return a number that is not negative."""
    value = raw.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= largest:
        raise refusal(_at(place, name), value, f"a whole number from 0 to {largest}")
    return value


def flag(raw: Mapping[str, Any], name: str, place: str) -> bool:
    """Return true or false, false where it is left out."""
    value = raw.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise refusal(_at(place, name), value, "true or false")
    return value


def time_ns(raw: Mapping[str, Any], name: str, place: str) -> int | None:
    """Return a time; None where it is left out."""
    value = text(raw, name, place)
    if not value:
        return None
    try:
        return parse_time(value)
    except ValueError:
        raise refusal(_at(place, name), value, "a time such as 2026-08-01T12:00:00Z") from None


def condition_map(status: Mapping[str, Any]) -> dict[str, Condition]:
    """Return the conditions of a status by type, in the order of their list."""
    listed = status.get("conditions")
    if isinstance(listed, list):
        _check_length(listed, "status.conditions", _MOST_CONDITIONS)
    try:
        found = conditions({"conditions": listed})
    except ValueError as error:
        raise UnusableFieldError(str(error)) from None
    if sum(len(each.type) + len(each.reason) + len(each.message) for each in found.values()) > _LONGEST_CONDITIONS:
        raise UnusableFieldError(f"status.conditions have more than {_LONGEST_CONDITIONS} characters")
    if len(found) != len(status.get("conditions") or ()):
        raise UnusableFieldError("status.conditions has a type twice: types must be unique")
    return found


def compact_json(value: object, place: str, *, is_sorted: bool = False) -> bytes:
    """Write a part of an object as JSON; sorted, equal parts are written alike."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if is_sorted else None)
    except TypeError as error:  # nested deeper than the library goes, or a number beyond 64 bits
        raise UnusableFieldError(f"{place} cannot be stored as JSON: {error}") from None


def refuses_odd_shapes(read: Callable[Given, Value]) -> Callable[Given, Value]:
    """Have a reader of whole objects raise `ValueError` alone, whatever it is given."""

    @wraps(read)
    def guarded(*args: Given.args, **kwargs: Given.kwargs) -> Value:
        try:
            return read(*args, **kwargs)
        except ODD_SHAPES as error:
            raise UnusableFieldError(f"it has an unexpected structure: {type(error).__name__}: {error}") from error

    return guarded


def _list(raw: Mapping[str, Any], name: str, place: str, most: int = _MOST_ITEMS) -> list[Any]:
    value = raw.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise refusal(_at(place, name), value, "a list")
    _check_length(value, _at(place, name), most)
    return value


def _check_length(value: list[Any], place: str, most: int) -> None:
    if len(value) > most:
        raise UnusableFieldError(f"{place} has {len(value)} items: must have at most {most}")


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
