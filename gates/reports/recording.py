"""Decisions and all that they depend on, as JSON and back, exactly.

The types of this package describe themselves, so they are written field by field and read back by the type of each
field; where one of several classes may stand, its name goes along. A field that is missing has its default, and one
that is not known is refused: silence about it could change a decision. A field whose metadata say what it was
`formerly` called is also read by that name. Invariant: what is read equals what was written.
"""

import json
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, NewType, NoReturn, Union, get_args, get_origin, get_type_hints

import orjson

FORMAT: Final = 1
"""Grows with every change after which an older program could misread a recording."""

_CLASS: Final = "is"
_LARGEST: Final = 2**256
"""Beyond every time in nanoseconds and every quantity; what is larger would only be slow to work with."""


class RecordingError(ValueError):
    """A recording that cannot be read; the message is one sentence."""


def dumps(value: object) -> bytes:
    """Write a value of this package; raises `RecordingError` for what none of its types holds."""
    tagged = _tagged(value, type(value))
    try:
        return orjson.dumps(tagged, default=_plain)
    except TypeError:  # a number beyond 64 bits, such as the time that an absent timestamp stands for
        return _dumps_any_number(tagged)


def loads(kind: Any, text: bytes) -> Any:
    """Read a value of that type; raises `RecordingError`."""
    try:
        return _read(kind, json.loads(text, parse_constant=_refuse_constant))  # orjson would round large numbers
    except RecordingError:
        raise
    except RecursionError:
        raise RecordingError(f"the recording does not hold a {_name(kind)}: it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise RecordingError(f"the recording does not hold a {_name(kind)}: {error}") from error


def _dumps_any_number(value: Any) -> bytes:
    try:
        text = json.dumps(value, default=_plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except RecordingError:
        raise
    except ValueError as error:
        raise RecordingError(f"it cannot be recorded: {error}") from error


def _tagged(value: Any, kind: Any) -> Any:
    """Name the class where the type of a field leaves it open; what holds no such field is written by the library."""
    if not _leaves_open(kind):
        return value
    if isinstance(value, tuple):
        return [_tagged(entry, get_args(kind)[0]) for entry in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    plain = {name: _tagged(getattr(value, name), hint) for name, hint in _hints(type(value)).items()}
    return {_CLASS: type(value).__name__, **plain} if len(_classes(kind)) > 1 else plain


def _plain(value: object) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise RecordingError(f"a {type(value).__name__} cannot be recorded")


def _read(kind: Any, plain: Any) -> Any:
    if isinstance(kind, NewType):
        return _read(kind.__supertype__, plain)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _read_one_of(kind, plain)
    if origin is tuple:
        return _read_tuple(get_args(kind), plain)
    if origin is frozenset:
        return frozenset(_read(get_args(kind)[0], entry) for entry in _expect(list, plain))
    if origin is not None and issubclass(origin, Mapping):
        found = _expect(dict, plain).items()
        return {_expect(str, key): _read(get_args(kind)[1], entry) for key, entry in found}
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
            name = reprlib.repr(plain.get(_CLASS))
            raise RecordingError(f"the recording holds a {name}, which this version does not know")
        return _read_fields(found, {key: entry for key, entry in plain.items() if key != _CLASS})
    (member,) = (each for each in members if each is not NoneType)
    return _read(member, plain)


def _read_tuple(args: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:
    entries = _expect(list, plain)
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_read(args[0], entry) for entry in entries)
    return tuple(_read(kind, entry) for kind, entry in zip(args, entries, strict=True))


def _read_fields(kind: Any, plain: Mapping[str, Any]) -> Any:
    hints, former = _hints(kind), _former_names(kind)
    plain = {former.get(name, name): entry for name, entry in plain.items()}
    unknown = sorted(plain.keys() - hints.keys())
    if unknown:
        raise RecordingError(
            f"{kind.__name__} in the recording has a field {reprlib.repr(unknown[0])}, which this version does not know"
        )
    return kind(**{name: _read(hints[name], entry) for name, entry in plain.items()})


def _expect(kind: type, plain: Any) -> Any:
    if not isinstance(plain, kind) or (kind is int and isinstance(plain, bool)):
        raise RecordingError(f"the recording holds {reprlib.repr(plain)} where {_name(kind)} is expected")
    if isinstance(plain, str) and not plain.isascii():
        plain.encode()  # half of a surrogate pair is not valid text: it cannot be printed
    if isinstance(plain, int) and abs(plain) > _LARGEST:
        raise RecordingError(f"the recording holds a number of {plain.bit_length()} bits")
    return plain


def _refuse_constant(name: str) -> NoReturn:
    raise RecordingError(f"the recording holds {name}, which is not a number")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.init}


@cache
def _former_names(kind: Any) -> dict[str, str]:
    return {field.metadata["formerly"]: field.name for field in fields(kind) if "formerly" in field.metadata}


@cache
def _leaves_open(kind: Any) -> bool:
    """Return whether a value of this type holds one of several classes, or something derived, somewhere."""
    if len(_classes(kind)) > 1:
        return True
    inner: Iterable[Any] = get_args(kind)
    if is_dataclass(kind):
        described: Any = kind
        if any(not field.init for field in fields(described)):
            return True
        inner = _hints(described).values()
    return any(_leaves_open(each) for each in inner if each is not Ellipsis)


@cache
def _classes(kind: Any) -> list[Any]:
    """Return the classes that a type allows, where it allows several."""
    return [each for each in get_args(kind) if is_dataclass(each)] if get_origin(kind) in (Union, UnionType) else []


def _name(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
