"""A request's body in protobuf: an envelope that names a kind, and in it the message of that kind."""

from config.api.meta import Obj
from localcluster.kinds.api_errors import bad_request
from localcluster.serving.protobuf.decoding import MessageDecoder
from localcluster.serving.protobuf.messages import known_messages
from localcluster.serving.protobuf.wire import ProtobufError, WireType, read_fields, sole

_MAGIC = b"k8s\x00"
_SHOWN_BYTES = 30


def decode_protobuf(body: bytes, api_version: str, kind: str) -> Obj:
    """Return the object in a body, which is of the expected version and kind if it does not say; or refuse.

    An object of another kind is decoded too, if it is known: whether it may come here is not decided here.
    """
    try:
        found_version, found_kind, message = _open(body)
    except ProtobufError as error:
        shown = f"{body[:_SHOWN_BYTES].hex()} ..." if len(body) > _SHOWN_BYTES else body.hex() or "<empty>"
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): {error} ({shown})") from None
    found_version, found_kind = found_version or api_version, found_kind or kind
    try:
        return {"kind": found_kind, "apiVersion": found_version, **_decode(found_version, found_kind, message)}
    except ProtobufError as error:
        version = found_version.rpartition("/")[2]
        raise bad_request(f'{found_kind} in version "{version}" cannot be handled as a {kind}: {error}') from None


def _open(body: bytes) -> tuple[str, str, bytes]:
    """Return the version and the kind, both perhaps empty, and the message in an envelope."""
    if not body:
        raise ProtobufError("empty data")
    if not body.startswith(_MAGIC):
        prefix = " ".join(str(byte) for byte in _MAGIC)
        raise ProtobufError(f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]")
    if len(body) == len(_MAGIC):
        raise ProtobufError("empty body")
    envelope = read_fields(body.removeprefix(_MAGIC))
    type_meta = read_fields(sole(envelope, 1, WireType.LENGTH).payload)
    api_version, kind = (sole(type_meta, number, WireType.LENGTH).payload for number in (1, 2))
    message = sole(envelope, 2, WireType.LENGTH).payload
    return api_version.decode(errors="replace"), kind.decode(errors="replace"), message


def _decode(api_version: str, kind: str, message: bytes) -> Obj:
    messages = known_messages()
    name = messages.of_kind(api_version, kind)
    if name is None:
        raise ProtobufError(f'the protobuf form of kind "{kind}" of version "{api_version}" is not known; send JSON')
    obj: Obj = MessageDecoder(messages).decode(name, message)
    return obj
