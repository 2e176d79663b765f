"""Tables: what `kubectl get` asks for and prints."""

from typing import Any

import pytest

from tests.conformance.builders import (
    cluster_queue,
    condition,
    job,
    local_queue,
    multikueue_cluster,
    pod,
    secret,
    workload,
    workload_priority_class,
)
from tests.conformance.client import Api, Obj
from tests.conformance.resources import (
    CLUSTER_QUEUES,
    COHORTS,
    EVENTS,
    JOBS,
    LEASES,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    SECRETS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)
from tests.conformance.samples import Sample

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
KUBECTL = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"

COLUMNS = {
    NAMESPACES: ["Name", "Status", "Age"],
    NODES: ["Name", "Status", "Roles", "Age", "Version"],
    SECRETS: ["Name", "Type", "Data", "Age"],
    EVENTS: ["Last Seen", "Type", "Reason", "Object", "Message"],
    PODS: ["Name", "Ready", "Status", "Restarts", "Age"],
    JOBS: ["Name", "Status", "Completions", "Duration", "Age"],
    LEASES: ["Name", "Holder", "Age"],
    PRIORITY_CLASSES: ["Name", "Value", "Global-Default", "Age", "PreemptionPolicy"],
    WORKLOADS: ["Name", "Queue", "Reserved in", "Admitted", "Finished", "Age"],
    LOCAL_QUEUES: ["Name", "ClusterQueue", "Pending Workloads", "Admitted Workloads"],
    CLUSTER_QUEUES: ["Name", "Cohort", "Pending Workloads"],
    MULTIKUEUE_CLUSTERS: ["Name", "Connected", "Age"],
    MULTIKUEUE_CONFIGS: ["Name", "Age"],
    RESOURCE_FLAVORS: ["Name", "Age"],
    COHORTS: ["Name", "Age"],
    WORKLOAD_PRIORITY_CLASSES: ["Name", "Value"],
}


async def table(api: Api, path: str, **params: str) -> Obj:
    found = (await api.get(path, accept=KUBECTL, **params)).ok()
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    return found


