"""Every turn of the wire format, and every way in which a body can be broken."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError
from localcluster.serving.protobuf.body import decode_protobuf
from tests.unit.localcluster.protobuf_bytes import body, group, number, part, varint

NAMED_A = part(1, part(1, "a"))


def decoded(api_version: str, kind: str, *message: bytes) -> Obj:
    """Return the object without its head."""
    obj = decode_protobuf(body(api_version, kind, *message), "v1", "Other")
    assert (obj.pop("apiVersion"), obj.pop("kind")) == (api_version, kind)
    return obj


@pytest.mark.parametrize(
    ("message", "want_metadata"),
    [
        pytest.param(NAMED_A, {"name": "a"}, id="one field"),
        pytest.param(b"", {}, id="a value that was not sent is shown as its zero"),
        pytest.param(part(1, part(1, "")), {}, id="an empty text that may be omitted is omitted"),
        pytest.param(NAMED_A + part(1, part(3, "n")), {"name": "a", "namespace": "n"}, id="a message in two parts"),
        pytest.param(part(1, part(1, "a"), part(1, "b")), {"name": "b"}, id="the last text wins"),
        pytest.param(part(1, number(7, 3), number(7, 4)), {"generation": 4}, id="the last number wins"),
        pytest.param(part(1, number(7, -3)), {"generation": -3}, id="a negative number"),
        pytest.param(part(1, number(10, 0)), {"deletionGracePeriodSeconds": 0}, id="a zero behind a pointer is shown"),
        pytest.param(part(1, part(1, b"\xff")), {"name": "\ufffd"}, id="text that is not UTF-8"),
        pytest.param(part(1, part(14, "x"), part(14, "y")), {"finalizers": ["x", "y"]}, id="a list of texts"),
        pytest.param(
            part(1, part(11, part(1, "k"), part(2, "v")), part(11, part(2, "w"))),
            {"labels": {"k": "v", "": "w"}},
            id="a map, with an entry that has no key",
        ),
        pytest.param(part(1, part(8, number(1, 0))), {"creationTimestamp": "1970-01-01T00:00:00Z"}, id="the epoch"),
        pytest.param(
            part(1, part(8, number(1, 1), number(2, 999_999_999))),
            {"creationTimestamp": "1970-01-01T00:00:01Z"},
            id="a time has whole seconds",
        ),
        pytest.param(part(1, part(8)), {}, id="the zero time"),
        pytest.param(part(1, part(8, number(1, -62135596800))), {}, id="the zero time in seconds"),
        pytest.param(
            part(1, part(17, part(7, part(1, '{"f:a":{}}')))),
            {"managedFields": [{"fieldsV1": {"f:a": {}}}]},
            id="JSON inside protobuf",
        ),
        pytest.param(part(1, part(1, "a"), part(999, "?"), number(998, 1)), {"name": "a"}, id="unknown fields"),
        pytest.param(
            part(1, varint(997 << 3 | 1), bytes(8), varint(996 << 3 | 5), bytes(4), part(1, "a")),
            {"name": "a"},
            id="unknown fields of a fixed size",
        ),
        pytest.param(
            part(1, group(999, number(1, 1), group(2, part(1, "x"))), part(1, "a")), {"name": "a"}, id="unknown groups"
        ),
    ],
)
def test_metadata(message: bytes, want_metadata: Obj) -> None:
    """A service account is little more than its metadata."""
    assert decoded("v1", "ServiceAccount", message) == {"metadata": want_metadata}


@pytest.mark.parametrize(
    ("groups", "want_groups"),
    [
        pytest.param(number(4, 1) + number(4, 300), [1, 300], id="one by one"),
        pytest.param(part(4, varint(1), varint(300)), [1, 300], id="packed"),
        pytest.param(part(4), None, id="packed, and empty"),
    ],
)
def test_lists_of_numbers(groups: bytes, want_groups: list[int] | None) -> None:
    """Both encodings of a repeated number are read."""
    spec = decoded("v1", "Pod", part(2, part(14, groups)))["spec"]
    assert spec["securityContext"] == ({} if want_groups is None else {"supplementalGroups": want_groups})


@pytest.mark.parametrize(
    ("share", "want"),
    [
        pytest.param(b"", 0, id="nothing"),
        pytest.param(number(1, 0) + number(2, -1), -1, id="a number"),
        pytest.param(number(1, 1) + part(3, "50%"), "50%", id="a string"),
        pytest.param(number(1, 1) + number(2, 7), "", id="a string, and an idle number"),
    ],
)
def test_int_or_string(share: bytes, want: int | str) -> None:
    """The type decides which of both is meant."""
    budget = decoded("policy/v1", "PodDisruptionBudget", part(2, part(1, share)))
    assert budget["spec"] == {"minAvailable": want}


def test_types_with_a_json_form_of_their_own() -> None:
    """Bytes become base64, quantities text, and finer times keep their microseconds."""
    secret = decoded("v1", "Secret", part(2, part(1, "k"), part(2, b"\x00\xff")))
    assert secret["data"] == {"k": base64.b64encode(b"\x00\xff").decode()}
    overhead = part(3, part(1, part(1, "cpu"), part(2, part(1, "250m"))), part(1, part(1, "memory")))
    runtime_class = decoded("node.k8s.io/v1", "RuntimeClass", overhead)
    assert runtime_class == {"metadata": {}, "handler": "", "overhead": {"podFixed": {"cpu": "250m", "memory": "0"}}}
    lease = decoded("coordination.k8s.io/v1", "Lease", part(2, part(4, number(1, 1), number(2, 2_500))))
    assert lease["spec"] == {"renewTime": "1970-01-01T00:00:01.000002Z"}


def test_embedded_messages_are_inline_in_json() -> None:
    """A volume's source is a message of its own on the wire alone."""
    volume = part(1, part(1, "v"), part(2, part(2, part(1, "Memory"))))
    assert decoded("v1", "Pod", part(2, volume))["spec"] == {
        "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}]
    }


