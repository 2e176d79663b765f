"""Decisions and all that they depend on, as plain JSON and back, exactly.

The types of this package describe themselves, so they are written field by field and read back by the type of each
field; where one of several classes may stand, its name goes along. A field that has its default is left out, and one
that is not known is refused: silence about it could change a decision. Invariant: what is read equals what was written.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

FORMAT: Final = 1
"""Grows with every change after which an older program could misread a recording."""

_CLASS: Final = "is"


class RecordingError(ValueError):
    """A recording that cannot be read; the message is one sentence."""


def to_plain(value: object) -> Any:
    """Return a value of this package as JSON knows it."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain_fields(value)
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, frozenset):
        return sorted(to_plain(entry) for entry in value)
    if isinstance(value, tuple | list):
        return [to_plain(entry) for entry in value]
    if value is None or isinstance(value, str | int | bool):
        return value
    raise TypeError(f"{type(value).__name__} cannot be recorded")


def from_plain(kind: Any, plain: Any) -> Any:
    """Return the value of a type of this package that was written as this."""
    try:
        return _read(kind, plain)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError(f"the recording does not hold a {_name(kind)}: {error}") from error


def _plain_fields(value: Any) -> dict[str, Any]:
    hints: dict[str, Any] = _hints(value.__class__)
    plain = {}
    for field in fields(value):
        entry = getattr(value, field.name)
        if field.default is not MISSING and entry == field.default:
            continue
        plain[field.name] = _tagged(entry, hints[field.name])
    return plain


def _tagged(value: object, kind: Any) -> Any:
    """Name the class where the type of the field leaves it open."""
    if isinstance(value, tuple) and (args := get_args(kind)) and len(args) == 2 and args[1] is Ellipsis:
        return [_tagged(entry, args[0]) for entry in value]
    plain = to_plain(value)
    if is_dataclass(value) and len(_classes(kind)) > 1:
        return {_CLASS: type(value).__name__, **plain}
    return plain


def _read(kind: Any, plain: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_one_of(kind, plain)
    if origin is tuple:
        return _read_tuple(get_args(kind), plain)
    if origin is frozenset:
        return frozenset(_read(get_args(kind)[0], entry) for entry in _expect(list, plain))
    if origin is not None and issubclass(origin, Mapping):
        return {key: _read(get_args(kind)[1], entry) for key, entry in _expect(dict, plain).items()}
    if is_dataclass(kind):
        return _read_fields(kind, _expect(dict, plain))
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(plain)
    return _expect(kind, plain)


def _read_one_of(kind: Any, plain: Any) -> Any:
    members = get_args(kind)
    if plain is None and NoneType in members:
        return None
    classes = _classes(kind)
    if len(classes) > 1:
        found = next((each for each in classes if each.__name__ == plain.get(_CLASS)), None)
        if found is None:
            raise RecordingError(f"the recording holds a {plain.get(_CLASS)!r}, which this version does not know")
        return _read_fields(found, {key: entry for key, entry in plain.items() if key != _CLASS})
    (member,) = (each for each in members if each is not NoneType)
    return _read(member, plain)


def _read_tuple(args: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:
    entries = _expect(list, plain)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_read(args[0], entry) for entry in entries)
    return tuple(_read(kind, entry) for kind, entry in zip(args, entries, strict=True))


def _read_fields(kind: Any, plain: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    unknown = sorted(plain.keys() - hints.keys())
    if unknown:
        raise RecordingError(
            f"the recording gives a {kind.__name__} a {unknown[0]!r}, which this version does not know"
        )
    return kind(**{name: _read(hints[name], entry) for name, entry in plain.items()})


def _expect(kind: type, plain: Any) -> Any:
    if not isinstance(plain, kind) or (kind is int and isinstance(plain, bool)):
        raise RecordingError(f"the recording holds {plain!r} where {_name(kind)} belongs")
    return plain


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _classes(kind: Any) -> list[Any]:
    """Return the classes that a type allows, where it allows several."""
    return [each for each in get_args(kind) if is_dataclass(each)] if get_origin(kind) in (Union, UnionType) else []


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
