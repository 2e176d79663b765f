"""The messages that clients may send, from a table of facts made from Kubernetes' API definitions.

`messages.json` is the output of `tests/realbed/protobuftable`, which also explains its notation. It is read when the
first protobuf body arrives. No message contains itself, so that the depth of a decoded object has a bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import orjson


class Shown(StrEnum):
    """When and how a field appears in JSON; the values are the prefixes in the table."""

    ALWAYS = "="
    UNLESS_ZERO = "?"
    EMBEDDED = "<"
    LIST = "[]"
    MAP = "{}"
    IF_SENT = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message; `type` is a scalar or another message. The field of a list message has no name."""

    number: int
    name: str
    type: str
    shown: Shown


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of a message; a list message appears in JSON as the list in its only field."""

    fields: tuple[Field, ...]
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Messages:
    """All messages by name, and the names of those that are kinds."""

    kinds: Mapping[str, str]
    by_name: Mapping[str, Message]

    def of_kind(self, api_version: str, kind: str) -> str | None:
        """Return the name of a kind's message; options may come under any version."""
        return self.kinds.get(f"{api_version}/{kind}", self.kinds.get(kind))


@cache
def known_messages() -> Messages:
    """Return the table."""
    table = orjson.loads(Path(__file__).with_name("messages.json").read_bytes())
    return Messages(table["kinds"], {name: _message(entry) for name, entry in table["messages"].items()})


def _message(entry: str | list[tuple[int, str, str]]) -> Message:
    if isinstance(entry, str):
        return Message((_field(1, "", entry),), is_list=True)
    return Message(tuple(_field(*each) for each in entry))


def _field(number: int, name: str, prefixed: str) -> Field:
    shown = next(shown for shown in Shown if prefixed.startswith(shown))
    return Field(number, name, prefixed.removeprefix(shown), shown)
