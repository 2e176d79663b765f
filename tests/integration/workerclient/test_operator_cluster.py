"""A cluster through the typed APIs: the same documents and errors as through the client of the daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from localcluster.cluster import LocalCluster
from manager.base.kinds import CLUSTERS, CONFIGS, NAMESPACES, SECRETS, WORKLOADS
from manager.onboarding.objects import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    SERVICE_ACCOUNTS,
    cluster,
    config,
    secret,
    worker_objects,
)
from tests.support.clusters import access_to, workload
from workerclient.base.errors import (
    AlreadyExists,
    ClusterError,
    Conflict,
    Invalid,
    NotFound,
    NotServed,
    ProtocolViolation,
    Unauthenticated,
    Unavailable,
)
from workerclient.base.kind import ApiKind
from workerclient.objects.resource import Precondition
from workerclient.operator.cluster import OperatorCluster
from workerclient.operator.tokens import ServiceToken

TOKEN = "planted-token"
ACCOUNT = ObjectKey("default", "turnstile")
PODS = ApiKind("", "v1", "Pod", "pods")


@asynccontextmanager
async def operator(access: ClusterAccess) -> AsyncIterator[OperatorCluster]:
    made = OperatorCluster("w1", access)
    try:
        yield made
    finally:
        await made.close()


def account(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}}


DOCUMENTS: dict[str, tuple[ApiKind, Obj]] = {
    "a namespaced built-in kind": (SERVICE_ACCOUNTS, account("a")),
    "a Secret": (SECRETS, secret(ObjectKey("default", "a"), b"content", ServiceToken("t", "until"), "uid")),
    "a built-in kind without namespaces": (
        NAMESPACES,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
    ),
    "a custom kind": (CLUSTERS, cluster("a")),
    "a namespaced custom kind": (WORKLOADS, workload("a")),
}


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_a_life_of_an_object(cluster: LocalCluster, name: str) -> None:
    kind, document = DOCUMENTS[name]
    key = ObjectKey(document["metadata"].get("namespace", ""), "a")
    async with operator(access_to(cluster)) as made:
        objects = made.resource(kind)
        stored = await objects.create(document)
        for part in set(document) - {"metadata", "spec"}:
            assert stored[part] == document[part]
        with pytest.raises(AlreadyExists):
            await objects.create(document)
        assert (await objects.get(key))["metadata"]["uid"] == stored["metadata"]["uid"]
        marked = {**stored, "metadata": {**stored["metadata"], "labels": {"a": "b"}}}
        changed = await objects.replace(marked)
        assert changed["metadata"]["labels"].items() >= {"a": "b"}.items()
        with pytest.raises(Conflict):
            await objects.replace(marked)
        for namespace in {"", key.namespace}:
            pages = objects.pages(label_selector="a=b", namespace=namespace)
            assert [identity.key async for page in pages for identity, _ in page.items] == [key]
        with pytest.raises(Conflict):
            await objects.delete(key, Precondition("another"))
        await objects.delete(key, Precondition(stored["metadata"]["uid"]))
        if kind != NAMESPACES:  # which take a while
            with pytest.raises(NotFound):
                await objects.get(key)


async def test_a_merge_patch_keeps_its_precondition(cluster: LocalCluster) -> None:
    async with operator(access_to(cluster)) as made:
        configs = made.resource(CONFIGS)
        metadata = (await configs.create(config("all", "w1")))["metadata"]
        fence = Precondition(metadata["uid"], metadata["resourceVersion"])
        patched = await configs.merge_patch(ObjectKey("", "all"), {"spec": {"clusters": ["w1", "w2"]}}, fence)
        assert patched["spec"]["clusters"] == ["w1", "w2"]
        with pytest.raises(Conflict):
            await configs.merge_patch(ObjectKey("", "all"), {"spec": {"clusters": []}}, fence)


async def test_a_long_list_comes_in_parts(cluster: LocalCluster) -> None:
    async with operator(access_to(cluster)) as made:
        accounts = made.resource(SERVICE_ACCOUNTS)
        names = [f"a-{number:03}" for number in range(501)]
        for name in names:
            cluster.store.create(cluster.store.kind("serviceaccounts"), account(name), "default")
        pages = [page async for page in accounts.pages(namespace="default")]
        assert len(pages) == 2
        assert {identity.key.name for page in pages for identity, _ in page.items} >= set(names)


async def test_what_is_served_is_asked_once_for_each_group(cluster: LocalCluster) -> None:
    unknown = ApiKind("none.example", "v1", "Nothing", "nothings")
    async with operator(access_to(cluster)) as made:
        assert await made.served_kinds([WORKLOADS, PODS, unknown]) == {WORKLOADS: True, PODS: True, unknown: False}
        with pytest.raises(NotServed):
            await made.resource(unknown).get(ObjectKey("default", "a"))


async def test_refusals_are_the_errors_that_callers_know(cluster: LocalCluster) -> None:
    access = access_to(cluster)
    async with operator(access) as made:
        with pytest.raises(Invalid):
            await made.resource(CONFIGS).create({**config("all", "w1"), "spec": {"clusters": 5}})
    stranger = ClusterAccess(access.server, access.ca, token=TOKEN)
    async with operator(stranger) as made:
        with pytest.raises(Unauthenticated) as caught:
            await made.resource(NAMESPACES).get(ObjectKey("", "kube-system"))
    assert TOKEN not in str(caught.value)


async def test_the_environment_does_not_say_how_a_cluster_is_reached(
    cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login a password b\n")
    nowhere = "http://127.0.0.1:1"
    for name, value in {"HTTPS_PROXY": nowhere, "https_proxy": nowhere, "NETRC": str(netrc)}.items():
        monkeypatch.setenv(name, value)
    async with operator(access_to(cluster)) as made:
        assert await made.resource(NAMESPACES).get(ObjectKey("", "kube-system"))


async def test_an_untrusted_certificate_and_a_closed_port_are_one_line(cluster: LocalCluster) -> None:
    access = access_to(cluster)
    for server, ca in ((access.server, None), ("https://127.0.0.1:1", access.ca)):
        async with operator(ClusterAccess(server, ca, token=TOKEN)) as made:
            with pytest.raises(Unavailable) as caught:
                await made.resource(NAMESPACES).get(ObjectKey("", "kube-system"))
        assert f"{server} cannot be reached" in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1


@asynccontextmanager
async def answering(code: int, body: Any) -> AsyncIterator[tuple[ClusterAccess, list[Any]]]:
    """Run a server that always answers the same, and keep what it was asked."""
    asked: list[Any] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.method, request.path, await request.json() if request.can_read_body else None))
        return web.json_response(body, status=code)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        yield ClusterAccess(f"http://127.0.0.1:{port}", token=TOKEN), asked
    finally:
        await runner.cleanup()


async def test_roles_are_the_documents_that_the_server_sends() -> None:
    (_, shipped), *_ = [each for each in worker_objects("uid") if each[0] == CLUSTER_ROLES]
    metadata = {"name": "turnstile-worker", "uid": "u", "resourceVersion": "1"}
    stored = {**shipped, "metadata": metadata}
    async with answering(200, stored) as (access, asked), operator(access) as made:
        roles = made.resource(CLUSTER_ROLES)
        assert await roles.get(ObjectKey("", "turnstile-worker")) == stored
        await roles.replace(stored)
        await roles.delete(ObjectKey("", "turnstile-worker"), Precondition("u"))
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/turnstile-worker"
    assert asked == [
        ("GET", path, None),
        ("PUT", path, stored),
        ("DELETE", path, {"preconditions": {"uid": "u"}}),
    ]
    binding = {"metadata": metadata, "roleRef": {"apiGroup": "g", "kind": "ClusterRole", "name": "r"}}
    async with answering(200, {"metadata": {}, "items": [binding]}) as (access, asked), operator(access) as made:
        pages = [page async for page in made.resource(CLUSTER_ROLE_BINDINGS).pages()]
    assert [raw for page in pages for _, raw in page.items] == [binding]
    assert asked[0][1] == "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


async def test_a_token_is_requested_for_an_account() -> None:
    status = {"token": "new", "expirationTimestamp": "2027-01-01T00:00:00Z"}
    document = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"]}}
    async with answering(201, {**document, "status": status}) as (access, asked), operator(access) as made:
        token = await made.request_token(ACCOUNT, 600)
    assert (token, "new" in repr(token)) == (ServiceToken("new", "2027-01-01T00:00:00Z"), False)
    ((method, path, body),) = asked
    assert (method, path) == ("POST", "/api/v1/namespaces/default/serviceaccounts/turnstile/token")
    assert body["spec"]["expirationSeconds"] == 600


ODD: dict[str, tuple[int, Any, type[ClusterError]]] = {
    "no status": (201, {"kind": "TokenRequest", "spec": {"audiences": []}}, ProtocolViolation),
    "a list": (201, [], ProtocolViolation),
    "a number": (201, 5, ProtocolViolation),
    "an error that echoes the token": (400, {"kind": "Status", "message": TOKEN, "reason": "x"}, Invalid),
    "an error that is not a Status": (400, [TOKEN], Invalid),
    "another kind of success": (204, None, ProtocolViolation),
}


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_answer_is_an_error_without_the_token(name: str) -> None:
    code, body, error = ODD[name]
    async with answering(code, body) as (access, _), operator(access) as made:
        with pytest.raises(error) as caught:
            await made.request_token(ACCOUNT, 600)
    assert TOKEN not in str(caught.value)