def test_a_body_that_does_not_tell_its_kind_is_of_the_expected_one() -> None:
    """Kind and version are taken from the path, each if it is missing."""
    assert decode_protobuf(b"k8s\x00" + part(2, NAMED_A), "v1", "Secret") == {
        "kind": "Secret",
        "apiVersion": "v1",
        "metadata": {"name": "a"},
    }


def test_options_may_come_under_any_version() -> None:
    """Clients send them under the version of what they delete."""
    assert decoded("batch/v1", "DeleteOptions", number(1, 0), part(4, "Foreground")) == {
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
    }


UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "
UNHANDLED = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '


@pytest.mark.parametrize(
    ("sent", "want_message"),
    [
        pytest.param(b"", UNRECOGNIZED + "empty data (<empty>)", id="nothing"),
        pytest.param(
            b'{"kind":"ConfigMap"}',
            UNRECOGNIZED + "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] "
            "(7b226b696e64223a22436f6e6669674d6170227d)",
            id="JSON",
        ),
        pytest.param(b"k8s\x00", UNRECOGNIZED + "empty body (6b387300)", id="the prefix alone"),
        pytest.param(b"k8s\x00\x0a\x20", UNRECOGNIZED + "unexpected EOF (6b3873000a20)", id="half an envelope"),
        pytest.param(
            b"k8s\x00\x08\x01" + bytes(40),
            f"{UNRECOGNIZED}illegal field number 0 (6b3873000801{'00' * 24} ...)",
            id="a long body of zeros",
        ),
        pytest.param(
            b"k8s\x00\x08\x01",
            UNRECOGNIZED + "wrong wire type 0, expected 2 (6b3873000801)",
            id="an envelope whose kind is a number",
        ),
        pytest.param(body("v1", "ConfigMap", b"\x0a\x08"), UNHANDLED + "unexpected EOF", id="half a message"),
        pytest.param(
            body("v1", "ConfigMap", part(1, b"\x0a")), UNHANDLED + "metadata: unexpected EOF", id="half a field"
        ),
        pytest.param(
            body("v1", "ConfigMap", b"\x0a" + varint(1 << 62)), UNHANDLED + "unexpected EOF", id="a huge length"
        ),
        pytest.param(
            body("v1", "ConfigMap", b"\x08" + b"\xff" * 11),
            UNHANDLED + "a number is longer than 64 bits",
            id="a number without an end",
        ),
        pytest.param(
            body("v1", "ConfigMap", number(1, 8)),
            UNHANDLED + "metadata: wrong wire type 0, expected 2",
            id="a number where a message belongs",
        ),
        pytest.param(
            body("v1", "ConfigMap", part(1, part(7, "a"))),
            UNHANDLED + "metadata.generation: wrong wire type 2, expected 0",
            id="a string where a number belongs",
        ),
        pytest.param(
            body("v1", "ConfigMap", group(1)),
            UNHANDLED + "metadata: wrong wire type 3, expected 2",
            id="a group where a message belongs",
        ),
        pytest.param(
            body("v1", "ConfigMap", part(2, part(1, "k"), number(2, 1))),
            UNHANDLED + "data.k: wrong wire type 0, expected 2",
            id="a number where a map's text belongs",
        ),
        pytest.param(
            body("v1", "ConfigMap", number(2, 1)),
            UNHANDLED + "data: wrong wire type 0, expected 2",
            id="a number where an entry of a map belongs",
        ),
        pytest.param(
            body("v1", "ConfigMap", b"\x0f"), UNHANDLED + "illegal wire type 7 of field 1", id="no such wire type"
        ),
        pytest.param(
            body("v1", "ConfigMap", b"\x0c"), UNHANDLED + "a group ends that did not begin", id="a stray end of a group"
        ),
        pytest.param(
            body("v1", "ConfigMap", varint(9 << 3 | 3) * 2000),
            UNHANDLED + "groups are nested deeper than 100 levels",
            id="deep groups",
        ),
        pytest.param(
            body("v1", "ConfigMap", part(1, part(8, number(1, 1 << 60)))),
            UNHANDLED + "metadata.creationTimestamp: 1152921504606846976 seconds since 1970 is not between "
            "the years 1 and 9999",
            id="a time far away",
        ),
        pytest.param(
            body("v1", "ConfigMap", part(1, part(17, part(7, part(1, "{"))))),
            UNHANDLED + "metadata.managedFields.fieldsV1: the JSON text in it cannot be parsed: unexpected end of data",
            id="broken JSON inside protobuf",
        ),
        pytest.param(
            body("policy/v1", "PodDisruptionBudget", part(2, part(3, number(1, 2)))),
            'PodDisruptionBudget in version "v1" cannot be handled as a ConfigMap: '
            "spec.maxUnavailable: impossible type 2, allowed are 0 (integer) and 1 (string)",
            id="neither a number nor a string",
        ),
        pytest.param(
            body("v1", "Foo"),
            'Foo in version "v1" cannot be handled as a ConfigMap: '
            'the protobuf form of kind "Foo" of version "v1" is not known; send JSON',
            id="an unknown kind",
        ),
    ],
)
def test_a_broken_body_is_refused_with_one_sentence(sent: bytes, want_message: str) -> None:
    """Always 400, and where possible the field is named."""
    with pytest.raises(ApiError) as refusal:
        decode_protobuf(sent, "v1", "ConfigMap")
    assert (refusal.value.code, refusal.value.message) == (400, want_message)


@settings(max_examples=300, deadline=None)
@given(message=st.binary(max_size=60), kind=st.sampled_from(("Pod", "Secret", "Event", "Node")))
def test_arbitrary_bytes_are_decoded_or_refused(message: bytes, kind: str) -> None:
    """No other exception leaves the decoder."""
    sent = body("v1", kind, message)
    try:
        outcome: object = decode_protobuf(sent, "v1", kind)["kind"]
    except ApiError as error:
        outcome = error.code
    assert outcome in (kind, 400)
