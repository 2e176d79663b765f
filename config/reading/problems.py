"""What is wrong with a configuration, one line for each mistake, and never a secret in it."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from config.types.duration import format_duration
from config.types.syntax import printable

_LONGEST_SHOWN: Final = 100
_CREDENTIALS_IN_URL: Final = re.compile(r"//[^/@]*@")
_QUERY_OF_URL: Final = re.compile(r"(://[^?]*\?).*")


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: where (a file's line, or an environment variable), in which field, and what is allowed there."""

    message: str
    field: str = ""
    file: str = ""
    line: int | None = None
    variable: str = ""

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (self.variable or position, self.field, self.message) if part)


class ConfigurationError(ValueError):
    """The configuration cannot be used; holds every mistake that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def dotted(path: tuple[str | int, ...]) -> str:
    """Print a place the way people write it: `workers[2].kubeconfig.path`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part)}" for part in path)
    return text.removeprefix(".")


def shown(value: object) -> str:
    """Print an offending value; what is long, nested or has several lines is only described: it may hold a secret."""
    match value:
        case None | bool() | int() | float():
            return json.dumps(value)
        case str() if "\n" not in value and len(value) <= _LONGEST_SHOWN:
            masked = _QUERY_OF_URL.sub(r"\1(hidden)", _CREDENTIALS_IN_URL.sub("//(hidden)@", value))
            return f'"{printable(masked)}"'
        case timedelta():
            return f'"{format_duration(value)}"'
        case Path():
            return f'"{value}"'
        case _:
            return kind_of(value)


def kind_of(value: object) -> str:
    """Describe a value without showing it."""
    match value:
        case None | bool():
            return json.dumps(value)
        case int() | float():
            return "a number"
        case str():
            return f"a string of {len(value)} characters"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"
