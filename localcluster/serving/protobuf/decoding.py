"""Makes of a message what Go's JSON encoding of it would be, but for nulls: a field that would be null is left out.

Bytes of an unknown field are passed over, as protobuf wants it, so that newer clients can talk to older servers.
"""

from collections.abc import Sequence
from typing import Any, assert_never

from localcluster.serving.protobuf.messages import Field, Messages, Shown
from localcluster.serving.protobuf.scalars import SCALARS
from localcluster.serving.protobuf.wire import Occurrence, ProtobufError, WireType, read_fields, read_varints

_LAST_WINS = ("string", "bytes")
"""Of these a later occurrence replaces an earlier one; those of a message are parts of one message."""

_SHOWN_UNSENT = (Shown.ALWAYS, Shown.EMBEDDED)


class MessageDecoder:
    """Decodes messages of a table."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def decode(self, name: str, payload: bytes) -> Any:
        """Return the message of this name as JSON would show it: an object, or a list if it stands for one."""
        message = self._messages.by_name[name]
        received = read_fields(payload)
        if message.is_list:
            return self._list(message.fields[0].type, received.get(message.fields[0].number, ()))
        obj: dict[str, Any] = {}
        for field in message.fields:
            occurrences = received.get(field.number, ())
            if not occurrences and field.shown not in _SHOWN_UNSENT:
                continue
            try:
                value = self._shown(field, occurrences)
            except ProtobufError as error:
                raise error.within(field.name) from None
            if field.shown is Shown.EMBEDDED:
                obj.update(value)
            elif value is not None:
                obj[field.name] = value
        return obj

    def _shown(self, field: Field, occurrences: Sequence[Occurrence]) -> Any:
        match field.shown:
            case Shown.LIST:
                return self._list(field.type, occurrences) or None
            case Shown.MAP:
                return dict(self._entry(field.type, occurrence) for occurrence in occurrences)
            case Shown.UNLESS_ZERO:
                return self._value(field.type, occurrences) or None
            case Shown.ALWAYS | Shown.EMBEDDED | Shown.IF_SENT:
                return self._value(field.type, occurrences)
            case _:
                assert_never(field.shown)

    def _list(self, type_: str, occurrences: Sequence[Occurrence]) -> list[Any]:
        scalar = SCALARS.get(type_)
        if scalar is None or scalar.wire is not WireType.VARINT:
            return [self._value(type_, (occurrence,)) for occurrence in occurrences]
        return [scalar.read(number) for occurrence in occurrences for number in _numbers(occurrence)]

    def _entry(self, type_: str, occurrence: Occurrence) -> tuple[str, Any]:
        occurrence.expect(WireType.LENGTH)
        entry = read_fields(occurrence.payload)
        key = self._value("string", entry.get(1, ()))
        try:
            return key, self._value(type_, entry.get(2, ()))
        except ProtobufError as error:
            raise error.within(key) from None

    def _value(self, type_: str, occurrences: Sequence[Occurrence]) -> Any:
        scalar = SCALARS.get(type_)
        wire = scalar.wire if scalar is not None else WireType.LENGTH
        for occurrence in occurrences:
            occurrence.expect(wire)
        if scalar is not None and wire is WireType.VARINT:
            return scalar.read(occurrences[-1].number if occurrences else 0)
        parts = occurrences[-1:] if type_ in _LAST_WINS else occurrences
        payload = b"".join([part.payload for part in parts])
        return self.decode(type_, payload) if scalar is None else scalar.read(payload)


def _numbers(occurrence: Occurrence) -> list[int]:
    """Return the numbers of a repeated field, which may come one by one or packed."""
    if occurrence.wire is WireType.VARINT:
        return [occurrence.number]
    occurrence.expect(WireType.LENGTH)
    return read_varints(occurrence.payload)
