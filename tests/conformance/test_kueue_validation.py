"""Kueue's kinds are checked by the rules of their definitions: one cause per broken rule, each naming its field.

Rules of Kueue's webhooks are not here: a bare API server does not run them.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conformance.builders import (
    admission_check,
    an_object,
    cluster_queue,
    local_queue,
    multikueue_cluster,
    multikueue_config,
    pod_set,
    resource_flavor,
    resource_group,
    workload,
)
from tests.conformance.client import Api, Obj
from tests.conformance.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    RESOURCE_FLAVORS,
    TOPOLOGIES,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)

INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
NOT_SUPPORTED = "FieldValueNotSupported"
TOO_MANY = "FieldValueTooMany"
TOO_LONG = "FieldValueTooLong"
WRONG_TYPE = "FieldValueTypeInvalid"


@dataclass(frozen=True, slots=True)
class Refused:
    """An object that must not get in, and the cause that the server must give."""

    resource: Resource
    obj: Obj
    reason: str
    field: str
    message: str


def _group(**change: Any) -> Obj:
    return resource_group() | change


CREATES = {
    "queueing strategy outside of the enum": Refused(
        CLUSTER_QUEUES,
        cluster_queue("a", queueingStrategy="LIFO"),
        NOT_SUPPORTED,
        "spec.queueingStrategy",
        'Unsupported value: "LIFO": supported values: "StrictFIFO", "BestEffortFIFO"',
    ),
    "stop policy outside of the enum": Refused(
        LOCAL_QUEUES, local_queue("a", stopPolicy="Sometimes"), NOT_SUPPORTED, "spec.stopPolicy", '"Sometimes"'
    ),
    "flavor fungibility outside of the enum": Refused(
        CLUSTER_QUEUES,
        cluster_queue("a", flavorFungibility={"whenCanBorrow": "Borrow"}),
        NOT_SUPPORTED,
        "spec.flavorFungibility.whenCanBorrow",
        '"MayStopSearch", "TryNextFlavor"',
    ),
    "missing required string": Refused(
        ADMISSION_CHECKS, an_object(ADMISSION_CHECKS, "a", spec={}), REQUIRED, "spec.controllerName", "Required value"
    ),
    "missing required list": Refused(
        CLUSTER_QUEUES,
        cluster_queue("a", resourceGroups=[{"flavors": _group()["flavors"]}]),
        REQUIRED,
        "spec.resourceGroups[0].coveredResources",
        "Required value",
    ),
    "missing required field of the object itself": Refused(
        WORKLOAD_PRIORITY_CLASSES, an_object(WORKLOAD_PRIORITY_CLASSES, "a"), REQUIRED, "value", "Required value"
    ),
    "missing template of a pod set": Refused(
        WORKLOADS, workload("a", podSets=[{"name": "main"}]), REQUIRED, "spec.podSets[0].template", "Required value"
    ),
    "list that is too short": Refused(
        WORKLOADS,
        workload("a", podSets=[]),
        INVALID,
        "spec.podSets",
        "spec.podSets in body should have at least 1 items",
    ),
    "list that is too long": Refused(
        WORKLOADS,
        workload("a", podSets=[pod_set(f"p{index}") for index in range(19)]),
        TOO_MANY,
        "spec.podSets",
        "Too many: 19: must have at most 18 items",
    ),
    "too many preemption gates": Refused(
        WORKLOADS,
        workload("a", preemptionGates=[{"name": f"g{index}"} for index in range(9)]),
        TOO_MANY,
        "spec.preemptionGates",
        "Too many: 9: must have at most 8 items",
    ),
    "two elements of one key": Refused(
        WORKLOADS,
        workload("a", preemptionGates=[{"name": "g"}, {"name": "g"}]),
        "FieldValueDuplicate",
        "spec.preemptionGates[1]",
        "Duplicate value",
    ),
    "name that does not match its pattern": Refused(
        WORKLOADS,
        workload("a", podSets=[pod_set("Main")]),
        INVALID,
        "spec.podSets[0].name",
        "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
    ),
    "name that is too long": Refused(
        WORKLOADS, workload("a", queueName="q" * 254), TOO_LONG, "spec.queueName", "Too long: may not be more than 253"
    ),
    "string that is too short": Refused(
        ADMISSION_CHECKS, admission_check("a", controllerName=""), INVALID, "spec.controllerName", "at least 1 chars"
    ),
    "number below the minimum": Refused(
        WORKLOADS,
        workload("a", maximumExecutionTimeSeconds=0),
        INVALID,
        "spec.maximumExecutionTimeSeconds",
        "should be greater than or equal to 1",
    ),
    "string in place of a number": Refused(
        WORKLOADS,
        workload("a", priority="high"),
        WRONG_TYPE,
        "spec.priority",
        'must be of type integer: "string"',
    ),
    "object in place of a list": Refused(
        WORKLOADS, workload("a", podSets={}), WRONG_TYPE, "spec.podSets", 'must be of type array: "object"'
    ),
    "invalid quantity": Refused(
        CLUSTER_QUEUES,
        cluster_queue("a", resourceGroups=[resource_group(cpu="lots")]),
        INVALID,
        "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota",
        "should match",
    ),
    "minimum count above the count": Refused(
        WORKLOADS,
        workload("a", podSets=[pod_set(count=2, minCount=3)]),
        INVALID,
        "spec.podSets[0]",
        "minCount should be positive and less or equal to count",
    ),
    "priority class without a priority": Refused(
        WORKLOADS,
        workload("a", priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "p"}),
        INVALID,
        "spec",
        "priority should not be nil when priorityClassRef is set",
    ),
    "priority class of the wrong kind for its group": Refused(
        WORKLOADS,
        workload("a", priority=1, priorityClassRef={"group": "kueue.x-k8s.io", "kind": "PriorityClass", "name": "p"}),
        INVALID,
        "spec.priorityClassRef",
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
    ),
    "flavor without all covered resources": Refused(
        CLUSTER_QUEUES,
        cluster_queue("a", resourceGroups=[_group(coveredResources=["cpu", "memory"])]),
        INVALID,
        "spec.resourceGroups[0]",
        "flavors must have the same number of resources as the coveredResources",
    ),
    "borrowing preemption without reclaim": Refused(
        CLUSTER_QUEUES,
        cluster_queue(
            "a", preemption={"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
        ),
        INVALID,
        "spec.preemption",
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    "two sources of one cluster": Refused(
        MULTIKUEUE_CLUSTERS,
        multikueue_cluster("a", kubeConfig={"location": "s"}, clusterProfileRef={"name": "p"}),
        INVALID,
        "spec.clusterSource",
        "exactly one of the fields in [kubeConfig clusterProfileRef] must be set",
    ),
    "one cluster listed twice": Refused(
        MULTIKUEUE_CONFIGS, multikueue_config("a", "w", "w"), INVALID, "spec.clusters", "must be unique"
    ),
    "no cluster listed": Refused(
        MULTIKUEUE_CONFIGS, multikueue_config("a"), INVALID, "spec.clusters", "should have at least 1 items"
    ),
    "too many clusters listed": Refused(
        MULTIKUEUE_CONFIGS,
        multikueue_config("a", *(f"w{index}" for index in range(21))),
        TOO_MANY,
        "spec.clusters",
        "Too many: 21: must have at most 20 items",
    ),
    "topology without a node label": Refused(
        RESOURCE_FLAVORS,
        resource_flavor("a", topologyName="t", nodeLabels={}),
        INVALID,
        "spec",
        "at least one nodeLabel is required when topology is set",
    ),
    "taint of an unknown effect": Refused(
        RESOURCE_FLAVORS,
        resource_flavor("a", nodeTaints=[{"key": "k", "effect": "Sometimes"}]),
        INVALID,
        "spec.nodeTaints",
        "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
    ),
    "host name above the lowest level": Refused(
        TOPOLOGIES,
        an_object(
            TOPOLOGIES,
            "a",
            spec={"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "example.com/rack"}]},
        ),
        INVALID,
        "spec.levels",
        "the kubernetes.io/hostname label can only be used at the lowest level of topology",
    ),
    "cohort of a bad parent name": Refused(
        COHORTS, an_object(COHORTS, "a", spec={"parentName": "Up"}), INVALID, "spec.parentName", "should match"
    ),
}


def path_of(resource: Resource, namespace: str, name: str | None = None) -> str:
    return resource.at(namespace if resource.is_namespaced else None, name)


@pytest.mark.parametrize("refused", CREATES.values(), ids=CREATES.keys())
async def test_broken_rule_is_one_cause_with_its_field(api: Api, namespace: str, refused: Refused) -> None:
    obj = refused.obj | {"metadata": {"name": namespace}}
    status = (await api.post(path_of(refused.resource, namespace), obj)).error(422, "Invalid")
    assert status["details"]["name"] == namespace
    assert (status["details"]["group"], status["details"]["kind"]) == (refused.resource.group, refused.resource.kind)
    causes = [(cause["reason"], cause["field"]) for cause in status["details"]["causes"]]
    assert (refused.reason, refused.field) in causes, status["details"]["causes"]
    (message,) = [
        cause["message"]
        for cause in status["details"]["causes"]
        if (cause["reason"], cause["field"]) == (refused.reason, refused.field)
    ]
    assert refused.message in message
    assert status["message"].startswith(f'{refused.resource.kind}.{refused.resource.group} "{namespace}" is invalid: ')


async def test_all_broken_rules_are_told_at_once(api: Api, unique: str) -> None:
    broken = cluster_queue(unique, queueingStrategy="LIFO", stopPolicy="Sometimes")
    status = (await api.post(CLUSTER_QUEUES.at(), broken)).error(422, "Invalid")
    fields = {cause["field"] for cause in status["details"]["causes"]}
    assert {"spec.queueingStrategy", "spec.stopPolicy"} <= fields
    assert status["message"].startswith(f'ClusterQueue.kueue.x-k8s.io "{unique}" is invalid: [')


CHANGES = {
    "the cluster queue of a local queue": (
        LOCAL_QUEUES,
        local_queue("a"),
        {"clusterQueue": "other"},
        "spec.clusterQueue",
        "field is immutable",
    ),
    "the controller of an admission check": (
        ADMISSION_CHECKS,
        admission_check("a"),
        {"controllerName": "x"},
        "spec.controllerName",
        "field is immutable",
    ),
    "the levels of a topology": (
        TOPOLOGIES,
        an_object(TOPOLOGIES, "a", spec={"levels": [{"nodeLabel": "example.com/rack"}]}),
        {"levels": [{"nodeLabel": "example.com/block"}]},
        "spec.levels",
        "field is immutable",
    ),
    "the topology of a flavor": (
        RESOURCE_FLAVORS,
        resource_flavor("a", topologyName="t", nodeLabels={"a": "b"}),
        {"topologyName": "u"},
        "spec",
        "topologyName is immutable when topologyName is set",
    ),
}


@pytest.mark.parametrize(("resource", "obj", "change", "field", "message"), CHANGES.values(), ids=CHANGES.keys())
async def test_immutable_field(
    api: Api, namespace: str, resource: Resource, obj: Obj, change: Obj, field: str, message: str
) -> None:
    obj = obj | {"metadata": {"name": namespace}}
    created = (await api.post(path_of(resource, namespace), obj)).expect(201)
    at = path_of(resource, namespace, namespace)
    status = (await api.patch(at, {"spec": change})).error(422, "Invalid")
    (cause,) = status["details"]["causes"]
    assert (cause["reason"], cause["field"]) == (INVALID, field)
    assert message in cause["message"]
    changed = {**created, "spec": {**created["spec"], **change}}
    (await api.put(at, changed)).error(422, "Invalid")
    assert (await api.get(at)).ok() == created
