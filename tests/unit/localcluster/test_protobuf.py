"""Bodies that kubectl writes in protobuf, built here by hand from the wire format."""

import aiohttp
import pytest

from localcluster.cluster import LocalCluster
from localcluster.protobuf import MEDIA_TYPE, decode_protobuf
from localcluster.status import ApiError


def block(number: int, content: bytes | str) -> bytes:
    """Return a length-delimited field."""
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    """Return a varint field."""
    return varint(field << 3) + varint(value)


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    head = block(1, api_version) + block(2, kind)
    return b"k8s\x00" + block(1, head) + block(2, raw) + block(3, "") + block(4, "")


def meta(name: str) -> bytes:
    """Return metadata as Go writes it: empty texts and an empty time included."""
    labels = block(11, block(1, "team") + block(2, "a"))
    return block(1, block(1, name) + block(2, "") + block(3, "") + number(7, 0) + block(8, b"") + labels)


def test_empty_values_are_fields_that_were_not_set() -> None:
    decoded = decode_protobuf(envelope("v1", "Namespace", meta("x") + block(2, b"") + block(3, block(1, ""))))

    assert decoded == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "x", "labels": {"team": "a"}},
        "spec": {},
        "status": {},
    }


def test_bytes_numbers_and_flags() -> None:
    data = block(2, block(1, "key") + block(2, b"\x00\xff"))
    secret = decode_protobuf(envelope("v1", "Secret", meta("s") + data + block(3, "Opaque") + number(5, 0)))
    negative = (1 << 64) - 5
    priority = decode_protobuf(envelope("scheduling.k8s.io/v1", "PriorityClass", meta("p") + number(2, negative)))

    assert (secret["data"], secret["type"], secret["immutable"]) == ({"key": "AP8="}, "Opaque", False)
    assert priority["value"] == -5


@pytest.mark.parametrize(
    ("body", "want_message"),
    [
        (envelope("v1", "Pod", b""), "Pod cannot be read from protobuf here; send JSON"),
        (envelope("v1", "Namespace", block(9, "x")), "field 9 of Namespace cannot be read from protobuf here"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(body: bytes, want_message: str) -> None:
    with pytest.raises(ApiError) as refused:
        decode_protobuf(body)
    assert refused.value.code == 415
    assert want_message in refused.value.message


@pytest.mark.parametrize(
    "body",
    [b"{}", envelope("v1", "Namespace", meta("x"))[:-10], b"k8s\x00\x0b", b"k8s\x00\xff"],
    ids=["JSON", "cut short", "an illegal wire type", "an endless number"],
)
def test_what_is_no_protobuf_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"expected prefix|unexpected EOF|illegal wireType"):
        decode_protobuf(body)


async def test_a_namespace_made_by_kubectl(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    body = envelope("v1", "Namespace", meta("made-by-kubectl"))
    async with client.post("/api/v1/namespaces", data=body, headers={"Content-Type": MEDIA_TYPE}) as response:
        assert response.status == 201
    async with client.post("/api/v1/namespaces", data=body[:-20], headers={"Content-Type": MEDIA_TYPE}) as response:
        assert response.status == 400
