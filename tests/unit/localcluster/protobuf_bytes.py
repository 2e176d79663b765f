"""Writes protobuf by hand, so that tests can also write what no client would."""


def varint(value: int) -> bytes:
    """Return a number in as many bytes as it needs; a negative one takes ten."""
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def number(field: int, value: int) -> bytes:
    """Return a field that is a number."""
    return varint(field << 3) + varint(value)


def part(field: int, *payload: bytes | str) -> bytes:
    """Return a field that is a string, bytes or a message of several fields."""
    joined = b"".join(each.encode() if isinstance(each, str) else each for each in payload)
    return varint(field << 3 | 2) + varint(len(joined)) + joined


def group(field: int, *payload: bytes) -> bytes:
    """Return a field of the old sort that has an end mark instead of a length."""
    return varint(field << 3 | 3) + b"".join(payload) + varint(field << 3 | 4)


def body(api_version: str, kind: str, *message: bytes) -> bytes:
    """Return a message in the envelope that names its kind."""
    return b"k8s\x00" + part(1, part(1, api_version), part(2, kind)) + part(2, *message)
