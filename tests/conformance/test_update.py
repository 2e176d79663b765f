"""PUT: replacing an object under optimistic concurrency."""

import pytest

from tests.conformance.builders import cluster_queue, disruption_budget, lease, local_queue, secret
from tests.conformance.client import Api, Obj
from tests.conformance.resources import CLUSTER_QUEUES, DISRUPTION_BUDGETS, LEASES, LOCAL_QUEUES, SECRETS, Resource
from tests.conformance.samples import Sample


def labelled(obj: Obj, **labels: str) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


async def test_update_replaces_and_moves_the_resource_version(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a", labels={"old": "1"}, annotations={"gone": "1"})
    changed = labelled(created, new="1")
    del changed["metadata"]["annotations"]
    updated = (await api.put(sample.at(namespace, "a"), changed)).ok()
    assert updated["metadata"]["labels"] == {"new": "1"}
    assert "annotations" not in updated["metadata"]
    assert int(updated["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
    assert updated["metadata"]["uid"] == created["metadata"]["uid"]
    assert (await api.get(sample.at(namespace, "a"))).ok() == updated


async def test_update_that_changes_nothing_keeps_the_resource_version(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    updated = (await api.put(sample.at(namespace, "a"), created)).ok()
    assert updated["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_update_with_a_stale_resource_version_is_a_conflict(api: Api, namespace: str, sample: Sample) -> None:
    stale = await sample.create(api, namespace, "a")
    (await api.put(sample.at(namespace, "a"), labelled(stale, writer="first"))).ok()
    status = (await api.put(sample.at(namespace, "a"), labelled(stale, writer="second"))).error(409, "Conflict")
    assert "the object has been modified; please apply your changes to the latest version" in status["message"]
    assert status["details"]["name"] == "a"
    found = (await api.get(sample.at(namespace, "a"))).ok()
    assert found["metadata"]["labels"] == {"writer": "first"}


async def test_secrets_take_an_unconditional_update(api: Api, namespace: str) -> None:
    created = (await api.post(SECRETS.at(namespace), secret("a"))).expect(201)
    updated = (await api.put(SECRETS.at(namespace, "a"), labelled(secret("a"), written="blindly"))).ok()
    assert updated["metadata"]["uid"] == created["metadata"]["uid"]
    assert updated["metadata"]["labels"] == {"written": "blindly"}


@pytest.mark.parametrize(
    ("resource", "built"),
    [(LOCAL_QUEUES, local_queue("a")), (LEASES, lease("a")), (DISRUPTION_BUDGETS, disruption_budget("a"))],
    ids=["LocalQueue", "Lease", "PodDisruptionBudget"],
)
async def test_most_other_kinds_want_a_resource_version(
    api: Api, namespace: str, resource: Resource, built: Obj
) -> None:
    (await api.post(resource.at(namespace), built)).expect(201)
    status = (await api.put(resource.at(namespace, "a"), built)).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "metadata.resourceVersion"
    assert "must be specified for an update" in status["message"]


async def test_update_of_a_missing_object(api: Api, namespace: str, sample: Sample) -> None:
    built = sample.build("ghost", metadata={"resourceVersion": "1"})
    (await api.put(sample.at(namespace, "ghost"), built)).error(404, "NotFound")


async def test_update_under_another_name_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    created["metadata"]["name"] = "b"
    status = (await api.put(sample.at(namespace, "a"), created)).error(400, "BadRequest")
    assert "does not match the name on the URL" in status["message"]


async def test_update_in_another_namespace_is_refused(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    created["metadata"]["namespace"] = "default"
    (await api.put(sample.at(namespace, "a"), created)).error(400, "BadRequest")


async def test_update_for_another_uid_is_a_conflict(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    created["metadata"]["uid"] = "11111111-1111-1111-1111-111111111111"
    status = (await api.put(sample.at(namespace, "a"), created)).error(409, "Conflict")
    assert "Precondition failed: UID in precondition" in status["message"]


@pytest.mark.parametrize("version", ["abc", "-1"])
async def test_resource_version_that_is_no_number(api: Api, namespace: str, sample: Sample, version: str) -> None:
    created = await sample.create(api, namespace, "a")
    created["metadata"]["resourceVersion"] = version
    assert (await api.put(sample.at(namespace, "a"), created)).status >= 400


async def test_update_of_a_cluster_wide_object(api: Api, unique: str) -> None:
    created = (await api.post(CLUSTER_QUEUES.at(), cluster_queue(unique))).expect(201)
    updated = (await api.put(CLUSTER_QUEUES.at(name=unique), labelled(created, a="b"))).ok()
    assert updated["metadata"]["labels"] == {"a": "b"}
    assert "namespace" not in updated["metadata"]
