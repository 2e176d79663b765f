"""DELETE of a collection."""

import pytest

from tests.conformance.client import Api
from tests.conformance.resources import NAMESPACES
from tests.conformance.samples import Sample


@pytest.fixture(autouse=True)
async def three(api: Api, namespace: str, sample: Sample) -> None:
    for name in ("a", "b", "c"):
        await sample.create(api, namespace, name, labels={"half": str(name < "c").lower()})


async def names(api: Api, namespace: str, sample: Sample) -> list[str]:
    return [each["metadata"]["name"] for each in (await api.get(sample.at(namespace))).ok()["items"]]


async def test_all_of_a_namespace_go_and_no_others(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, "default", namespace)
    deleted = (await api.delete(sample.at(namespace))).ok()
    assert deleted["kind"] == f"{sample.resource.kind}List"
    assert [each["metadata"]["name"] for each in deleted["items"]] == ["a", "b", "c"]
    assert await names(api, namespace, sample) == []
    (await api.get(sample.at("default", namespace))).ok()


@pytest.mark.parametrize(
    ("selectors", "want"),
    [({"labelSelector": "half=true"}, ["c"]), ({"fieldSelector": "metadata.name=b"}, ["a", "c"])],
    ids=["label", "field"],
)
async def test_selectors_choose_who_goes(
    api: Api, namespace: str, sample: Sample, selectors: dict[str, str], want: list[str]
) -> None:
    (await api.delete(sample.at(namespace), **selectors)).ok()
    assert await names(api, namespace, sample) == want


async def test_held_objects_stay_marked(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "held", finalizers=["example.com/hold"])
    (await api.delete(sample.at(namespace))).ok()
    (left,) = (await api.get(sample.at(namespace))).ok()["items"]
    assert left["metadata"]["name"] == "held"
    assert left["metadata"]["deletionTimestamp"]


async def test_each_deletion_is_an_event(api: Api, namespace: str, sample: Sample) -> None:
    version = (await api.get(sample.at(namespace))).ok()["metadata"]["resourceVersion"]
    async with api.watch(sample.at(namespace), resourceVersion=version) as watch:
        (await api.delete(sample.at(namespace))).ok()
        events = {await watch.next_change() for _ in range(3)}
    assert events == {("DELETED", "a"), ("DELETED", "b"), ("DELETED", "c")}


async def test_empty_collection_is_no_error(api: Api, namespace: str, sample: Sample) -> None:
    (await api.delete(sample.at(namespace))).ok()
    assert (await api.delete(sample.at(namespace))).ok()["items"] == []


async def test_collection_over_all_namespaces_cannot_be_deleted(api: Api, sample: Sample) -> None:
    (await api.delete(sample.at())).error(405, "MethodNotAllowed")


async def test_namespaces_go_one_by_one(api: Api) -> None:
    (await api.delete(NAMESPACES.at())).error(405, "MethodNotAllowed")
