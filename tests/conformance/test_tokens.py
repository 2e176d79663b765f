"""Tokens of service accounts: how they are requested, whom they stand for, what RBAC allows, and when they end."""

import asyncio
from datetime import datetime

import pytest

from tests.conformance.builders import an_object
from tests.conformance.client import Api, Obj
from tests.conformance.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    SECRETS,
    SELF_REVIEWS,
    SERVICE_ACCOUNTS,
    TOKEN_REVIEWS,
    Resource,
)

NAME = "robot"
RBAC = "rbac.authorization.k8s.io"
DEADLINE_SECONDS = 60
"""A real server remembers for some seconds that a token was good."""


def token_request(**spec: object) -> Obj:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}


async def an_account(api: Api, namespace: str) -> str:
    """Make an account and return the path where its tokens are requested."""
    (await api.post(SERVICE_ACCOUNTS.at(namespace), an_object(SERVICE_ACCOUNTS, NAME))).expect(201)
    return SERVICE_ACCOUNTS.at(namespace, NAME, "token")


async def as_account(api: Api, path: str, **spec: object) -> Api:
    """Request a token and return a connection that uses it."""
    answer = (await api.post(path, token_request(**spec))).expect(201)
    return Api(api.session, api.url, answer["status"]["token"])


async def until_status(api: Api, path: str, status: int) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        reply = await api.get(path)
        while reply.status != status:
            await asyncio.sleep(0.2)
            reply = await api.get(path)


async def bind(api: Api, resource: Resource, namespace: str, name: str) -> None:
    """Let the account read Secrets, everywhere or in its namespace."""
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]
    (await api.post(CLUSTER_ROLES.at(), an_object(CLUSTER_ROLES, name, rules=rules))).expect(201)
    subjects = [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace}]
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    binding = an_object(resource, name, subjects=subjects, roleRef=role)
    where = resource.at(namespace if resource.is_namespaced else None)
    (await api.post(where, binding)).expect(201)


async def test_a_token_is_made_for_an_hour_unless_told_otherwise(api: Api, namespace: str) -> None:
    path = await an_account(api, namespace)
    made = (await api.post(path, token_request())).expect(201)
    assert (made["kind"], made["apiVersion"]) == ("TokenRequest", "authentication.k8s.io/v1")
    assert (made["metadata"]["name"], made["metadata"]["namespace"]) == (NAME, namespace)
    assert made["spec"]["expirationSeconds"] == 3600
    assert len(made["spec"]["audiences"]) == 1
    assert made["status"]["token"].count(".") == 2
    lasting = (await api.post(path, token_request(expirationSeconds=7200))).expect(201)
    begin, end = (
        datetime.fromisoformat(text)
        for text in (lasting["metadata"]["creationTimestamp"], lasting["status"]["expirationTimestamp"])
    )
    assert 7199 <= (end - begin).total_seconds() <= 7201


async def test_the_token_stands_for_its_account(api: Api, namespace: str) -> None:
    account = await as_account(api, await an_account(api, namespace))
    review = (await account.post(SELF_REVIEWS.at(), an_object(SELF_REVIEWS, None))).expect(201)
    user = review["status"]["userInfo"]
    assert user["username"] == f"system:serviceaccount:{namespace}:{NAME}"
    assert {"system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"} <= set(
        user["groups"]
    )


@pytest.mark.parametrize("seconds", [599, 0, -1, 2**32 + 1])
async def test_a_token_lives_ten_minutes_at_least(api: Api, namespace: str, seconds: int) -> None:
    path = await an_account(api, namespace)
    status = (await api.post(path, token_request(expirationSeconds=seconds))).error(422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.expirationSeconds"]


async def test_an_unknown_account_gets_no_token(api: Api, namespace: str) -> None:
    path = SERVICE_ACCOUNTS.at(namespace, NAME, "token")
    status = (await api.post(path, token_request())).error(404, "NotFound")
    assert status["message"] == f'serviceaccounts "{NAME}" not found'


async def test_a_token_can_only_be_created(api: Api, namespace: str) -> None:
    (await api.get(await an_account(api, namespace))).error(405, "MethodNotAllowed")


async def test_a_token_for_another_audience_does_not_open_the_server(api: Api, namespace: str) -> None:
    path = await an_account(api, namespace)
    account = await as_account(api, path, audiences=["elsewhere"])
    (await account.get(SECRETS.at(namespace))).error(401, "Unauthorized")
    question = an_object(TOKEN_REVIEWS, None, spec={"token": account.token, "audiences": ["elsewhere"]})
    answer = (await api.post(TOKEN_REVIEWS.at(), question)).expect(201)
    assert answer["status"]["authenticated"]
    assert answer["status"]["user"]["username"] == f"system:serviceaccount:{namespace}:{NAME}"


async def test_a_token_that_was_changed_is_refused(api: Api, namespace: str) -> None:
    account = await as_account(api, await an_account(api, namespace))
    assert account.token is not None
    head, payload, signature = account.token.split(".")
    forged = Api(api.session, api.url, f"{head}.{payload}.{signature[:-4]}AAAA")
    (await forged.get(SECRETS.at(namespace))).error(401, "Unauthorized")


@pytest.mark.parametrize("resource", [CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS], ids=lambda each: each.kind)
async def test_an_account_may_do_what_is_bound_to_it(api: Api, namespace: str, resource: Resource) -> None:
    account = await as_account(api, await an_account(api, namespace))
    status = (await account.get(SECRETS.at(namespace))).error(403, "Forbidden")
    assert f'User "system:serviceaccount:{namespace}:{NAME}" cannot list resource "secrets"' in status["message"]
    await bind(api, resource, namespace, namespace)
    await until_status(account, SECRETS.at(namespace), 200)
    everywhere = 403 if resource.is_namespaced else 200
    assert (await account.get(SECRETS.at("kube-system"))).status == everywhere
    (await account.post(SECRETS.at(namespace), an_object(SECRETS, "a"))).error(403, "Forbidden")


async def test_a_token_ends_with_its_account(api: Api, namespace: str) -> None:
    path = await an_account(api, namespace)
    account = await as_account(api, path)
    await bind(api, CLUSTER_ROLE_BINDINGS, namespace, namespace)
    await until_status(account, SECRETS.at(namespace), 200)
    (await api.delete(SERVICE_ACCOUNTS.at(namespace, NAME))).ok()
    (await api.post(SERVICE_ACCOUNTS.at(namespace), an_object(SERVICE_ACCOUNTS, NAME))).expect(201)
    await until_status(account, SECRETS.at(namespace), 401)
    successor = await as_account(api, path)
    assert (await successor.get(SECRETS.at(namespace))).status == 200