def cells(found: Obj) -> list[dict[str, Any]]:
    names = [column["name"] for column in found["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in found["rows"] or []]


@pytest.mark.parametrize("resource", COLUMNS, ids=lambda resource: f"{resource.qualified}")
async def test_columns(api: Api, namespace: str, resource: Resource) -> None:
    found = await table(api, resource.at(namespace if resource.is_namespaced else None))
    shown = [column["name"] for column in found["columnDefinitions"] if column["priority"] == 0]
    assert shown == COLUMNS[resource]
    for column in found["columnDefinitions"]:
        assert column["type"] in {"string", "integer", "number", "boolean", "date"}
        assert {"name", "type", "format", "description", "priority"} <= column.keys()
    assert [column["name"] for column in found["columnDefinitions"] if column["format"] == "name"] == ["Name"]


async def test_row_carries_the_metadata_of_its_object(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a", labels={"x": "y"})
    (row,) = (await table(api, sample.at(namespace)))["rows"]
    assert row["cells"][0] == "a"
    assert (row["object"]["kind"], row["object"]["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert row["object"]["metadata"] == created["metadata"]
    assert row["object"].keys() == {"kind", "apiVersion", "metadata"}


async def test_table_of_one_object(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    found = await table(api, sample.at(namespace, "a"))
    assert found["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
    assert [row["cells"][0] for row in found["rows"]] == ["a"]


@pytest.mark.parametrize(
    ("policy", "want"), [("None", None), ("Metadata", "PartialObjectMetadata"), ("Object", None)], ids=str
)
async def test_include_object(api: Api, namespace: str, sample: Sample, policy: str, want: str | None) -> None:
    await sample.create(api, namespace, "a")
    (row,) = (await table(api, sample.at(namespace), includeObject=policy))["rows"]
    if policy == "None":
        assert row.get("object") is None
    else:
        assert row["object"]["kind"] == (want or sample.resource.kind)


async def test_include_object_of_another_policy(api: Api, namespace: str, sample: Sample) -> None:
    (await api.get(sample.at(namespace), accept=TABLE, includeObject="Half")).error(400, "BadRequest")


async def test_table_comes_in_chunks(api: Api, namespace: str, sample: Sample) -> None:
    for name in ("a", "b", "c"):
        await sample.create(api, namespace, name)
    found = await table(api, sample.at(namespace), limit="2")
    assert [row["cells"][0] for row in found["rows"]] == ["a", "b"]
    assert found["metadata"]["remainingItemCount"] == 1
    rest = await table(api, sample.at(namespace), **{"continue": found["metadata"]["continue"]})
    assert [row["cells"][0] for row in rest["rows"]] == ["c"]


async def test_watched_table_names_its_columns_once(api: Api, namespace: str, sample: Sample) -> None:
    await sample.create(api, namespace, "a")
    accepting = Api(api.session, api.url, api.token, accept=TABLE)
    async with accepting.watch(sample.at(namespace), resourceVersion="0") as watch:
        first = await watch.next()
        await sample.create(api, namespace, "b")
        second = await watch.next()
    assert [event["object"]["kind"] for event in (first, second)] == ["Table", "Table"]
    assert [event["object"]["rows"][0]["cells"][0] for event in (first, second)] == ["a", "b"]
    assert first["object"]["columnDefinitions"]
    assert not second["object"].get("columnDefinitions")


async def test_partial_object_metadata(api: Api, namespace: str, sample: Sample) -> None:
    created = await sample.create(api, namespace, "a")
    one = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    found = (await api.get(sample.at(namespace, "a"), accept=one)).ok()
    assert found == {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": created["metadata"]}
    many = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    listed = (await api.get(sample.at(namespace), accept=many)).ok()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert [each["metadata"] for each in listed["items"]] == [created["metadata"]]


async def row_of(api: Api, resource: Resource, namespace: str, obj: Obj, status: Obj | None = None) -> dict[str, Any]:
    scope, name = namespace if resource.is_namespaced else None, obj["metadata"]["name"]
    (await api.post(resource.at(scope), obj)).expect(201)
    if status is not None:
        (await api.patch(resource.at(scope, name, "status"), {"status": status})).ok()
    (row,) = cells(await table(api, resource.at(scope, name)))
    return row


async def test_admitted_workload(api: Api, namespace: str) -> None:
    assignments = [{"name": "main", "count": 1}]
    status = {
        "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
        "conditions": [condition("QuotaReserved"), condition("Admitted")],
    }
    row = await row_of(api, WORKLOADS, namespace, workload("a", queueName="q"), status)
    assert (row["Queue"], row["Reserved in"], row["Admitted"], row["Finished"]) == ("q", "cq", "True", None)


async def test_fresh_workload(api: Api, namespace: str) -> None:
    row = await row_of(api, WORKLOADS, namespace, workload("a"))
    assert (row["Queue"], row["Reserved in"], row["Admitted"], row["Finished"]) == (None, None, None, None)
    assert row["Age"].endswith("s")


async def test_queues(api: Api, namespace: str) -> None:
    row = await row_of(api, LOCAL_QUEUES, namespace, local_queue("a"), {"pendingWorkloads": 3, "admittedWorkloads": 2})
    assert row == {"Name": "a", "ClusterQueue": "cq", "Pending Workloads": 3, "Admitted Workloads": 2}
    wide = await row_of(
        api, CLUSTER_QUEUES, namespace, cluster_queue(namespace, cohortName="c"), {"pendingWorkloads": 1}
    )
    assert (wide["Cohort"], wide["Pending Workloads"]) == ("c", 1)
    assert wide["Strategy"] == "BestEffortFIFO"


async def test_multikueue_cluster(api: Api, namespace: str) -> None:
    status = {"conditions": [condition("Active", "False")]}
    row = await row_of(api, MULTIKUEUE_CLUSTERS, namespace, multikueue_cluster(namespace), status)
    assert row["Connected"] == "False"


async def test_priority_class(api: Api, namespace: str) -> None:
    row = await row_of(api, WORKLOAD_PRIORITY_CLASSES, namespace, workload_priority_class(namespace, 7))
    assert row == {"Name": namespace, "Value": 7}


async def test_secret_counts_its_data(api: Api, namespace: str) -> None:
    row = await row_of(api, SECRETS, namespace, secret("a", data={"k": "dg==", "l": ""}))
    assert (row["Type"], row["Data"]) == ("Opaque", 2)


async def test_suspended_job(api: Api, namespace: str) -> None:
    row = await row_of(api, JOBS, namespace, job("a", completions=3, parallelism=1))
    assert (row["Status"], row["Completions"]) in {("Suspended", "0/3"), ("Running", "0/3")}


async def test_pending_pod(api: Api, namespace: str) -> None:
    row = await row_of(api, PODS, namespace, pod("a"))
    assert (row["Ready"], row["Status"], row["Restarts"]) == ("0/1", "Pending", "0")
