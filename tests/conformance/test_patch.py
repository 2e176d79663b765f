"""Merge patch, JSON patch and strategic merge patch."""

from typing import Any

import pytest

from tests.conformance.builders import job, pod, workload
from tests.conformance.client import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Api, Obj
from tests.conformance.resources import JOBS, PODS, WORKLOADS
from tests.conformance.samples import Sample


@pytest.fixture
async def created(api: Api, namespace: str, sample: Sample) -> Obj:
    return await sample.create(api, namespace, "a", labels={"kept": "1", "gone": "1"}, finalizers=["example.com/f"])


async def test_merge_patch_sets_keeps_and_removes(api: Api, namespace: str, sample: Sample, created: Obj) -> None:
    patch = {"metadata": {"labels": {"gone": None, "new": "1", "never-there": None}}}
    patched = (await api.patch(sample.at(namespace, "a"), patch)).ok()
    assert patched["metadata"]["labels"] == {"kept": "1", "new": "1"}
    assert patched["metadata"]["finalizers"] == ["example.com/f"]


async def test_merge_patch_replaces_lists(api: Api, namespace: str, sample: Sample, created: Obj) -> None:
    patched = (await api.patch(sample.at(namespace, "a"), {"metadata": {"finalizers": ["example.com/g"]}})).ok()
    assert patched["metadata"]["finalizers"] == ["example.com/g"]


async def test_merge_patch_without_effect_keeps_the_resource_version(
    api: Api, namespace: str, sample: Sample, created: Obj
) -> None:
    for patch in ({}, {"metadata": {"labels": {"kept": "1"}}}):
        patched = (await api.patch(sample.at(namespace, "a"), patch)).ok()
        assert patched["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_patch_with_a_stale_resource_version_is_a_conflict(
    api: Api, namespace: str, sample: Sample, created: Obj
) -> None:
    (await api.patch(sample.at(namespace, "a"), {"metadata": {"labels": {"x": "1"}}})).ok()
    stale = {"metadata": {"resourceVersion": created["metadata"]["resourceVersion"], "labels": {"x": "2"}}}
    (await api.patch(sample.at(namespace, "a"), stale)).error(409, "Conflict")


async def test_patch_of_a_missing_object(api: Api, namespace: str, sample: Sample) -> None:
    (await api.patch(sample.at(namespace, "ghost"), {"metadata": {}})).error(404, "NotFound")


@pytest.mark.parametrize(
    ("operations", "want"),
    [
        ([{"op": "add", "path": "/metadata/labels/new", "value": "1"}], {"kept": "1", "gone": "1", "new": "1"}),
        ([{"op": "replace", "path": "/metadata/labels/kept", "value": "2"}], {"kept": "2", "gone": "1"}),
        ([{"op": "remove", "path": "/metadata/labels/gone"}], {"kept": "1"}),
        (
            [{"op": "copy", "from": "/metadata/labels/kept", "path": "/metadata/labels/c"}],
            {"kept": "1", "gone": "1", "c": "1"},
        ),
        ([{"op": "move", "from": "/metadata/labels/gone", "path": "/metadata/labels/m"}], {"kept": "1", "m": "1"}),
        ([{"op": "add", "path": "/metadata/labels/a~1b", "value": "1"}], {"kept": "1", "gone": "1", "a/b": "1"}),
        (
            [
                {"op": "test", "path": "/metadata/labels/kept", "value": "1"},
                {"op": "replace", "path": "/metadata/labels", "value": {"all": "new"}},
            ],
            {"all": "new"},
        ),
    ],
    ids=["add", "replace", "remove", "copy", "move", "escaped path", "test"],
)
async def test_json_patch(
    api: Api, namespace: str, sample: Sample, created: Obj, operations: list[Any], want: dict[str, str]
) -> None:
    patched = (await api.patch(sample.at(namespace, "a"), operations, JSON_PATCH)).ok()
    assert patched["metadata"]["labels"] == want


