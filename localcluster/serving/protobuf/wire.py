"""The wire format of protobuf: a message is a sequence of numbered fields whose names and types it does not contain.

Knows no Kubernetes. A payload is split into its fields once and never looked at again; nothing is allocated for a
length that the payload does not have.
"""

from enum import IntEnum
from typing import NamedTuple

_VARINT_BYTES = 10
_GROUP_DEPTH = 100
_MASK = (1 << 64) - 1
_CONTINUED = 0x80
"""The bit of a varint's byte that says that another one follows."""


class ProtobufError(ValueError):
    """A body that cannot be decoded; the message says where and why in one sentence."""

    def __init__(self, why: str, path: str = "") -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.why = why
        self.path = path

    def within(self, field: str) -> "ProtobufError":
        """Return the error as the message around it sees it; an embedded message has no name."""
        return ProtobufError(self.why, ".".join(part for part in (field, self.path) if part))


class WireType(IntEnum):
    """How a field is delimited."""

    VARINT = 0
    FIXED64 = 1
    LENGTH = 2
    START_GROUP = 3
    END_GROUP = 4
    FIXED32 = 5


_WIRE_TYPES = dict(enumerate(WireType))


class Occurrence(NamedTuple):
    """One appearance of a field: a number if it is a varint, else a payload, which of a group is empty."""

    wire: WireType
    number: int = 0
    payload: bytes = b""

    def expect(self, wire: WireType) -> None:
        """Refuse a field that is delimited in another way than its type is."""
        if self.wire is not wire:
            raise ProtobufError(f"wrong wire type {self.wire}, expected {wire}")


Fields = dict[int, list[Occurrence]]
"""The fields of a message by number, each in the order of its appearance."""


def read_fields(payload: bytes) -> Fields:
    """Split a message into its fields; what is in a group, which no Kubernetes message uses, is passed over."""
    fields: Fields = {}
    at = 0
    while at < len(payload):
        number, wire, at = _read_tag(payload, at)
        if wire is WireType.START_GROUP:
            occurrence, at = Occurrence(wire), _skip_group(payload, at)
        else:
            occurrence, at = _read_occurrence(payload, wire, at)
        fields.setdefault(number, []).append(occurrence)
    return fields


def sole(fields: Fields, number: int, wire: WireType) -> Occurrence:
    """Return the last occurrence of a field that ought to occur once, an empty one if it does not."""
    occurrences = fields.get(number, ())
    for occurrence in occurrences:
        occurrence.expect(wire)
    return occurrences[-1] if occurrences else Occurrence(wire)


def read_varints(payload: bytes) -> list[int]:
    """Return the numbers of a packed field."""
    found = []
    at = 0
    while at < len(payload):
        value, at = _read_varint(payload, at)
        found.append(value)
    return found


def _read_tag(payload: bytes, at: int) -> tuple[int, WireType, int]:
    tag, at = _read_varint(payload, at)
    number, wire = tag >> 3, _WIRE_TYPES.get(tag & 7)
    if not 0 < number < 1 << 29:
        raise ProtobufError(f"illegal field number {number}")
    if wire is None:
        raise ProtobufError(f"illegal wire type {tag & 7} of field {number}")
    return number, wire, at


def _read_occurrence(payload: bytes, wire: WireType, at: int) -> tuple[Occurrence, int]:
    if wire is WireType.END_GROUP:
        raise ProtobufError("a group ends that did not begin")
    if wire is WireType.VARINT:
        number, at = _read_varint(payload, at)
        return Occurrence(wire, number=number), at
    if wire is WireType.LENGTH:
        length, at = _read_varint(payload, at)
    else:
        length = 8 if wire is WireType.FIXED64 else 4
    if length > len(payload) - at:
        raise ProtobufError("unexpected EOF")
    return Occurrence(wire, payload=payload[at : at + length]), at + length


def _skip_group(payload: bytes, at: int) -> int:
    depth = 1
    while depth:
        _, wire, at = _read_tag(payload, at)
        if wire is WireType.START_GROUP:
            depth += 1
        elif wire is WireType.END_GROUP:
            depth -= 1
        else:
            _, at = _read_occurrence(payload, wire, at)
        if depth > _GROUP_DEPTH:
            raise ProtobufError(f"groups are nested deeper than {_GROUP_DEPTH} levels")
    return at


def _read_varint(payload: bytes, at: int) -> tuple[int, int]:
    if at < len(payload) and payload[at] < _CONTINUED:
        return payload[at], at + 1
    value = 0
    for index in range(_VARINT_BYTES):
        if at + index >= len(payload):
            raise ProtobufError("unexpected EOF")
        byte = payload[at + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < _CONTINUED:
            return value & _MASK, at + index + 1
    raise ProtobufError("a number is longer than 64 bits")
