"""Smallest valid objects of each kind; a test names only the fields that it is about."""

from typing import Any

from tests.conformance.client import Obj
from tests.conformance.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    DISRUPTION_BUDGETS,
    EVENTS,
    JOBS,
    LEASES,
    LOCAL_QUEUES,
    MULTIKUEUE_CLUSTERS,
    MULTIKUEUE_CONFIGS,
    NAMESPACES,
    NEW_EVENTS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_FLAVORS,
    SECRETS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
    Resource,
)

IMAGE = "registry.example/image:1"
EVENT_TIME = "2026-01-02T03:04:05.000000Z"


def an_object(resource: Resource, name: str | None, /, **fields: Any) -> Obj:
    """Return an object with the given top-level fields; `metadata` is merged under the name."""
    metadata = {"name": name} if name is not None else {}
    metadata.update(fields.pop("metadata", {}))
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **fields}


def namespace(name: str, **fields: Any) -> Obj:
    """Return a Namespace."""
    return an_object(NAMESPACES, name, **fields)


def node(name: str, **fields: Any) -> Obj:
    """Return a Node."""
    return an_object(NODES, name, **fields)


def secret(name: str | None, **fields: Any) -> Obj:
    """Return a Secret: the built-in kind without spec, status or generation."""
    return an_object(SECRETS, name, **fields)


def pod_spec(**fields: Any) -> Obj:
    """Return the spec of a pod with one container."""
    return {"containers": [{"name": "main", "image": IMAGE}], **fields}


def pod(name: str, *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """Return a Pod with one container."""
    return an_object(PODS, name, metadata=metadata or {}, spec=pod_spec(**spec))


def job(name: str, *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """Return a suspended Job with one pod."""
    template = {"spec": pod_spec(restartPolicy="Never")}
    return an_object(JOBS, name, metadata=metadata or {}, spec={"suspend": True, "template": template, **spec})


def lease(name: str, **spec: Any) -> Obj:
    """Return a Lease."""
    return an_object(LEASES, name, spec=spec)


def disruption_budget(name: str, *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """Return a PodDisruptionBudget: a built-in kind with spec, status and generation."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}, **spec}
    return an_object(DISRUPTION_BUDGETS, name, metadata=metadata or {}, spec=spec)


def priority_class(name: str, value: int = 1000) -> Obj:
    """Return a PriorityClass."""
    return an_object(PRIORITY_CLASSES, name, value=value)


def core_event(name: str, namespace: str, **fields: Any) -> Obj:
    """Return a core/v1 Event about a pod."""
    about = {"kind": "Pod", "namespace": namespace, "name": "p"}
    return an_object(EVENTS, name, **{"involvedObject": about, "reason": "Tested", "type": "Normal", **fields})


def new_event(name: str, namespace: str, **fields: Any) -> Obj:
    """Return an events.k8s.io/v1 Event about a pod."""
    usual = {
        "regarding": {"kind": "Pod", "namespace": namespace, "name": "p"},
        "eventTime": EVENT_TIME,
        "reportingController": "example.com/tester",
        "reportingInstance": "tester-1",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
    }
    return an_object(NEW_EVENTS, name, **{**usual, **fields})


def local_queue(name: str | None, *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """Return a LocalQueue: the custom kind with little in it."""
    return an_object(LOCAL_QUEUES, name, metadata=metadata or {}, spec={"clusterQueue": "cq", **spec})


def pod_set(name: str = "main", count: int = 1, **fields: Any) -> Obj:
    """Return one pod set of a Workload."""
    return {"name": name, "count": count, "template": {"spec": pod_spec(restartPolicy="Never")}, **fields}


def workload(name: str | None, *, metadata: Obj | None = None, **spec: Any) -> Obj:
    """Return a Workload with one pod set of one pod."""
    return an_object(WORKLOADS, name, metadata=metadata or {}, spec={"podSets": [pod_set()], **spec})


def resource_group(flavor: str = "default", cpu: str = "10") -> Obj:
    """Return a resource group with CPU in one flavor."""
    flavors = [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": cpu}]}]
    return {"coveredResources": ["cpu"], "flavors": flavors}


def cluster_queue(name: str, **spec: Any) -> Obj:
    """Return a ClusterQueue with CPU in one flavor, open to all namespaces."""
    return an_object(CLUSTER_QUEUES, name, spec={"namespaceSelector": {}, "resourceGroups": [resource_group()], **spec})


def resource_flavor(name: str, **spec: Any) -> Obj:
    """Return a ResourceFlavor."""
    return an_object(RESOURCE_FLAVORS, name, spec=spec)


def admission_check(name: str, **spec: Any) -> Obj:
    """Return an AdmissionCheck of a made-up controller."""
    return an_object(ADMISSION_CHECKS, name, spec={"controllerName": "example.com/tester", **spec})


def workload_priority_class(name: str, value: int = 100) -> Obj:
    """Return a WorkloadPriorityClass."""
    return an_object(WORKLOAD_PRIORITY_CLASSES, name, value=value)


def multikueue_config(name: str, *clusters: str) -> Obj:
    """Return a MultiKueueConfig that lists these clusters."""
    return an_object(MULTIKUEUE_CONFIGS, name, spec={"clusters": list(clusters)})


def multikueue_cluster(name: str, **source: Any) -> Obj:
    """Return a MultiKueueCluster, whose kubeconfig is in a Secret unless told otherwise."""
    source = source or {"kubeConfig": {"location": "secret-name", "locationType": "Secret"}}
    return an_object(MULTIKUEUE_CLUSTERS, name, spec={"clusterSource": source})


def condition(kind: str, status: str = "True", **fields: Any) -> Obj:
    """Return a condition as `status.conditions` holds it."""
    usual = {
        "type": kind,
        "status": status,
        "reason": "Tested",
        "message": "",
        "lastTransitionTime": EVENT_TIME[:19] + "Z",
    }
    return {**usual, **fields}
