"""Label and field selectors: parsed once per request into a predicate over objects.

Sentences of refusal follow the API server's. An empty selector matches everything and costs nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, bad_request, quoted
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.names import explain_label_key, explain_label_value
from localcluster.kinds.traits import is_builtin


class Operator(StrEnum):
    """How a label is compared."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = "gt"
    LESS = "lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the labels satisfy the condition; an absent label is not in any set."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)
            case _:
                assert_never(self.operator)

    def _compares(self, value: str | None) -> bool:
        try:
            left, right = int(value or ""), int(next(iter(self.values)))
        except ValueError:
            return False
        return left > right if self.operator is Operator.GREATER else left < right


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on one selectable field."""

    path: str
    value: str
    equal: bool
    read: Callable[[Obj], str]

    def matches(self, obj: Obj) -> bool:
        """Return whether the object satisfies the condition."""
        return (self.read(obj) == self.value) is self.equal


@dataclass(frozen=True, slots=True)
class Selector:
    """All conditions of a request."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    def __bool__(self) -> bool:
        """Return whether there is anything to check."""
        return bool(self.labels or self.fields)

    def matches(self, obj: Obj) -> bool:
        """Return whether the object satisfies every condition."""
        if self.labels:
            labels = obj["metadata"].get("labels") or {}
            if not all(requirement.matches(labels) for requirement in self.labels):
                return False
        return all(requirement.matches(obj) for requirement in self.fields)

    def exact_name(self) -> str | None:
        """Return the only name that can match, when the selector says so."""
        for requirement in self.fields:
            if requirement.path == "metadata.name" and requirement.equal:
                return requirement.value
        return None


EVERYTHING = Selector()

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|\(|\)|,|>|<)|([^\s=!(),<>]+))")


class _Tokens:
    """The words and symbols of a label selector; the empty word is the end."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while match := _TOKEN.match(text, at):
            self._tokens.append(match.group(1) or match.group(2))
            at = match.end()
        self._next = 0

    def peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self._next += 1
        return token


_SIGNS = frozenset({"==", "!=", "=", "!", "(", ")", ",", ">", "<", ""})


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Return the conditions of a label selector."""
    if not text.strip():
        return ()
    tokens = _Tokens(text)
    found = []
    while True:
        found.append(_parse_requirement(tokens))
        sign = tokens.take()
        if sign == "":
            return tuple(found)
        if sign != ",":
            raise _unparsable(f"found {_shown(sign)}, expected: ',' or 'end of string'")
        if tokens.peek() == "":
            raise _unparsable("found '', expected: identifier after ','")


def _parse_requirement(tokens: _Tokens) -> Requirement:
    absent = tokens.peek() == "!"
    if absent:
        tokens.take()
    key = tokens.take()
    if key in _SIGNS:
        raise _unparsable(f"found {_shown(key)}, expected: !, identifier, or 'end of string'")
    if problems := explain_label_key(key):
        raise _unparsable(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(problems)}")
    if absent:
        return Requirement(key, Operator.DOES_NOT_EXIST)
    sign = tokens.peek()
    if sign in ("", ","):
        return Requirement(key, Operator.EXISTS)
    tokens.take()
    match sign:
        case "=" | "==":
            return Requirement(key, Operator.IN, frozenset({_parse_value(key, tokens)}))
        case "!=":
            return Requirement(key, Operator.NOT_IN, frozenset({_parse_value(key, tokens)}))
        case "in" | "notin":
            operator = Operator.IN if sign == "in" else Operator.NOT_IN
            return Requirement(key, operator, frozenset(_parse_values(key, tokens)))
        case ">" | "<":
            return _parse_comparison(key, sign, tokens)
        case _:
            raise _unparsable(f"found {_shown(sign)}, expected: in, notin, =, ==, !=, gt, lt")


def _parse_value(key: str, tokens: _Tokens) -> str:
    if tokens.peek() in ("", ","):
        return ""
    value = tokens.take()
    if value in _SIGNS:
        raise _unparsable(f"found {_shown(value)}, expected: identifier")
    return _checked_value(key, value)


def _parse_values(key: str, tokens: _Tokens) -> Iterator[str]:
    if tokens.peek() != "(":
        raise _unparsable(f"found {_shown(tokens.peek())} expected: '('")
    tokens.take()
    while True:
        if tokens.peek() in (",", ")"):
            yield ""
        else:
            value = tokens.take()
            if value in _SIGNS:
                raise _unparsable(f"found {_shown(value)}, expected: ',', ')' or identifier")
            yield _checked_value(key, value)
        sign = tokens.take()
        if sign == ")":
            return
        if sign != ",":
            raise _unparsable(f"found {_shown(sign)}, expected: ',' or ')'")


def _parse_comparison(key: str, sign: str, tokens: _Tokens) -> Requirement:
    value = _parse_value(key, tokens)
    if not re.fullmatch(r"[+-]?\d+", value):
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        raise _unparsable(f"values[0]: Invalid value: {quoted(value)}: {why}")
    return Requirement(key, Operator.GREATER if sign == ">" else Operator.LESS, frozenset({value}))


def _checked_value(key: str, value: str) -> str:
    if problems := explain_label_value(value):
        raise _unparsable(f"values[0][{key}]: Invalid value: {quoted(value)}: {'; '.join(problems)}")
    return value


def _shown(token: str) -> str:
    return f"'{token}'"


def _unparsable(why: str) -> ApiError:
    return bad_request(f"unable to parse requirement: {why}")


def parse_fields(kind: ServedKind, text: str) -> tuple[FieldRequirement, ...]:
    """Return the conditions of a field selector on a kind."""
    found = []
    for term in _split_terms(text):
        for sign, equal in (("!=", False), ("==", True), ("=", True)):
            path, separator, value = term.partition(sign)
            if separator:
                found.append(FieldRequirement(path, _unescaped(value), equal, _reader(kind, path)))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    return tuple(found)


def _split_terms(text: str) -> list[str]:
    return [term for term in re.split(r"(?<!\\),", text) if term]


def _unescaped(value: str) -> str:
    return re.sub(r"\\([,=\\])", r"\1", value)


def _reader(kind: ServedKind, path: str) -> Callable[[Obj], str]:
    if path == "metadata.name":
        return lambda obj: str(obj["metadata"].get("name", ""))
    if path == "metadata.namespace":
        return lambda obj: str(obj["metadata"].get("namespace", ""))
    reader = (kind.selectable_fields or {}).get(path)
    if reader is None:
        raise bad_request(_unsupported_field(kind, path))
    return reader


def _unsupported_field(kind: ServedKind, path: str) -> str:
    if not is_builtin(kind) or kind.group == "":
        return f"field label not supported: {path}"
    if kind.group == "batch":
        return f'field label "{path}" not supported for {kind.kind}'
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'
