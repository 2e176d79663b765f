"""Requests that are wrong by themselves: bodies, media types, sizes and credentials."""

import pytest

from tests.conformance.builders import secret
from tests.conformance.client import JSON, MERGE_PATCH, Api, Obj
from tests.conformance.resources import SECRETS, WORKLOADS
from tests.conformance.samples import Sample

MIB = 2**20


@pytest.mark.parametrize(
    "body",
    [b'{"apiVersion": "v1", "kind": "Sec', b"", b"[]", b'"text"', b"\xff\xfe", b'{"a": 1} trailing'],
    ids=["truncated", "empty", "list", "string", "no text", "trailing text"],
)
async def test_body_that_is_no_object(api: Api, namespace: str, sample: Sample, body: bytes) -> None:
    (await api.post(sample.at(namespace), body)).error(400, "BadRequest")
    assert (await api.get(sample.at(namespace))).ok()["items"] == []


async def test_body_without_a_kind(api: Api, namespace: str, sample: Sample) -> None:
    body = {"metadata": {"name": "a"}}
    reply = await api.post(sample.at(namespace), body)
    # Built-in kinds know what the path is for; custom ones want to be told.
    assert reply.status in {201, 400}


@pytest.mark.parametrize("field", [{"metadata": []}, {"metadata": {"name": 5}}, {"metadata": {"labels": "x"}}], ids=str)
async def test_metadata_of_the_wrong_type(api: Api, namespace: str, sample: Sample, field: dict[str, object]) -> None:
    reply = await api.post(sample.at(namespace), sample.build("a") | field)
    assert reply.status in {400, 422}
    assert reply.body["kind"] == "Status"


@pytest.mark.parametrize("media", ["text/plain", "application/xml", "application/x-www-form-urlencoded"])
async def test_media_type_that_is_not_read(api: Api, namespace: str, sample: Sample, media: str) -> None:
    reply = await api.request("POST", sample.at(namespace), body=sample.build("a"), content_type=media)
    reply.error(415, "UnsupportedMediaType")


async def test_media_type_with_a_charset_is_read(api: Api, namespace: str, sample: Sample) -> None:
    media = f"{JSON}; charset=utf-8"
    (await api.request("POST", sample.at(namespace), body=sample.build("a"), content_type=media)).expect(201)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
async def test_body_that_is_too_large(api: Api, namespace: str, sample: Sample, method: str) -> None:
    await sample.create(api, namespace, "a")
    body = sample.build("b" if method == "POST" else "a", metadata={"annotations": {"big": "x" * (4 * MIB)}})
    path = sample.at(namespace, None if method == "POST" else "a")
    media = MERGE_PATCH if method == "PATCH" else JSON
    status = (await api.request(method, path, body=body, content_type=media)).error(413, "RequestEntityTooLarge")
    assert "limit is 3145728" in status["message"]


async def test_no_token(api: Api, namespace: str, sample: Sample) -> None:
    anonymous = Api(api.session, api.url, None)
    status = (await anonymous.get(sample.at(namespace))).error(401, "Unauthorized")
    assert status["message"] == "Unauthorized"


@pytest.mark.parametrize("path", ["/api", "/apis", "/version", "/nosuch", SECRETS.at("default")])
async def test_wrong_token_is_unauthorized_everywhere(api: Api, path: str) -> None:
    (await Api(api.session, api.url, "wrong").get(path)).error(401, "Unauthorized")


@pytest.mark.parametrize(
    ("method", "verb"),
    [("GET", "get"), ("PUT", "update"), ("PATCH", "patch"), ("DELETE", "delete")],
)
async def test_object_that_may_not_be_touched(
    api: Api, powerless_api: Api, namespace: str, sample: Sample, method: str, verb: str
) -> None:
    created = await sample.create(api, namespace, "a")
    media = MERGE_PATCH if method == "PATCH" else JSON
    body: Obj | None = None if method == "GET" else {}
    reply = await powerless_api.request(method, sample.at(namespace, "a"), body=body, content_type=media)
    status = reply.error(403, "Forbidden")
    assert f'{sample.resource.qualified} "a" is forbidden: User "powerless" cannot {verb} resource' in status["message"]
    assert f'in the namespace "{namespace}"' in status["message"]
    assert status["details"]["kind"] == sample.resource.plural
    assert (await api.get(sample.at(namespace, "a"))).ok() == created


@pytest.mark.parametrize(
    ("method", "verb", "params"),
    [
        ("GET", "list", {}),
        ("GET", "watch", {"watch": "true"}),
        ("POST", "create", {}),
        ("DELETE", "deletecollection", {}),
    ],
    ids=["list", "watch", "create", "deletecollection"],
)
async def test_collection_that_may_not_be_touched(
    powerless_api: Api, namespace: str, sample: Sample, method: str, verb: str, params: dict[str, str]
) -> None:
    body = sample.build("a") if method == "POST" else None
    reply = await powerless_api.request(method, sample.at(namespace), body=body, params=params)
    status = reply.error(403, "Forbidden")
    assert f"{sample.resource.qualified} is forbidden: User " in status["message"]
    assert f"cannot {verb} resource" in status["message"]


async def test_status_may_be_forbidden_by_itself(powerless_api: Api, namespace: str) -> None:
    status = (await powerless_api.patch(WORKLOADS.at(namespace, "a", "status"), {})).error(403, "Forbidden")
    assert 'cannot patch resource "workloads/status" in API group "kueue.x-k8s.io"' in status["message"]


async def test_a_user_without_permissions_may_still_discover(powerless_api: Api) -> None:
    for path in ("/api", "/apis", "/version"):
        (await powerless_api.get(path)).ok()


async def test_failed_writes_leave_no_trace(api: Api, namespace: str) -> None:
    version = (await api.get(SECRETS.at(namespace))).ok()["metadata"]["resourceVersion"]
    async with api.watch(SECRETS.at(namespace), resourceVersion=version) as watch:
        (await api.post(SECRETS.at(namespace), secret("Bad"))).error(422, "Invalid")
        (await api.post(SECRETS.at(namespace), b"{")).error(400, "BadRequest")
        (await api.post(SECRETS.at(namespace), secret("good"))).expect(201)
        assert await watch.next_change() == ("ADDED", "good")
