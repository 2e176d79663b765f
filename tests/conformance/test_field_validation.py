"""`fieldValidation`: what happens to fields that the schema does not know, and to fields given twice."""

import pytest

from tests.conformance.builders import job, local_queue, secret
from tests.conformance.client import JSON_PATCH, Api, Obj
from tests.conformance.resources import JOBS, LOCAL_QUEUES, SECRETS, Resource

CASES = [
    pytest.param(LOCAL_QUEUES, local_queue("a", nosuch="x"), "spec.nosuch", id="custom"),
    pytest.param(JOBS, job("a", nosuch="x"), "spec.nosuch", id="built-in"),
    pytest.param(SECRETS, secret("a", nosuch="x"), "nosuch", id="built-in top level"),
]


@pytest.mark.parametrize(("resource", "built", "field"), CASES)
async def test_strict_refuses_an_unknown_field(
    api: Api, namespace: str, resource: Resource, built: Obj, field: str
) -> None:
    status = (await api.post(resource.at(namespace), built, fieldValidation="Strict")).error(400, "BadRequest")
    assert f'unknown field "{field}"' in status["message"]
    assert "strict decoding error" in status["message"]
    (await api.get(resource.at(namespace, "a"))).error(404, "NotFound")


@pytest.mark.parametrize(("resource", "built", "field"), CASES)
@pytest.mark.parametrize("parameters", [{"fieldValidation": "Warn"}, {}], ids=["warn", "default"])
async def test_warn_drops_the_field_and_says_so(
    api: Api, namespace: str, resource: Resource, built: Obj, field: str, parameters: dict[str, str]
) -> None:
    reply = await api.post(resource.at(namespace), built, **parameters)
    assert "nosuch" not in str(reply.expect(201).get("spec", reply.body.keys()))
    assert reply.warnings == [f'unknown field "{field}"']


@pytest.mark.parametrize(("resource", "built", "field"), CASES)
async def test_ignore_drops_the_field_in_silence(
    api: Api, namespace: str, resource: Resource, built: Obj, field: str
) -> None:
    reply = await api.post(resource.at(namespace), built, fieldValidation="Ignore")
    assert "nosuch" not in str(reply.expect(201).get("spec", reply.body.keys()))
    assert reply.warnings == []


@pytest.mark.parametrize("resource", [LOCAL_QUEUES, JOBS], ids=["custom", "built-in"])
async def test_patch_and_update_are_checked_alike(api: Api, namespace: str, resource: Resource) -> None:
    built = local_queue("a") if resource is LOCAL_QUEUES else job("a")
    created = (await api.post(resource.at(namespace), built)).expect(201)
    at = resource.at(namespace, "a")
    changed = {**created, "spec": {**created["spec"], "nosuch": "x"}}
    operations = [{"op": "add", "path": "/spec/nosuch", "value": "x"}]
    (await api.put(at, changed, fieldValidation="Strict")).error(400, "BadRequest")
    for reply in (
        await api.patch(at, {"spec": {"nosuch": "x"}}, fieldValidation="Strict"),
        await api.patch(at, operations, JSON_PATCH, fieldValidation="Strict"),
    ):
        assert reply.status in {400, 422}
        assert 'unknown field "spec.nosuch"' in reply.body["message"]
    warned = await api.patch(at, {"spec": {"nosuch": "x"}}, fieldValidation="Warn")
    assert warned.ok()["spec"] == created["spec"]
    assert warned.warnings == ['unknown field "spec.nosuch"']


async def test_duplicate_field(api: Api, namespace: str) -> None:
    body = (
        b'{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"a"},'
        b'"spec":{"clusterQueue":"first","clusterQueue":"last"}}'
    )
    status = (await api.post(LOCAL_QUEUES.at(namespace), body, fieldValidation="Strict")).error(400, "BadRequest")
    assert 'duplicate field "spec.clusterQueue"' in status["message"]
    lenient = await api.post(LOCAL_QUEUES.at(namespace), body, fieldValidation="Warn")
    assert lenient.expect(201)["spec"]["clusterQueue"] == "last"
    assert lenient.warnings == ['duplicate field "spec.clusterQueue"']


async def test_unknown_level(api: Api, namespace: str) -> None:
    reply = await api.post(LOCAL_QUEUES.at(namespace), local_queue("a"), fieldValidation="Perhaps")
    assert reply.error(422, "Invalid")["details"]["causes"][0]["field"] == "fieldValidation"
