"""Types that are not shown as objects: numbers, strings, bytes, and Kubernetes' types with a JSON form of their own.

A reader gets what is on the wire, or nothing (0 or no bytes) for the zero value.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from localcluster.serving.protobuf.wire import Fields, ProtobufError, WireType, read_fields, sole

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Scalar:
    """How a type is encoded, and how its JSON form is made of that."""

    wire: WireType
    read: Callable[[Any], Any]


def _signed(bits: int) -> Callable[[int], int]:
    sign = 1 << (bits - 1)
    return lambda value: ((value & (2 * sign - 1)) ^ sign) - sign


_int32, _int64 = _signed(32), _signed(64)


def _text(payload: bytes) -> str:
    """Return text; what is not UTF-8 is replaced, as it is when a real server shows it."""
    return payload.decode(errors="replace")


def _base64(payload: bytes) -> str:
    return base64.b64encode(payload).decode()


def _quantity(payload: bytes) -> str:
    return _text(_payload(read_fields(payload), 1)) or "0"


def _int_or_string(payload: bytes) -> int | str:
    fields = read_fields(payload)
    match _int64(_number(fields, 1)):
        case 0:
            return _int32(_number(fields, 2))
        case 1:
            return _text(_payload(fields, 3))
        case other:
            raise ProtobufError(f"impossible type {other}, allowed are 0 (integer) and 1 (string)")


def _time(payload: bytes) -> str | None:
    seconds, _ = _timestamp(payload)
    return _shown_time(seconds, 0, "seconds")


def _micro_time(payload: bytes) -> str | None:
    seconds, nanos = _timestamp(payload)
    return _shown_time(seconds, int(nanos / 1000), "microseconds")


def _timestamp(payload: bytes) -> tuple[int | None, int]:
    if not payload:
        return None, 0
    fields = read_fields(payload)
    return _int64(_number(fields, 1)), _int32(_number(fields, 2))


def _shown_time(seconds: int | None, microseconds: int, precision: str) -> str | None:
    if seconds is None:
        return None
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=microseconds)
    except OverflowError:
        raise ProtobufError(f"{seconds} seconds since 1970 is not between the years 1 and 9999") from None
    if moment == _ZERO_TIME:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def _raw_json(payload: bytes) -> Any:
    text = _payload(read_fields(payload), 1)
    if not text:
        return None
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"the JSON text in it cannot be parsed: {error.msg}") from None


def _number(fields: Fields, number: int) -> int:
    return sole(fields, number, WireType.VARINT).number


def _payload(fields: Fields, number: int) -> bytes:
    return sole(fields, number, WireType.LENGTH).payload


SCALARS: Mapping[str, Scalar] = {
    "bool": Scalar(WireType.VARINT, bool),
    "int32": Scalar(WireType.VARINT, _int32),
    "int64": Scalar(WireType.VARINT, _int64),
    "string": Scalar(WireType.LENGTH, _text),
    "bytes": Scalar(WireType.LENGTH, _base64),
    "Quantity": Scalar(WireType.LENGTH, _quantity),
    "IntOrString": Scalar(WireType.LENGTH, _int_or_string),
    "Time": Scalar(WireType.LENGTH, _time),
    "MicroTime": Scalar(WireType.LENGTH, _micro_time),
    "RawJSON": Scalar(WireType.LENGTH, _raw_json),
}
