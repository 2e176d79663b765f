"""POST to a collection: what the server fills in, what it ignores, what it refuses."""

import re
from typing import Any

import pytest

from tests.conformance.builders import disruption_budget, local_queue, workload
from tests.conformance.client import Api
from tests.conformance.resources import DISRUPTION_BUDGETS, LOCAL_QUEUES, WORKLOADS
from tests.conformance.samples import Sample

UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


async def test_created_object_gets_its_system_fields(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    metadata = created["metadata"]
    assert (created["apiVersion"], created["kind"]) == (sample.resource.api_version, sample.resource.kind)
    assert (metadata["name"], metadata["namespace"]) == ("a", namespace)
    assert UUID.fullmatch(metadata["uid"])
    assert TIMESTAMP.fullmatch(metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0
    assert (await api.get(sample.at(namespace, "a"))).ok() == created


async def test_kinds_with_a_spec_start_at_generation_one(api: Api, namespace: str) -> None:
    for resource, built in ((DISRUPTION_BUDGETS, disruption_budget("a")), (WORKLOADS, workload("a"))):
        created = (await api.post(resource.at(namespace), built)).expect(201)
        assert created["metadata"]["generation"] == 1


async def test_namespace_of_the_path_fills_in_a_missing_one(api: Api, namespace: str, sample: Sample) -> None:
    assert (await sample.create(api, namespace, "a"))["metadata"]["namespace"] == namespace


async def test_another_namespace_than_the_path_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build("a", metadata={"namespace": "elsewhere"})
    status = (await api.post(sample.at(namespace), built)).error(400, "BadRequest")
    assert "does not match the namespace" in status["message"]


async def test_generate_name_gives_each_object_its_own_name(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build(None, metadata={"generateName": "batch-"})
    names = [(await api.post(sample.at(namespace), built)).expect(201)["metadata"]["name"] for _ in range(3)]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"batch-[a-z0-9]{5}", name) for name in names)


async def test_a_name_wins_over_generate_name(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "chosen", generateName="batch-")
    assert (created["metadata"]["name"], created["metadata"]["generateName"]) == ("chosen", "batch-")


async def test_an_object_without_a_name_is_invalid(api: Api, namespace: str, sample: Sample) -> None:
    status = (await api.post(sample.at(namespace), sample.build(None))).error(422, "Invalid")
    assert {"field": "metadata.name", "reason": "FieldValueRequired"}.items() <= status["details"]["causes"][0].items()


@pytest.mark.parametrize("name", ["Upper", "under_score", "-dash", "a" * 254, "sl/ash"])
async def test_a_name_that_is_no_dns_subdomain_is_invalid(api: Api, namespace: str, sample: Sample, name: str) -> None:
    status = (await api.post(sample.at(namespace), sample.build(name))).error(422, "Invalid")
    assert status["details"]["name"] == name
    assert {cause["field"] for cause in status["details"]["causes"]} == {"metadata.name"}
    assert {cause["reason"] for cause in status["details"]["causes"]} == {"FieldValueInvalid"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a b": "x"}},
        {"labels": {"a": "x" * 64}},
        {"annotations": {"a b": "x"}},
        {"finalizers": ["not qualified!"]},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Secret", "name": "", "uid": "u"}]},
    ],
    ids=["label key", "label value", "annotation key", "finalizer", "owner without name"],
)
async def test_bad_metadata_is_invalid(api: Api, namespace: str, sample: Sample, metadata: dict[str, Any]) -> None:
    built = sample.build("a", metadata=metadata)
    status = (await api.post(sample.at(namespace), built)).error(422, "Invalid")
    (field,) = metadata
    assert status["details"]["causes"][0]["field"].startswith(f"metadata.{field}")


async def test_second_object_of_the_same_name_already_exists(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    status = (await api.post(sample.at(namespace), sample.build("a"))).error(409, "AlreadyExists")
    assert status["message"] == f'{sample.resource.qualified} "a" already exists'
    want = {"name": "a", "kind": sample.resource.plural}
    assert status["details"] == want | ({"group": sample.resource.group} if sample.resource.group else {})


async def test_resource_version_must_not_be_set(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build("a", metadata={"resourceVersion": "5"})
    reply = await api.post(sample.at(namespace), built)
    assert "resourceVersion should not be set on objects to be created" in reply.body["message"]
    assert reply.status in {400, 500}


async def test_system_fields_of_the_client_are_ignored(api: Api, namespace: str, sample: Sample) -> None:
    claimed = {
        "uid": "11111111-1111-1111-1111-111111111111",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 5,
        "selfLink": "/nowhere",
    }
    metadata = (await sample.create(api, namespace, "a", **claimed))["metadata"]
    assert metadata["uid"] != claimed["uid"]
    assert metadata["creationTimestamp"] != claimed["creationTimestamp"]
    assert not metadata.keys() & {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"}


async def test_generation_of_the_client_is_ignored(api: Api, namespace: str) -> None:
    created = (await api.post(WORKLOADS.at(namespace), workload("a", metadata={"generation": 7}))).expect(201)
    assert created["metadata"]["generation"] == 1


async def test_status_is_dropped_on_create(api: Api, namespace: str) -> None:
    built = local_queue("a") | {"status": {"pendingWorkloads": 5}}
    assert "status" not in (await api.post(LOCAL_QUEUES.at(namespace), built)).expect(201)


async def test_body_of_another_version_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build("a") | {"apiVersion": "v2"}
    (await api.post(sample.at(namespace), built)).error(400, "BadRequest")


async def test_body_of_another_kind_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    reply = await api.post(sample.at(namespace), sample.build("a") | {"kind": "Other"})
    # Built-in kinds stop at decoding, custom ones at validation.
    assert (reply.status, reply.body["reason"]) in {(400, "BadRequest"), (422, "Invalid")}


async def test_creating_in_a_missing_namespace_is_not_found(api: Api, unique: str, sample: Sample) -> None:
    status = (await api.post(sample.at(unique), sample.build("a"))).error(404, "NotFound")
    assert status["message"] == f'namespaces "{unique}" not found'
    assert status["details"] == {"name": unique, "kind": "namespaces"}


async def test_yaml_is_accepted(api: Api, namespace: str, sample: Sample) -> None:
    body = f"apiVersion: {sample.resource.api_version}\nkind: {sample.resource.kind}\nmetadata: {{name: a}}\n"
    if sample.resource is LOCAL_QUEUES:
        body += "spec: {clusterQueue: cq}\n"
    reply = await api.request("POST", sample.at(namespace), body=body.encode(), content_type="application/yaml")
    assert reply.expect(201)["metadata"]["name"] == "a"
