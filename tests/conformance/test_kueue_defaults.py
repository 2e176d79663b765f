"""What the definitions of Kueue's kinds fill in, cut off and leave alone."""

import pytest

from tests.conformance.builders import cluster_queue, local_queue, multikueue_cluster, pod_set, resource_group, workload
from tests.conformance.client import Api, Obj
from tests.conformance.resources import CLUSTER_QUEUES, LOCAL_QUEUES, MULTIKUEUE_CLUSTERS, WORKLOADS, Resource

DEFAULTS: dict[str, tuple[Resource, Obj, Obj]] = {
    "LocalQueue": (LOCAL_QUEUES, local_queue("a"), {"clusterQueue": "cq", "stopPolicy": "None"}),
    "ClusterQueue": (
        CLUSTER_QUEUES,
        cluster_queue("a", preemption={}, resourceGroups=[]),
        {
            "namespaceSelector": {},
            "resourceGroups": [],
            "queueingStrategy": "BestEffortFIFO",
            "stopPolicy": "None",
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "preemption": {
                "borrowWithinCohort": {"policy": "Never"},
                "reclaimWithinCohort": "Never",
                "withinClusterQueue": "Never",
            },
        },
    ),
    "MultiKueueCluster": (
        MULTIKUEUE_CLUSTERS,
        multikueue_cluster("a", kubeConfig={"location": "s"}),
        {"clusterSource": {"kubeConfig": {"location": "s", "locationType": "Secret"}}},
    ),
}


@pytest.mark.parametrize(("resource", "obj", "want"), DEFAULTS.values(), ids=DEFAULTS.keys())
async def test_defaults_are_filled_in(api: Api, namespace: str, resource: Resource, obj: Obj, want: Obj) -> None:
    obj = obj | {"metadata": {"name": namespace}}
    scope = namespace if resource.is_namespaced else None
    assert (await api.post(resource.at(scope), obj)).expect(201)["spec"] == want


async def test_defaults_of_a_workload(api: Api, namespace: str) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    created = (await api.post(WORKLOADS.at(namespace), workload("a", podSets=[{"template": template}]))).expect(201)
    assert created["spec"]["active"] is True
    assert (created["spec"]["podSets"][0]["name"], created["spec"]["podSets"][0]["count"]) == ("main", 1)


async def test_unknown_fields_are_pruned_at_every_depth(api: Api, namespace: str) -> None:
    sets = [pod_set(nosuch="x", template={"nosuch": "x", "spec": {"containers": [{"name": "c", "nosuch": "x"}]}})]
    built = workload("a", podSets=sets, nosuch="x") | {"nosuch": "x"}
    created = (await api.post(WORKLOADS.at(namespace), built)).expect(201)
    assert "nosuch" not in str({key: value for key, value in created.items() if key != "metadata"})
    patched = (await api.patch(WORKLOADS.at(namespace, "a"), {"spec": {"nosuch": {"deep": 1}}})).ok()
    assert patched["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


async def test_state_of_a_gate_is_pruned_and_its_position_required(api: Api, namespace: str) -> None:
    (await api.post(WORKLOADS.at(namespace), workload("a", preemptionGates=[{"name": "g"}]))).expect(201)
    gate = {"name": "g", "state": "Open", "lastTransitionTime": "2026-01-02T03:04:05Z"}
    at = WORKLOADS.at(namespace, "a", "status")
    status = (await api.patch(at, {"status": {"preemptionGates": [gate]}})).error(422, "Invalid")
    assert status["details"]["causes"][0]["field"] == "status.preemptionGates[0].position"
    for position, code in (("Open", 200), ("Closed", 200), ("Ajar", 422)):
        patch = {"status": {"preemptionGates": [gate | {"position": position}]}}
        assert (await api.patch(at, patch)).status == code


async def test_quantities_are_kept_as_written(api: Api, unique: str) -> None:
    groups = [resource_group(cpu="1500m")]
    created = (await api.post(CLUSTER_QUEUES.at(), cluster_queue(unique, resourceGroups=groups))).expect(201)
    assert created["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == "1500m"


async def test_quantity_may_be_a_number(api: Api, unique: str) -> None:
    groups = [resource_group()]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = 7
    created = (await api.post(CLUSTER_QUEUES.at(), cluster_queue(unique, resourceGroups=groups))).expect(201)
    assert created["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] == 7
