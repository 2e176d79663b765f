"""A small MultiKueue set-up to try things on: one queue on every cluster, and on the hub what ties them together.

Plain objects, as a user would apply them; nothing here knows a running cluster.
"""

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from config.api.meta import Obj
from config.names import CONTROLLER_NAME, KUBECONFIG_KEY, KUEUE_API_VERSION, KUEUE_GROUP

QUEUE: Final = "jobs"
"""The name of the ClusterQueue, and of the LocalQueue in NAMESPACE."""
NAMESPACE: Final = "default"
FLAVOR: Final = "default-flavor"
CHECK: Final = "workers"
"""The name of the hub's AdmissionCheck and MultiKueueConfig."""
PRIORITIES: Final[Mapping[str, int]] = {"low": 100, "high": 1000}
"""WorkloadPriorityClasses."""


@dataclass(frozen=True, slots=True)
class Ties:
    """What ties a hub to its workers."""

    workers: Sequence[str]
    kubeconfigs: Mapping[str, bytes]
    """Of the workers to register; the others are registered in another way."""
    namespace: str
    """Where the Secrets with the kubeconfigs are."""
    controller_name: str = CONTROLLER_NAME


def worker_objects(cpu: str) -> list[Obj]:
    """Return a queue with so much quota, in which high priorities preempt low ones."""
    return list(_queue_objects(cpu, {}))


def hub_objects(cpu: str, ties: Ties) -> list[Obj]:
    """Return the same queue with a check that sends its Workloads to the workers, and the workers."""
    checked = {"admissionChecksStrategy": {"admissionChecks": [{"name": CHECK}]}}
    return [*_multikueue_objects(ties), *_queue_objects(cpu, checked)]


def _queue_objects(cpu: str, more: Mapping[str, Any]) -> Iterator[Obj]:
    for name, value in PRIORITIES.items():
        yield {**_head("WorkloadPriorityClass", name), "value": value}
    yield {**_head("ResourceFlavor", FLAVOR), "spec": {}}
    quota = {"name": FLAVOR, "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    yield {
        **_head("ClusterQueue", QUEUE),
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
            "preemption": {"withinClusterQueue": "LowerPriority"},
            **more,
        },
    }
    yield {**_head("LocalQueue", QUEUE, namespace=NAMESPACE), "spec": {"clusterQueue": QUEUE}}


def _multikueue_objects(ties: Ties) -> Iterator[Obj]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ties.namespace}}
    for name in ties.kubeconfigs:
        yield {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": ties.namespace},
            "data": {KUBECONFIG_KEY: base64.b64encode(ties.kubeconfigs[name]).decode()},
        }
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        yield {**_head("MultiKueueCluster", name), "spec": {"clusterSource": source}}
    yield {**_head("MultiKueueConfig", CHECK), "spec": {"clusters": list(ties.workers)}}
    parameters = {"apiGroup": KUEUE_GROUP, "kind": "MultiKueueConfig", "name": CHECK}
    yield {
        **_head("AdmissionCheck", CHECK),
        "spec": {"controllerName": ties.controller_name, "parameters": parameters},
    }


def _head(kind: str, name: str, **metadata: str) -> Obj:
    return {"apiVersion": KUEUE_API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}}
