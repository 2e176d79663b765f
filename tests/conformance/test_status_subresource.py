"""Spec and status are two doors to one object: neither lets the other's changes in; generation counts spec changes."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conformance.builders import condition, disruption_budget, job, workload
from tests.conformance.client import MERGE_PATCH, Api, Obj
from tests.conformance.resources import DISRUPTION_BUDGETS, JOBS, SECRETS, WORKLOADS, Resource


@dataclass(frozen=True, slots=True)
class Case:
    """A kind with a status, a change of its spec and one of its status."""

    resource: Resource
    obj: Obj
    spec: dict[str, Any]
    status: dict[str, Any]

    def at(self, namespace: str, subresource: str | None = None) -> str:
        return self.resource.at(namespace, "a", subresource)


CASES = [
    Case(WORKLOADS, workload("a"), {"priority": 5}, {"conditions": [condition("QuotaReserved")]}),
    Case(
        DISRUPTION_BUDGETS,
        disruption_budget("a"),
        {"minAvailable": 5},
        {"currentHealthy": 3, "desiredHealthy": 1, "disruptionsAllowed": 2, "expectedPods": 3},
    ),
    Case(JOBS, job("a"), {"parallelism": 5}, {"active": 3}),
]


@pytest.fixture(params=CASES, ids=[case.resource.kind for case in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.fixture
async def created(api: Api, namespace: str, case: Case) -> Obj:
    return (await api.post(case.resource.at(namespace), case.obj)).expect(201)


async def test_status_patch_changes_status_alone(api: Api, namespace: str, case: Case, created: Obj) -> None:
    patch = {"status": case.status, "spec": case.spec, "metadata": {"labels": {"a": "b"}}}
    patched = (await api.patch(case.at(namespace, "status"), patch, MERGE_PATCH)).ok()
    assert case.status.items() <= patched["status"].items()
    assert patched["spec"] == created["spec"]
    assert patched["metadata"]["generation"] == created["metadata"]["generation"] == 1
    assert int(patched["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


async def test_main_resource_cannot_touch_status(api: Api, namespace: str, case: Case, created: Obj) -> None:
    patched = (await api.patch(case.at(namespace), {"status": case.status, "spec": case.spec})).ok()
    assert case.spec.items() <= patched["spec"].items()
    assert patched.get("status") == created.get("status")


async def test_generation_counts_changes_of_the_spec(api: Api, namespace: str, case: Case, created: Obj) -> None:
    async def generation(path: str, patch: Obj) -> int:
        value: int = (await api.patch(path, patch)).ok()["metadata"]["generation"]
        return value

    main, status = case.at(namespace), case.at(namespace, "status")
    assert await generation(main, {"metadata": {"labels": {"a": "b"}}}) == 1
    assert await generation(main, {"spec": case.spec}) == 2
    assert await generation(main, {"spec": case.spec}) == 2
    assert await generation(status, {"status": case.status}) == 2


async def test_status_update_ignores_the_spec_in_the_body(api: Api, namespace: str, case: Case, created: Obj) -> None:
    body = {**created, "spec": {**created["spec"], **case.spec}, "status": case.status}
    updated = (await api.put(case.at(namespace, "status"), body)).ok()
    assert updated["spec"] == created["spec"]
    assert case.status.items() <= updated["status"].items()


async def test_update_of_the_spec_keeps_the_status(api: Api, namespace: str, case: Case, created: Obj) -> None:
    written = (await api.patch(case.at(namespace, "status"), {"status": case.status})).ok()
    body = {**written, "spec": {**written["spec"], **case.spec}}
    del body["status"]
    updated = (await api.put(case.at(namespace), body)).ok()
    assert updated["status"] == written["status"]
    assert case.spec.items() <= updated["spec"].items()


async def test_status_update_with_a_stale_resource_version(api: Api, namespace: str, case: Case, created: Obj) -> None:
    (await api.patch(case.at(namespace), {"spec": case.spec})).ok()
    body = {**created, "status": case.status}
    (await api.put(case.at(namespace, "status"), body)).error(409, "Conflict")


async def test_status_can_be_read_by_itself(api: Api, namespace: str, case: Case, created: Obj) -> None:
    assert (await api.get(case.at(namespace, "status"))).ok() == created


async def test_status_of_a_missing_object(api: Api, namespace: str, case: Case) -> None:
    (await api.get(case.at(namespace, "status"))).error(404, "NotFound")
    (await api.patch(case.at(namespace, "status"), {"status": case.status})).error(404, "NotFound")


async def test_kind_without_a_status_has_no_such_subresource(api: Api, namespace: str) -> None:
    assert (await api.get(SECRETS.at(namespace, "a", "status"))).status == 404
