"""Owner references in action, where there is a garbage collector."""

from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.client import Api, Obj
from tests.conformance.samples import Sample
from tests.conformance.waiting import until, until_gone

# On a real cluster the collector is in kube-controller-manager; a bare API server leaves its work undone.
pytestmark = pytest.mark.parametrize("server", ["local"], indirect=True)


def owner(obj: Obj, **more: Any) -> Obj:
    identity = {key: obj["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **identity, **more}


def is_terminating(obj: Obj | None) -> bool:
    return obj is not None and "deletionTimestamp" in obj["metadata"]


def has_one_owner(obj: Obj | None) -> bool:
    return obj is not None and len(obj["metadata"]["ownerReferences"]) == 1


@pytest_asyncio.fixture(loop_scope="session")
async def family(api: Api, namespace: str, sample: Sample) -> Obj:
    parent = await sample.create(api, namespace, "parent")
    await sample.create(api, namespace, "child", ownerReferences=[owner(parent, blockOwnerDeletion=True)])
    return parent


async def test_dependents_follow_their_owner(api: Api, namespace: str, sample: Sample, family: Obj) -> None:
    (await api.delete(sample.at(namespace, "parent"), propagationPolicy="Background")).ok()
    await until_gone(api, sample.at(namespace, "child"))


async def test_background_deletion_does_not_wait(api: Api, namespace: str, sample: Sample, family: Obj) -> None:
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    (await api.patch(sample.at(namespace, "child"), held)).ok()
    (await api.delete(sample.at(namespace, "parent"), propagationPolicy="Background")).ok()
    (await api.get(sample.at(namespace, "parent"))).error(404, "NotFound")


async def test_foreground_deletion_waits_for_the_dependents(
    api: Api, namespace: str, sample: Sample, family: Obj
) -> None:
    held = {"metadata": {"finalizers": ["example.com/hold"]}}
    (await api.patch(sample.at(namespace, "child"), held)).ok()
    (await api.delete(sample.at(namespace, "parent"), propagationPolicy="Foreground")).ok()
    await until(api, sample.at(namespace, "child"), is_terminating)
    parent = (await api.get(sample.at(namespace, "parent"))).ok()
    assert parent["metadata"]["finalizers"] == ["foregroundDeletion"]
    (await api.patch(sample.at(namespace, "child"), {"metadata": {"finalizers": None}})).ok()
    await until_gone(api, sample.at(namespace, "parent"))


async def test_orphans_lose_the_reference_only(api: Api, namespace: str, sample: Sample, family: Obj) -> None:
    (await api.delete(sample.at(namespace, "parent"), propagationPolicy="Orphan")).ok()
    await until_gone(api, sample.at(namespace, "parent"))
    child = (await api.get(sample.at(namespace, "child"))).ok()
    assert "ownerReferences" not in child["metadata"]


async def test_one_owner_left_is_enough(api: Api, namespace: str, sample: Sample, family: Obj) -> None:
    other = await sample.create(api, namespace, "other")
    both = [owner(family), owner(other)]
    (await api.patch(sample.at(namespace, "child"), {"metadata": {"ownerReferences": both}})).ok()
    (await api.delete(sample.at(namespace, "parent"))).ok()
    await until(api, sample.at(namespace, "child"), has_one_owner)
    (await api.delete(sample.at(namespace, "other"))).ok()
    await until_gone(api, sample.at(namespace, "child"))


async def test_owner_of_another_uid_is_no_owner(api: Api, namespace: str, sample: Sample) -> None:
    parent = await sample.create(api, namespace, "parent")
    stranger = owner(parent) | {"uid": "33333333-3333-3333-3333-333333333333"}
    await sample.create(api, namespace, "child", ownerReferences=[stranger])
    await until_gone(api, sample.at(namespace, "child"))
    (await api.get(sample.at(namespace, "parent"))).ok()
