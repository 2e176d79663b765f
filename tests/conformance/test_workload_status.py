"""Rules on the status of a Workload, which several controllers write: clusters, admission, conditions."""

from typing import Any

import pytest
import pytest_asyncio

from tests.conformance.builders import condition, pod_set, workload
from tests.conformance.client import Api, Obj
from tests.conformance.resources import WORKLOADS

ADMISSION = {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "default"}, "count": 1}]}
RESERVED = {"admission": ADMISSION, "conditions": [condition("QuotaReserved")]}


@pytest_asyncio.fixture(loop_scope="session")
async def at(api: Api, namespace: str) -> str:
    (await api.post(WORKLOADS.at(namespace), workload("a", queueName="q"))).expect(201)
    return WORKLOADS.at(namespace, "a")


async def write(api: Api, at: str, status: dict[str, Any]) -> Obj:
    return (await api.patch(f"{at}/status", {"status": status})).ok()


async def refuse(api: Api, path: str, patch: Obj) -> list[str]:
    status = (await api.patch(path, patch)).error(422, "Invalid")
    return [cause["message"] for cause in status["details"]["causes"]]


async def test_cluster_name_cannot_be_changed(api: Api, at: str) -> None:
    await write(api, at, {"nominatedClusterNames": ["w1", "w2"]})
    await write(api, at, {"clusterName": "w1", "nominatedClusterNames": None})
    (message,) = await refuse(api, f"{at}/status", {"status": {"clusterName": "w2"}})
    assert "clusterName is immutable once set" in message
    assert "clusterName" not in (await write(api, at, {"clusterName": None}))["status"]


async def test_cluster_name_and_nominations_exclude_each_other(api: Api, at: str) -> None:
    await write(api, at, {"nominatedClusterNames": ["w1", "w2"]})
    (message,) = await refuse(api, f"{at}/status", {"status": {"clusterName": "w1"}})
    assert "clusterName and nominatedClusterNames are mutually exclusive" in message


async def test_too_many_nominations(api: Api, at: str) -> None:
    names = [f"w{index}" for index in range(21)]
    messages = await refuse(api, f"{at}/status", {"status": {"nominatedClusterNames": names}})
    assert "must have at most 20 items" in messages[0]


async def test_queue_cannot_be_changed_while_quota_is_reserved(api: Api, at: str) -> None:
    assert (await api.patch(at, {"spec": {"queueName": "before"}})).ok()["spec"]["queueName"] == "before"
    await write(api, at, RESERVED)
    messages = await refuse(api, at, {"spec": {"queueName": "other"}})
    assert any("queueName is immutable while workload quota reserved" in message for message in messages)


async def test_assignments_must_match_the_pod_sets(api: Api, at: str) -> None:
    admission = {"clusterQueue": "cq", "podSetAssignments": [ADMISSION["podSetAssignments"][0], {"name": "more"}]}
    messages = await refuse(api, f"{at}/status", {"status": RESERVED | {"admission": admission}})
    assert any("podSetAssignments must have the same number of podSets as the spec" in each for each in messages)


async def test_two_conditions_of_one_type(api: Api, at: str) -> None:
    messages = await refuse(api, f"{at}/status", {"status": {"conditions": [condition("A"), condition("A")]}})
    assert any("Duplicate value" in message for message in messages)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"status": "Perhaps"}, "status"),
        ({"reason": ""}, "reason"),
        ({"reason": "has space"}, "reason"),
        ({"message": "x" * 32769}, "message"),
        ({"lastTransitionTime": "yesterday"}, "lastTransitionTime"),
        ({"type": "bad type"}, "type"),
    ],
    ids=["status", "empty reason", "reason", "long message", "time", "type"],
)
async def test_bad_condition(api: Api, at: str, change: dict[str, str], field: str) -> None:
    patch = {"status": {"conditions": [condition("A") | change]}}
    status = (await api.patch(f"{at}/status", patch)).error(422, "Invalid")
    assert f"status.conditions[0].{field}" in {cause["field"] for cause in status["details"]["causes"]}


async def test_state_of_an_admission_check(api: Api, at: str) -> None:
    check = {"name": "c", "state": "Perhaps", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    messages = await refuse(api, f"{at}/status", {"status": {"admissionChecks": [check]}})
    assert 'supported values: "Pending", "Ready", "Retry", "Rejected"' in messages[0]


async def test_admitted_workloads_can_be_selected_by_cluster_queue(api: Api, namespace: str, at: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("b", podSets=[pod_set()]))).expect(201)
    await write(api, at, RESERVED)
    found = (await api.get(WORKLOADS.at(namespace), fieldSelector="status.admission.clusterQueue=cq")).ok()
    assert [each["metadata"]["name"] for each in found["items"]] == ["a"]
