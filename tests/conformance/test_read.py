"""GET of objects and collections, and what is answered where there is nothing to read."""

import pytest

from tests.conformance.builders import workload
from tests.conformance.client import Api
from tests.conformance.resources import CLUSTER_QUEUES, JOBS, SECRETS, WORKLOADS
from tests.conformance.samples import Sample


async def test_missing_object_is_not_found(api: Api, namespace: str, sample: Sample) -> None:
    status = (await api.get(sample.at(namespace, "ghost"))).error(404, "NotFound")
    assert status["message"] == f'{sample.resource.qualified} "ghost" not found'
    want = {"name": "ghost", "kind": sample.resource.plural}
    assert status["details"] == want | ({"group": sample.resource.group} if sample.resource.group else {})


async def test_object_of_another_namespace_is_not_found(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    (await api.get(sample.at("default", namespace))).error(404, "NotFound")


async def test_list_holds_the_objects_of_its_namespace_by_name(api: Api, namespace: str, sample: Sample) -> None:
    created = [await sample.create(api, namespace, name) for name in ("b", "a", "c")]
    found = (await api.get(sample.at(namespace))).ok()
    assert (found["kind"], found["apiVersion"]) == (f"{sample.resource.kind}List", sample.resource.api_version)
    assert [each["metadata"]["name"] for each in found["items"]] == ["a", "b", "c"]
    assert int(found["metadata"]["resourceVersion"]) >= max(
        int(each["metadata"]["resourceVersion"]) for each in created
    )


async def test_empty_list_has_items_all_the_same(api: Api, namespace: str, sample: Sample) -> None:
    assert (await api.get(sample.at(namespace))).ok()["items"] == []


async def test_list_of_a_missing_namespace_is_empty(api: Api, unique: str, sample: Sample) -> None:
    assert (await api.get(sample.at(unique))).ok()["items"] == []


async def test_list_over_all_namespaces(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a", labels={"run": namespace})
    found = (await api.get(sample.at(), labelSelector=f"run={namespace}")).ok()
    assert [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found["items"]] == [(namespace, "a")]


async def test_items_of_a_custom_kind_carry_their_type(api: Api, namespace: str) -> None:
    # Those of a built-in kind do not: a client must not depend on either.
    (await api.post(WORKLOADS.at(namespace), workload("a"))).expect(201)
    (item,) = (await api.get(WORKLOADS.at(namespace))).ok()["items"]
    assert (item["apiVersion"], item["kind"]) == (WORKLOADS.api_version, "Workload")


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nosuch",
        "/api/v1/namespaces/default/nosuch/a",
        "/apis/batch/v1/nosuch",
        f"{SECRETS.base}/namespaces/default/secrets/a/nosuch",
        f"{WORKLOADS.base}/nosuch",
        f"{WORKLOADS.base}/namespaces/default/clusterqueues/a",
        "/apis/nosuch.example/v1/things",
        "/nosuch",
    ],
)
async def test_unknown_resource_is_not_found(api: Api, path: str) -> None:
    reply = await api.get(path)
    assert reply.status == 404
    if isinstance(reply.body, dict):
        assert reply.error(404, "NotFound")["message"] == "the server could not find the requested resource"


async def test_namespaced_resource_has_no_object_outside_of_a_namespace(api: Api, sample: Sample) -> None:
    assert (await api.get(f"{sample.at()}/a")).status == 404


async def test_cluster_wide_resource_is_read_without_a_namespace(api: Api, unique: str) -> None:
    (await api.get(CLUSTER_QUEUES.at(name=unique))).error(404, "NotFound")


@pytest.mark.parametrize("accept", ["application/json", "*/*", "application/json;q=0.5, text/plain;q=0.1"])
async def test_json_is_given_to_clients_that_accept_it(api: Api, namespace: str, sample: Sample, accept: str) -> None:
    reply = await api.get(sample.at(namespace), accept=accept)
    assert reply.ok()["items"] == []
    assert reply.headers["Content-Type"].startswith("application/json")


async def test_a_client_that_prefers_protobuf_gets_json_where_it_takes_that_too(api: Api, namespace: str) -> None:
    accept = "application/vnd.kubernetes.protobuf,application/json"
    reply = await api.get(WORKLOADS.at(namespace), accept=accept)
    assert reply.ok()["items"] == []


@pytest.mark.parametrize("accept", ["text/plain", "application/xml", "application/json;as=Nonsense;g=x;v=v1"])
async def test_nothing_acceptable(api: Api, namespace: str, sample: Sample, accept: str) -> None:
    (await api.get(sample.at(namespace), accept=accept)).error(406, "NotAcceptable")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", JOBS.at("default", "a")),
        ("PUT", JOBS.at("default")),
        ("PATCH", JOBS.at("default")),
        ("DELETE", WORKLOADS.at("default", "a", "status")),
        ("POST", WORKLOADS.at("default", "a", "status")),
    ],
)
async def test_verb_that_the_resource_does_not_have(api: Api, method: str, path: str) -> None:
    reply = await api.request(method, path, body={}, content_type="application/json")
    reply.error(405, "MethodNotAllowed")
