"""Requests that the server refuses, and what it says: one clear `Status` each."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from localcluster.store.store import Store
from tests.unit.localcluster.serving import WIDGET, served_kinds, session_for, widget

PATH = "/apis/example.dev/v1/namespaces/default/widgets"


async def ask(client: aiohttp.ClientSession, method: str, path: str, **more: Any) -> tuple[int, Mapping[str, Any]]:
    async with client.request(method, path, **more) as response:
        body: dict[str, Any] = await response.json(content_type=None)
        return response.status, body


@pytest.mark.parametrize(
    ("method", "path", "more", "want_code", "want_message"),
    [
        pytest.param(
            "POST", PATH, {"data": b'{"apiVersion":'}, 400, "unexpected end of JSON input", id="truncated JSON"
        ),
        pytest.param("POST", PATH, {"data": b"[]"}, 400, "couldn't get version/kind", id="a list for an object"),
        pytest.param("POST", PATH, {"data": b"{}"}, 400, "Object 'Kind' is missing", id="no kind"),
        pytest.param(
            "POST",
            PATH,
            {"json": {**widget("a"), "kind": "Gadget"}},
            422,
            'Invalid value: "Gadget": must be Widget',
            id="another kind",
        ),
        pytest.param(
            "POST",
            PATH,
            {"json": {**widget("a"), "apiVersion": "example.dev/v2"}},
            400,
            "does not match the expected API version",
            id="another version",
        ),
        pytest.param(
            "POST", PATH, {"json": widget("No_Name")}, 422, "metadata.name: Invalid value", id="an impossible name"
        ),
        pytest.param(
            "POST",
            PATH,
            {"json": {**widget("a"), "metadata": []}},
            400,
            "cannot unmarshal array",
            id="metadata is a list",
        ),
        pytest.param(
            "POST",
            PATH,
            {"json": {**widget("a"), "metadata": {"name": "a", "labels": {"x": 1}}}},
            400,
            "cannot unmarshal number",
            id="a label is a number",
        ),
        pytest.param("POST", PATH, {"json": widget("a", size="big")}, 422, "spec.size", id="a wrong type"),
        pytest.param(
            "POST",
            PATH + "?dryRun=Some",
            {"json": widget("a")},
            422,
            'Unsupported value: ["Some"]',
            id="an unknown dry run",
        ),
        pytest.param(
            "POST",
            PATH + "?fieldValidation=Lax",
            {"json": widget("a")},
            422,
            'Unsupported value: "Lax"',
            id="an unknown field validation",
        ),
        pytest.param(
            "POST",
            PATH,
            {"data": b"<a/>", "headers": {"Content-Type": "text/xml"}},
            415,
            "accepted media types include",
            id="XML",
        ),
        pytest.param(
            "GET", PATH, {"headers": {"Accept": "text/html"}}, 406, "only the following media types", id="HTML wanted"
        ),
        pytest.param(
            "POST",
            "/apis/example.dev/v1/namespaces/nowhere/widgets",
            {"json": widget("a")},
            404,
            'namespaces "nowhere" not found',
            id="no namespace",
        ),
        pytest.param(
            "POST",
            PATH,
            {"json": {**widget("a"), "metadata": {"name": "a", "namespace": "other"}}},
            400,
            "does not match the namespace",
            id="two namespaces",
        ),
        pytest.param("GET", PATH + "/none", {}, 404, 'widgets.example.dev "none" not found', id="no such object"),
        pytest.param(
            "GET", "/apis/example.dev/v1/gadgets", {}, 404, "could not find the requested resource", id="no such kind"
        ),
        pytest.param("PATCH", PATH, {"json": {}}, 405, "does not allow this method", id="patching a collection"),
        pytest.param("DELETE", "/version", {}, 405, "does not allow this method", id="deleting the version"),
        pytest.param(
            "GET", PATH + "?resourceVersion=new", {}, 400, "invalid resource version", id="a version that is no number"
        ),
        pytest.param(
            "GET", PATH + "?limit=some", {}, 400, 'parsing "some": invalid syntax', id="a limit that is no number"
        ),
        pytest.param("GET", PATH + "?continue=abc", {}, 400, "continue key is not valid", id="a forged continue token"),
        pytest.param(
            "GET",
            PATH + "?labelSelector=a%3D%3D%3Db",
            {},
            400,
            "unable to parse requirement",
            id="a broken label selector",
        ),
        pytest.param(
            "GET",
            PATH + "?fieldSelector=spec.size%3D1",
            {},
            400,
            "field label not supported: spec.size",
            id="an unsupported field selector",
        ),
        pytest.param(
            "GET",
            PATH + "?resourceVersionMatch=Exact",
            {},
            422,
            "forbidden unless resourceVersion is provided",
            id="a match without a version",
        ),
        pytest.param(
            "DELETE",
            PATH + "/none",
            {"json": {"propagationPolicy": "Loud"}},
            422,
            'Unsupported value: "Loud"',
            id="an unknown propagation",
        ),
        pytest.param(
            "DELETE", PATH + "/none", {"data": b"{"}, 400, "unexpected end of JSON input", id="truncated options"
        ),
    ],
)
async def test_bad_input_gets_one_clear_status(
    client: aiohttp.ClientSession, method: str, path: str, more: dict[str, Any], want_code: int, want_message: str
) -> None:
    if "data" in more:
        more = {"headers": {"Content-Type": "application/json"}, **more}
    status, body = await ask(client, method, path, **more)

    assert (status, body["kind"], body["status"]) == (want_code, "Status", "Failure"), body
    assert body["code"] == want_code
    assert want_message in body["message"]


@pytest.mark.parametrize(
    ("content_type", "body", "want_code", "want_message"),
    [
        pytest.param(
            "application/merge-patch+json", "[1]", 400, "error decoding patch", id="a merge patch that is a list"
        ),
        pytest.param(
            "application/merge-patch+json", '{"a', 400, "unexpected end of JSON input", id="a truncated patch"
        ),
        pytest.param(
            "application/json-patch+json", "{}", 400, "error decoding patch", id="a JSON patch that is an object"
        ),
        pytest.param(
            "application/strategic-merge-patch+json",
            "{}",
            415,
            "accepted media types",
            id="strategic on a custom resource",
        ),
        pytest.param(
            "application/apply-patch+yaml", "{}", 422, "fieldManager: Required value", id="apply without a manager"
        ),
        pytest.param(
            "application/merge-patch+json",
            '{"metadata":{"name":"b"}}',
            400,
            "does not match the name on the URL",
            id="another name",
        ),
        pytest.param(
            "application/merge-patch+json",
            '{"metadata":{"resourceVersion":"1"}}',
            409,
            "the object has been modified",
            id="a stale version",
        ),
        pytest.param(
            "application/merge-patch+json", '{"metadata":{"uid":"x"}}', 422, "field is immutable", id="another uid"
        ),
    ],
)
async def test_bad_patches_change_nothing(
    cluster: LocalCluster,
    client: aiohttp.ClientSession,
    content_type: str,
    body: str,
    want_code: int,
    want_message: str,
) -> None:
    cluster.store.create(WIDGET, widget("a"), "default")
    revision = cluster.store.ledger.revision

    status, answer = await ask(client, "PATCH", PATH + "/a", data=body, headers={"Content-Type": content_type})

    assert (status, answer["code"]) == (want_code, want_code), answer
    assert want_message in answer["message"]
    assert cluster.store.ledger.revision == revision


@pytest.mark.parametrize("authorization", ["", "Bearer wrong", "Basic abc", "Bearer "])
async def test_who_is_not_known_gets_401(cluster: LocalCluster, authorization: str) -> None:
    async with session_for(cluster) as client:
        status, body = await ask(client, "GET", PATH, headers={"Authorization": authorization})
        health, _ = await _text(client, "/readyz", authorization)

    assert (status, body["reason"], body["message"]) == (401, "Unauthorized", "Unauthorized")
    assert health == 200


async def _text(client: aiohttp.ClientSession, path: str, authorization: str) -> tuple[int, str]:
    async with client.get(path, headers={"Authorization": authorization}) as response:
        return response.status, await response.text()


async def test_rules_allow_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    reader = TokenUser("reader", "reader-token", rules=(Allow(("get", "list"), ("widgets",), ("example.dev",)),))
    async with (
        LocalCluster("hub", tmp_path, kinds=served_kinds(), users=[reader]) as cluster,
        session_for(cluster, "reader-token") as client,
    ):
        allowed, _ = await ask(client, "GET", PATH)
        refused, body = await ask(client, "POST", PATH, json=widget("a"))
        review = {"resourceAttributes": {"verb": "create", "group": "example.dev", "resource": "widgets"}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        asked, answer = await ask(client, "POST", path, json={"spec": review})
        discovery, _ = await ask(client, "GET", "/apis")

    assert (allowed, refused, asked, discovery) == (200, 403, 201, 200)
    assert body["message"] == (
        'widgets.example.dev is forbidden: User "reader" cannot create resource "widgets" '
        'in API group "example.dev" in the namespace "default"'
    )
    assert answer["status"] == {"allowed": False}


async def test_pages_show_one_state_however_much_changes_between_them(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    _create_widgets(cluster.store, "abcde")
    _, first = await ask(client, "GET", PATH + "?limit=2")
    cluster.store.delete(WIDGET, "d", "default")
    _create_widgets(cluster.store, "z")
    token = first["metadata"]["continue"]
    _, second = await ask(client, "GET", f"{PATH}?limit=2&continue={token}")
    _, third = await ask(client, "GET", f"{PATH}?limit=2&continue={second['metadata']['continue']}")

    assert [_names(page) for page in (first, second, third)] == [["a", "b"], ["c", "d"], ["e"]]
    assert first["metadata"]["remainingItemCount"] == 3
    assert "continue" not in third["metadata"]
    assert first["metadata"]["resourceVersion"] == third["metadata"]["resourceVersion"]


async def test_a_page_whose_history_is_gone_answers_410_with_a_way_to_go_on(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    _create_widgets(cluster.store, "abc")
    _, first = await ask(client, "GET", PATH + "?limit=1")
    for number in range(60):
        cluster.store.create(WIDGET, widget(f"n{number}"), "default")
    status, body = await ask(client, "GET", f"{PATH}?limit=1&continue={first['metadata']['continue']}")
    _, rest = await ask(client, "GET", f"{PATH}?limit=1&continue={body['metadata']['continue']}")

    assert (status, body["reason"]) == (410, "Expired")
    assert _names(rest) == ["b"]


async def test_an_exact_list_shows_the_past(cluster: LocalCluster, client: aiohttp.ClientSession) -> None:
    _create_widgets(cluster.store, "a")
    revision = cluster.store.ledger.revision
    _create_widgets(cluster.store, "b")

    _, body = await ask(client, "GET", f"{PATH}?resourceVersion={revision}&resourceVersionMatch=Exact")

    assert _names(body) == ["a"]
    assert body["metadata"]["resourceVersion"] == str(revision)


@pytest.mark.parametrize(("value", "want_watch"), [("1", True), ("True", True), ("0", False), ("FALSE", False)])
async def test_booleans_are_read_as_go_reads_them(client: aiohttp.ClientSession, value: str, want_watch: bool) -> None:
    async with client.get(PATH, params={"watch": value}) as response:
        assert response.headers.get("Transfer-Encoding", "") == ("chunked" if want_watch else "")


async def test_a_body_of_ten_megabytes_is_refused(client: aiohttp.ClientSession) -> None:
    status, body = await ask(client, "POST", PATH, data=io.BytesIO(b"x" * 10_000_000))

    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")
    assert body["message"] == "Request entity too large: limit is 3145728"


async def test_unknown_fields_come_back_as_warnings(client: aiohttp.ClientSession) -> None:
    async with client.post(PATH, json=widget("a", wings=2)) as response:
        assert response.headers.getall("Warning") == ['299 - "unknown field \\"spec.wings\\""']


async def test_yaml_is_understood_and_spoken(client: aiohttp.ClientSession) -> None:
    text = "apiVersion: example.dev/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 3}\n"
    headers = {"Content-Type": "application/yaml", "Accept": "application/yaml"}
    async with client.post(PATH, data=text, headers=headers) as response:
        answer = await response.text()
    assert response.status == 201
    assert "size: 3\n" in answer
    assert "*id" not in answer


async def test_deleting_a_collection_takes_what_the_selector_matches(
    cluster: LocalCluster, client: aiohttp.ClientSession
) -> None:
    _create_widgets(cluster.store, "abc")

    status, body = await ask(client, "DELETE", PATH + "?fieldSelector=metadata.name!%3Db")

    assert (status, body["kind"], _names(body)) == (200, "WidgetList", ["a", "c"])
    assert [obj["metadata"]["name"] for obj in cluster.store.list(WIDGET)] == ["b"]


def _create_widgets(store: Store, names: str) -> None:
    for name in names:
        store.create(WIDGET, widget(name), "default")


def _names(body: Mapping[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]
