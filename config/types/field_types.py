"""The types of settings: how each is parsed, described in words, described to editors, and printed back.

A type is part of a field's annotation (`Annotated[timedelta, GoDuration(...)]`), and pydantic leaves the parsing to it:
that is why every refusal can say what would have been allowed, and why no string is taken for a number by accident.
The one exception is `VariableText`, a string from an environment variable, which may stand for a number or a switch.
"""

import ipaddress
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from config.types import byte_size, duration, syntax

REFUSED = "refused"
"""The error type of every refusal by one of these types; its message says what is allowed."""


class VariableText(str):
    """A string that came from an environment variable."""

    __slots__ = ()


class RefusedError(ValueError):
    """The value is not one of the type's; `allowed` replaces the type's own words when there is more to say.

    `at` and `value` point into a value that is a mapping.
    """

    def __init__(self, allowed: str = "", at: str | None = None, value: object = None) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.inner = {} if at is None else {"at": at, "value": value}


class SettingType(ABC):
    """What pydantic asks of a type, answered from four simple methods."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What is allowed, as the end of a sentence."""

    @abstractmethod
    def parse(self, value: object) -> object:
        """Return the Python value, or raise RefusedError."""

    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """Describe the file's form to an editor."""

    def dump(self, value: Any) -> Any:
        """Return the file's form of a parsed value."""
        return value

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self._validate, serialization=core_schema.plain_serializer_function_ser_schema(self.dump)
        )

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return self.json_schema()

    def _validate(self, value: object) -> object:
        try:
            return self.parse(value)
        except RefusedError as refusal:
            context = {"allowed": refusal.allowed or self.words, **refusal.inner}
            raise PydanticCustomError(REFUSED, "{allowed}", context) from refusal


@dataclass(frozen=True, slots=True)
class GoDuration(SettingType):
    """A duration in Go's form, with a lower bound; zero may have a meaning of its own."""

    at_least: timedelta
    example: str
    zero_means: str = ""

    @property
    def words(self) -> str:
        or_zero = f', or "0" ({self.zero_means})' if self.zero_means else ""
        return (
            f'a duration of at least {duration.format_duration(self.at_least)} (for example "{self.example}"){or_zero}'
        )

    def parse(self, value: object) -> timedelta:
        parsed = self._parse_form(value)
        if parsed >= self.at_least or (self.zero_means and not parsed):
            return parsed
        raise RefusedError

    def _parse_form(self, value: object) -> timedelta:
        if isinstance(value, timedelta):
            return value
        if isinstance(value, int) and not isinstance(value, bool) and value == 0:
            return timedelta(0)
        if not isinstance(value, str):
            raise RefusedError
        try:
            return duration.parse_duration(value)
        except duration.DurationError as error:
            raise RefusedError(f"{self.words}; it {error}") from error

    def json_schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^{duration.PATTERN}$", "examples": [self.example]}
        return {"anyOf": [text, {"const": 0}]} if self.zero_means else text

    def dump(self, value: timedelta) -> str:
        return duration.format_duration(value)