async def test_json_patch_of_list_elements(api: Api, namespace: str, sample: Sample, created: Obj) -> None:
    operations = [
        {"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/last"},
        {"op": "add", "path": "/metadata/finalizers/0", "value": "example.com/first"},
        {"op": "remove", "path": "/metadata/finalizers/1"},
    ]
    patched = (await api.patch(sample.at(namespace, "a"), operations, JSON_PATCH)).ok()
    assert patched["metadata"]["finalizers"] == ["example.com/first", "example.com/last"]


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/metadata/labels/kept", "value": "other"},
        {"op": "remove", "path": "/metadata/labels/never-there"},
        {"op": "replace", "path": "/nowhere/at/all", "value": "1"},
    ],
    ids=["test fails", "removes nothing", "parent missing"],
)
async def test_json_patch_that_does_not_fit_is_invalid_and_changes_nothing(
    api: Api, namespace: str, sample: Sample, created: Obj, operation: Any
) -> None:
    first = {"op": "add", "path": "/metadata/labels/new", "value": "1"}
    (await api.patch(sample.at(namespace, "a"), [first, operation], JSON_PATCH)).error(422, "Invalid")
    assert (await api.get(sample.at(namespace, "a"))).ok() == created


@pytest.mark.parametrize("kind", [MERGE_PATCH, JSON_PATCH])
async def test_patch_that_cannot_be_read(api: Api, namespace: str, sample: Sample, created: Obj, kind: str) -> None:
    (await api.patch(sample.at(namespace, "a"), b'{"metadata":', kind)).error(400, "BadRequest")


async def test_json_patch_must_be_a_list(api: Api, namespace: str, sample: Sample, created: Obj) -> None:
    (await api.patch(sample.at(namespace, "a"), {"op": "add"}, JSON_PATCH)).error(400, "BadRequest")


@pytest.mark.parametrize("kind", [JSON, "text/plain", "application/nosuch+json"])
async def test_patch_of_an_unknown_type(api: Api, namespace: str, sample: Sample, created: Obj, kind: str) -> None:
    (await api.patch(sample.at(namespace, "a"), {}, kind)).error(415, "UnsupportedMediaType")


async def test_strategic_merge_merges_lists_by_their_key(api: Api, namespace: str) -> None:
    conditions = [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]
    (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    at = PODS.at(namespace, "a", "status")
    (await api.patch(at, {"status": {"conditions": conditions}}, STRATEGIC_MERGE_PATCH)).ok()
    patch = {"status": {"conditions": [{"type": "B", "status": "False"}, {"type": "C", "status": "True"}]}}
    patched = (await api.patch(at, patch, STRATEGIC_MERGE_PATCH)).ok()
    found = {each["type"]: each["status"] for each in patched["status"]["conditions"]}
    assert found == {"A": "True", "B": "False", "C": "True"}


async def test_strategic_merge_deletes_by_directive(api: Api, namespace: str) -> None:
    (await api.post(PODS.at(namespace), pod("a"))).expect(201)
    at = PODS.at(namespace, "a", "status")
    conditions = [{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]
    (await api.patch(at, {"status": {"conditions": conditions}}, STRATEGIC_MERGE_PATCH)).ok()
    patch = {"status": {"conditions": [{"$patch": "delete", "type": "A"}]}}
    patched = (await api.patch(at, patch, STRATEGIC_MERGE_PATCH)).ok()
    assert [each["type"] for each in patched["status"]["conditions"]] == ["B"]


async def test_strategic_merge_of_maps_is_like_a_merge_patch(api: Api, namespace: str) -> None:
    (await api.post(JOBS.at(namespace), job("a", metadata={"labels": {"kept": "1", "gone": "1"}}))).expect(201)
    patch = {"metadata": {"labels": {"gone": None, "new": "1"}}, "spec": {"suspend": False}}
    patched = (await api.patch(JOBS.at(namespace, "a"), patch, STRATEGIC_MERGE_PATCH)).ok()
    assert patched["metadata"]["labels"].items() >= {"kept": "1", "new": "1"}.items()
    assert "gone" not in patched["metadata"]["labels"]
    assert patched["spec"]["suspend"] is False


async def test_strategic_merge_of_finalizers_is_a_union(api: Api, namespace: str) -> None:
    (await api.post(JOBS.at(namespace), job("a", metadata={"finalizers": ["example.com/a"]}))).expect(201)
    patch = {"metadata": {"finalizers": ["example.com/b"]}}
    patched = (await api.patch(JOBS.at(namespace, "a"), patch, STRATEGIC_MERGE_PATCH)).ok()
    assert set(patched["metadata"]["finalizers"]) == {"example.com/a", "example.com/b"}


async def test_custom_kinds_have_no_strategic_merge_patch(api: Api, namespace: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    reply = await api.patch(WORKLOADS.at(namespace, "a"), {}, STRATEGIC_MERGE_PATCH)
    reply.error(415, "UnsupportedMediaType")
