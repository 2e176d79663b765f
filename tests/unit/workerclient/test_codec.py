"""Whatever bytes a server sends, the result is an object of the right kind or one clear error."""

import tracemalloc

import pytest

from config.api.meta import ObjectKey
from tests.support.builders import workload
from workerclient.base.errors import Operation, ProtocolViolation, Status, TooLarge
from workerclient.base.kind import ApiKind
from workerclient.wire import codec

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
    "no uid": (b"{" + TYPE + b',"metadata":{"name":"a"}}', "expected metadata.uid to be a string, got nothing"),
    "a name that is a number": (
        b"{" + TYPE + b',"metadata":{"name":7}}',
        "expected metadata.name to be a string, got a number",
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
    assert codec.identity_of(OPERATION, document) == codec.Identity(ObjectKey("team", "a"), "u", "5")


def test_a_page_has_items_version_and_continuation() -> None:
    head = LIST + b',"metadata":{"resourceVersion":"9","continue":"c"}'
    page = codec.decode_page(OPERATION, head + b',"items":[{' + METADATA + b"}]}", WORKLOAD, 500)
    assert (len(page.items), page.resource_version, page.next_token) == (1, "9", "c")
    assert codec.decode_page(OPERATION, head + b',"items":null}', WORKLOAD, 500).items == []


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
def test_an_invalid_page_is_a_violation(body: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        codec.decode_page(OPERATION, body, WORKLOAD, 500)


BAD_EVENTS = {
    "no type": b'{"object":{}}',
    "no object": b'{"type":"ADDED"}',
    "an object that is a string": b'{"type":"ADDED","object":"x"}',
    "HTML": b"<html>",
}


@pytest.mark.parametrize("line", BAD_EVENTS.values(), ids=BAD_EVENTS.keys())
def test_an_invalid_event_is_a_violation(line: bytes) -> None:
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


@pytest.mark.parametrize("value", [b"[]", b"{}", b"1", b'""', b'{"a":{}}'])
def test_F12_many_small_values_are_not_decoded(value: bytes) -> None:
    def line(count: int) -> bytes:
        head = b'{"type":"ADDED","object":{"x":['
        return head + b",".join([value] * count) + b"]}}"

    most = 300_000 // codec.values_in(value + b",") - 10
    assert codec.decode_event(OPERATION, line(most)).type == "ADDED"
    with pytest.raises(TooLarge, match="the answer holds more than 300000 values"):
        codec.decode_event(OPERATION, line(most + 20))
    assert codec.decode_status(b'{"kind":"Status","x":[' + b",".join([value] * (most + 20)) + b"]}") is None


def test_F12_values_are_counted_by_the_text_alone() -> None:
    assert codec.values_in(b'{"a":[1,2,{}],"b":"x"}') >= 5
    long_text = b'{"type":"ADDED","object":{"x":"' + b"x" * (2 << 20) + b'"}}'
    assert codec.decode_event(OPERATION, long_text).type == "ADDED"


DENSE = {
    "empty lists": b"[]",
    "empty maps": b"{}",
    "lists of a number": b"[1]",
    "maps of a number": b'{"a":1}',
    "numbers": b"%d",
    "short texts": b'"%d"',
    "short texts beyond ASCII": '"é%d"'.encode(),
    "long texts": b'"' + b"x" * 200 + b'%d"',
}


@pytest.mark.parametrize("value", DENSE.values(), ids=DENSE.keys())
def test_F12_what_an_object_counts_for_bounds_the_memory_that_it_takes(value: bytes) -> None:
    values = b",".join(value % number if b"%d" in value else value for number in range(1000, 11_000))
    line = b'{"type":"ADDED","object":{"x":[' + values + b"]}}"
    tracemalloc.start()
    try:
        event = codec.decode_event(OPERATION, line)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert event.type == "ADDED"
    assert taken < 4 * codec.weight_of(line)


def test_F12_an_ordinary_object_counts_for_little_more_than_its_size() -> None:
    line = codec.encode({"type": "ADDED", "object": workload("training").queue("main").request(cpu=1).raw})
    assert len(line) <= codec.weight_of(line) < 3 * len(line)