@dataclass(frozen=True, slots=True)
class ByteSize(SettingType):
    """A number of bytes as a Kubernetes quantity."""

    at_least: int
    example: str

    @property
    def words(self) -> str:
        return f'a size of at least {byte_size.format_size(self.at_least)} (for example "{self.example}")'

    def parse(self, value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise RefusedError
        try:
            size = byte_size.parse_size(str(value))
        except ValueError as error:
            raise RefusedError from error
        if size < self.at_least:
            raise RefusedError
        return size

    def json_schema(self) -> dict[str, Any]:
        text = {"type": "string", "pattern": f"^{byte_size.PATTERN}$", "examples": [self.example]}
        return {"anyOf": [text, {"type": "integer", "minimum": self.at_least}]}

    def dump(self, value: int) -> str:
        return byte_size.format_size(value)


@dataclass(frozen=True, slots=True)
class Text(SettingType):
    """A string of a given form."""

    form: str
    pattern: str
    max_length: int = 253

    @property
    def words(self) -> str:
        return self.form

    def parse(self, value: object) -> str:
        if isinstance(value, str) and len(value) <= self.max_length and re.fullmatch(self.pattern, value):
            return str(value)
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^(?:{self.pattern})$", "maxLength": self.max_length}


@dataclass(frozen=True, slots=True)
class OneOf(SettingType):
    """One value of a closed set."""

    choices: type[StrEnum]

    @property
    def words(self) -> str:
        values = [choice.value for choice in self.choices]
        return values[0] if len(values) == 1 else f"one of {', '.join(values)}"

    def parse(self, value: object) -> StrEnum:
        if not isinstance(value, str):
            raise RefusedError
        try:
            return self.choices(str(value))
        except ValueError as error:
            meant = syntax.closest(value, [choice.value for choice in self.choices])
            raise RefusedError(f'{self.words}; did you mean "{meant}"?' if meant else "") from error

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": [choice.value for choice in self.choices]}

    def dump(self, value: StrEnum) -> str:
        return value.value


@dataclass(frozen=True, slots=True)
class WholeNumber(SettingType):
    """An integer in a range."""

    at_least: int
    at_most: int

    @property
    def words(self) -> str:
        return f"a whole number from {self.at_least} to {self.at_most}"

    def parse(self, value: object) -> int:
        if isinstance(value, VariableText) and re.fullmatch(r"[+-]?[0-9]{1,18}", value):
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and self.at_least <= value <= self.at_most:
            return value
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": self.at_least, "maximum": self.at_most}


@dataclass(frozen=True, slots=True)
class Number(SettingType):
    """A number in a range, with or without decimals; it is kept as it is written."""

    at_least: int
    at_most: int

    @property
    def words(self) -> str:
        return f"a number from {self.at_least} to {self.at_most}"

    def parse(self, value: object) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(value, int | float) and is_number and self.at_least <= value <= self.at_most:
            return value  # NaN is in no range
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "number", "minimum": self.at_least, "maximum": self.at_most}


class Switch(SettingType):
    """True or false."""

    words = "true or false"
    _VARIABLE: ClassVar[Mapping[str, bool]] = {"true": True, "false": False}

    def parse(self, value: object) -> bool:
        if isinstance(value, VariableText):
            value = self._VARIABLE.get(value.lower())
        if isinstance(value, bool):
            return value
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class AbsolutePath(SettingType):
    """A path that means the same wherever the daemon was started."""

    words = 'an absolute path without ".." (for example "/etc/turnstile/kubeconfig")'

    def parse(self, value: object) -> Path:
        if isinstance(value, str | Path) and syntax.is_absolute_path(str(value)):
            return Path(value)
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^/", "maxLength": syntax.MAX_PATH_LENGTH}

    def dump(self, value: Path) -> str:
        return str(value)


class BindAddress(SettingType):
    """The address of an interface to listen on."""

    words = 'an IP address of this machine (for example "127.0.0.1" or "::1")'

    def parse(self, value: object) -> str:
        if not isinstance(value, str):
            raise RefusedError
        try:
            return str(ipaddress.ip_address(str(value)))
        except ValueError as error:
            raise RefusedError from error

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]}


class ProxyUrl(SettingType):
    """The address of an HTTP proxy."""

    words = 'a proxy\'s URL without credentials (for example "http://proxy.example:3128")'

    def parse(self, value: object) -> str:
        if isinstance(value, str) and (url := syntax.normal_proxy_url(value)):
            return url
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^https?://"}


class CollectorUrl(SettingType):
    """The address of what takes traces."""

    words = 'the URL of an OTLP/HTTP collector without credentials (for example "http://127.0.0.1:4318/v1/traces")'

    def parse(self, value: object) -> str:
        if isinstance(value, str) and syntax.is_collector_url(value):
            return value
        raise RefusedError

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": r"^https?://"}
