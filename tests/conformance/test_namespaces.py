"""Namespaces: their phase, their label, and their slow end."""

import pytest

from tests.conformance.builders import namespace as a_namespace
from tests.conformance.client import Api
from tests.conformance.resources import NAMESPACES
from tests.conformance.samples import Sample
from tests.conformance.waiting import until_gone


async def test_new_namespace_is_active_and_carries_its_name(api: Api, unique: str) -> None:
    created = (await api.post(NAMESPACES.at(), a_namespace(unique))).expect(201)
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": unique}
    assert created["spec"] == {"finalizers": ["kubernetes"]}
    assert created["status"] == {"phase": "Active"}


@pytest.mark.parametrize("name", ["default", "kube-system"])
async def test_first_namespaces_are_there(api: Api, name: str) -> None:
    found = (await api.get(NAMESPACES.at(name=name))).ok()
    assert found["status"]["phase"] == "Active"
    assert found["metadata"]["uid"]


@pytest.mark.parametrize("name", ["a.b", "a" * 64, "A"], ids=["dot", "too long", "upper case"])
async def test_name_must_be_a_dns_label(api: Api, name: str) -> None:
    status = (await api.post(NAMESPACES.at(), a_namespace(name))).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.name"


async def test_namespace_can_be_labelled(api: Api, namespace: str) -> None:
    patched = (await api.patch(NAMESPACES.at(name=namespace), {"metadata": {"labels": {"a": "b"}}})).ok()
    assert patched["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": namespace}


async def test_deleted_namespace_takes_no_new_objects(api: Api, namespace: str, sample: Sample) -> None:
    # Held, so that nothing that cleans up can finish before the test has looked.
    await sample.create(api, namespace, "held", finalizers=["example.com/hold"])
    deleted = (await api.delete(NAMESPACES.at(name=namespace))).ok()
    assert deleted["kind"] == "Namespace"
    assert deleted["status"]["phase"] == "Terminating"
    assert deleted["metadata"]["deletionTimestamp"]
    status = (await api.post(sample.at(namespace), sample.build("late"))).error(403, "Forbidden")
    assert "because it is being terminated" in status["message"]
    assert status["details"]["causes"][0] | {"message": ""} == {
        "reason": "NamespaceTerminating",
        "message": "",
        "field": "metadata.namespace",
    }
    patched = await api.patch(sample.at(namespace, "held"), {"metadata": {"finalizers": None}})
    patched.ok()


async def test_first_namespace_cannot_be_deleted(api: Api) -> None:
    status = (await api.delete(NAMESPACES.at(name="default"))).error(403, "Forbidden")
    assert "this namespace may not be deleted" in status["message"]


# Only where something ends namespaces: on a real cluster that is kube-controller-manager, no part of an API server.
@pytest.mark.parametrize("server", ["local"], indirect=True)
async def test_deleted_namespace_takes_its_objects_along(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.delete(NAMESPACES.at(name=namespace))).ok()
    await until_gone(api, NAMESPACES.at(name=namespace))
    assert (await api.get(sample.at(namespace))).ok()["items"] == []
