"""Protobuf bodies where clients send them: objects, options of a deletion, reviews, bindings."""

import aiohttp
import pytest

from tests.unit.localcluster.protobuf_bytes import body, number, part

PROTOBUF = {"Content-Type": "application/vnd.kubernetes.protobuf", "Accept": "application/vnd.kubernetes.protobuf,*/*"}
NAMESPACES = "/api/v1/namespaces"
WIDGETS = "/apis/example.dev/v1/namespaces/default/widgets"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
CONFIG_MAPS = f"{NAMESPACES}/default/configmaps"


def config_map(value: str, *metadata: bytes) -> bytes:
    """Return a config map named c with one value."""
    return body("v1", "ConfigMap", part(1, part(1, "c"), *metadata), part(2, part(1, "k"), part(2, value)))


async def test_an_object_is_created_and_replaced(client: aiohttp.ClientSession) -> None:
    """The answers are JSON."""
    async with client.post(CONFIG_MAPS, data=config_map("one"), headers=PROTOBUF) as answer:
        assert (answer.status, answer.content_type) == (201, "application/json")
        created = await answer.json()
        assert created["data"] == {"k": "one"}
    version = part(6, created["metadata"]["resourceVersion"])
    for want_status in (200, 409):
        async with client.put(f"{CONFIG_MAPS}/c", data=config_map("two", version), headers=PROTOBUF) as answer:
            assert answer.status == want_status
    async with client.get(f"{CONFIG_MAPS}/c") as answer:
        assert (await answer.json())["data"] == {"k": "two"}


async def test_both_spellings_of_an_event_are_read(client: aiohttp.ClientSession) -> None:
    """An event of events.k8s.io is stored as one of core."""
    about = part(1, part(1, "e"), part(3, "default")) + part(7, "Tested") + part(8, part(2, "default"))
    details = part(2, number(1, 1)) + part(4, "test") + part(5, "me") + part(6, "Test") + part(11, "Normal")
    sent = body("events.k8s.io/v1", "Event", about, details)
    async with client.post("/apis/events.k8s.io/v1/namespaces/default/events", data=sent, headers=PROTOBUF) as answer:
        assert (answer.status, (await answer.json()).get("reason")) == (201, "Tested")
    async with client.get(f"{NAMESPACES}/default/events/e") as answer:
        assert (await answer.json())["reportingComponent"] == "test"


async def test_a_deletion_obeys_its_options(client: aiohttp.ClientSession) -> None:
    """A precondition that does not hold is a conflict."""
    async with client.post(CONFIG_MAPS, data=config_map("one"), headers=PROTOBUF) as answer:
        uid = (await answer.json())["metadata"]["uid"]
    for expected, want_status in (("other", 409), (uid, 200)):
        options = body("v1", "DeleteOptions", part(2, part(1, expected)))
        async with client.delete(f"{CONFIG_MAPS}/c", data=options, headers=PROTOBUF) as answer:
            assert answer.status == want_status


async def test_a_custom_resource_is_deleted_with_protobuf_options(client: aiohttp.ClientSession) -> None:
    """Options are Kubernetes' own, whatever is deleted."""
    options = body("example.dev/v1", "DeleteOptions", number(1, 0))
    async with client.delete(f"{WIDGETS}/absent", data=options, headers=PROTOBUF) as answer:
        assert answer.status == 404


async def test_a_review_is_answered(client: aiohttp.ClientSession) -> None:
    """This is what `kubectl auth can-i` sends."""
    wanted = part(1, part(1, "default"), part(2, "create"), part(4, "v1"), part(5, "pods"))
    sent = body("authorization.k8s.io/v1", "SelfSubjectAccessReview", part(2, wanted))
    async with client.post(ACCESS_REVIEWS, data=sent, headers=PROTOBUF) as answer:
        assert (answer.status, (await answer.json())["status"]) == (201, {"allowed": True})


async def test_a_pod_is_bound(client: aiohttp.ClientSession) -> None:
    """This is what a scheduler sends."""
    container = part(2, part(1, "c"), part(2, "image"))
    pod = body("v1", "Pod", part(1, part(1, "p")), part(2, container))
    async with client.post(f"{NAMESPACES}/default/pods", data=pod, headers=PROTOBUF) as answer:
        assert answer.status == 201
    binding = body("v1", "Binding", part(1, part(1, "p")), part(2, part(1, "Node"), part(3, "node-1")))
    async with client.post(f"{NAMESPACES}/default/pods/p/binding", data=binding, headers=PROTOBUF) as answer:
        assert answer.status == 201
    async with client.get(f"{NAMESPACES}/default/pods/p") as answer:
        assert (await answer.json())["spec"]["nodeName"] == "node-1"


@pytest.mark.parametrize(
    ("path", "sent", "want_status", "want_message"),
    [
        pytest.param(
            WIDGETS,
            body("example.dev/v1", "Widget"),
            415,
            "accepted media types include: application/json, application/yaml",
            id="a custom resource",
        ),
        pytest.param(
            NAMESPACES,
            config_map("one"),
            400,
            'ConfigMap in version "v1" cannot be handled as a Namespace: '
            'no kind "ConfigMap" is registered for version "v1"',
            id="another kind than the path's",
        ),
        pytest.param(NAMESPACES, b"k8s\x00\x0a\x20", 400, "unexpected EOF (6b3873000a20)", id="half an envelope"),
        pytest.param(
            NAMESPACES,
            body("v1", "Namespace"),
            422,
            "metadata.name: Required value: name or generateName is required",
            id="an object without a name",
        ),
        pytest.param(
            ACCESS_REVIEWS,
            config_map("one"),
            400,
            "the object provided is unrecognized (must be of type SelfSubjectAccessReview)",
            id="an invalid review",
        ),
    ],
)
async def test_refusals(
    client: aiohttp.ClientSession, path: str, sent: bytes, want_status: int, want_message: str
) -> None:
    """Each with the code of a real server."""
    async with client.post(path, data=sent, headers=PROTOBUF) as answer:
        status = await answer.json()
        assert (answer.status, status["message"][-len(want_message) :]) == (want_status, want_message)
