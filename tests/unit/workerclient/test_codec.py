"""Whatever bytes a server sends, the result is an object of the right kind or one clear error."""

import pytest

from workerclient import codec
from workerclient.errors import Operation, ProtocolViolation, Status
from workerclient.kind import ApiKind, Key

WORKLOAD = ApiKind("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
OPERATION = Operation("w1", "get", WORKLOAD.resource, "team/a")
METADATA = b'"metadata":{"name":"a","namespace":"team","uid":"u","resourceVersion":"5"}'
TYPE = b'"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload"'

GARBAGE = {
    "HTML": (b"<html><body>502 Bad Gateway</body></html>", "expected one Workload as JSON, got 41 bytes"),
    "half a document": (b"{" + TYPE + b',"metadata":{"na', "expected one Workload as JSON"),
    "nothing": (b"", "expected one Workload as JSON, got 0 bytes"),
    "a list": (b"[]", "expected one Workload, got a list"),
    "a number": (b"5", "expected one Workload, got a number"),
    "null": (b"null", "expected one Workload, got nothing"),
    "another kind": (
        b'{"apiVersion":"v1","kind":"Pod",' + METADATA + b"}",
        "expected one kueue.x-k8s.io/v1beta2 Workload, got v1 Pod",
    ),
    "another version": (
        b'{"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload",' + METADATA + b"}",
        "expected one kueue.x-k8s.io/v1beta2 Workload, got kueue.x-k8s.io/v1beta1 Workload",
    ),
    "an object without kind": (b"{}", "got an object without kind and apiVersion"),
    "no metadata": (b"{" + TYPE + b"}", "expected an object with metadata"),
    "no uid": (b"{" + TYPE + b',"metadata":{"name":"a"}}', "expected metadata.uid to be a text, got nothing"),
    "a name that is a number": (
        b"{" + TYPE + b',"metadata":{"name":7}}',
        "expected metadata.name to be a text, got a number",
    ),
    "bytes that are no text": (b'{"kind":"\xff\xfe"}', "expected one Workload as JSON"),
    "a document nested too deeply": (b"[" * 100_000 + b"]" * 100_000, "expected one Workload as JSON"),
}


@pytest.mark.parametrize(("body", "want"), GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_one_error_that_names_the_cluster_and_what_was_expected(body: bytes, want: str) -> None:
    with pytest.raises(ProtocolViolation) as caught:
        codec.decode_object(OPERATION, body, WORKLOAD)
    assert str(caught.value).startswith("cluster w1: get workloads.kueue.x-k8s.io team/a: ")
    assert want in str(caught.value)
    assert len(str(caught.value)) < 400


def test_an_object_of_the_kind_is_returned_whole() -> None:
    body = b"{" + TYPE + b"," + METADATA + b',"spec":{"unknown":[1]}}'
    document = codec.decode_object(OPERATION, body, WORKLOAD)
    assert document["spec"] == {"unknown": [1]}
    assert codec.identity_of(OPERATION, document) == codec.Identity(Key("team", "a"), "u", "5")


def test_a_page_has_items_version_and_continuation() -> None:
    head = LIST + b',"metadata":{"resourceVersion":"9","continue":"c"}'
    page = codec.decode_page(OPERATION, head + b',"items":[{' + METADATA + b"}]}", WORKLOAD)
    assert (len(page.items), page.resource_version, page.next_token) == (1, "9", "c")
    assert codec.decode_page(OPERATION, head + b',"items":null}', WORKLOAD).items == []


LIST = b'{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"WorkloadList"'
BAD_PAGES = {
    "no metadata": LIST + b',"items":[]}',
    "no resourceVersion": LIST + b',"metadata":{},"items":[]}',
    "an empty resourceVersion": LIST + b',"metadata":{"resourceVersion":""},"items":[]}',
    "items that are no list": LIST + b',"metadata":{"resourceVersion":"9"},"items":{}}',
    "items that are no objects": LIST + b',"metadata":{"resourceVersion":"9"},"items":[3]}',
    "items without identity": LIST + b',"metadata":{"resourceVersion":"9"},"items":[{}]}',
    "another list": b'{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]}',
}


@pytest.mark.parametrize("body", BAD_PAGES.values(), ids=BAD_PAGES.keys())
def test_a_page_that_is_none_is_a_violation(body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        codec.decode_page(OPERATION, body, WORKLOAD)


BAD_EVENTS = {
    "no type": b'{"object":{}}',
    "no object": b'{"type":"ADDED"}',
    "an object that is a text": b'{"type":"ADDED","object":"x"}',
    "HTML": b"<html>",
}


@pytest.mark.parametrize("line", BAD_EVENTS.values(), ids=BAD_EVENTS.keys())
def test_an_event_that_is_none_is_a_violation(line: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        codec.decode_event(OPERATION, line)


def test_a_status_is_read_as_far_as_it_makes_sense() -> None:
    body = b'{"kind":"Status","message":"m","reason":"r","details":{"name":"n","kind":"k","retryAfterSeconds":4}}'
    status = codec.decode_status(body)
    assert status is not None
    assert (status.message, status.reason, status.name, status.kind, status.retry_after) == ("m", "r", "n", "k", 4.0)
    assert codec.decode_status(b'{"kind":"Status","message":7,"details":[]}') == Status()
    assert codec.decode_status(b"<html>") is None
    assert codec.decode_status(b'{"kind":"Pod"}') is None


def test_a_delete_that_left_the_object_is_told_from_one_that_did_not() -> None:
    waiting = b'{"kind":"Workload","metadata":{"finalizers":["f"]}}'
    graceful = b'{"kind":"Pod","metadata":{"deletionGracePeriodSeconds":30}}'
    assert codec.decode_deletion(OPERATION, b'{"kind":"Status","status":"Success"}') is None
    assert codec.decode_deletion(OPERATION, b'{"kind":"Workload","metadata":{}}') is None
    assert codec.decode_deletion(OPERATION, waiting) is not None
    assert codec.decode_deletion(OPERATION, graceful) is not None
