"""What users submit to the hub that is not for the workers: jobs that name no manager, and Workloads of other kinds."""

from typing import TYPE_CHECKING, Final

from config.names import KUEUE_API_VERSION
from localcluster.sample_queues import FLAVOR, NAMESPACE, QUEUE
from tests.support.job_builder import job

if TYPE_CHECKING:
    from config.api.meta import Obj
    from tests.simulation.clusters import SimulatedCluster

_LOCAL_QUEUE: Final = "local"
_QUOTA: Final = {"name": FLAVOR, "resources": [{"name": "cpu", "nominalQuota": "8"}]}
LOCAL: Final = (
    {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "ClusterQueue",
        "metadata": {"name": _LOCAL_QUEUE},
        "spec": {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [_QUOTA]}],
        },
    },
    {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "LocalQueue",
        "metadata": {"name": _LOCAL_QUEUE, "namespace": NAMESPACE},
        "spec": {"clusterQueue": _LOCAL_QUEUE},
    },
)
"""A queue of the hub without an admission check."""


def is_stray(job: "Obj") -> bool:
    """Tell whether a job of the hub is not for the workers."""
    return str(job["metadata"]["name"]).startswith("stray-")


def submit_stray(hub: "SimulatedCluster", what: str, name: str) -> None:
    """Submit a job without a manager, a Workload of a kind that is not switched on, or a job of the hub alone."""
    if what == "unowned":
        _submit_workload(hub, name)
        return
    queue = _LOCAL_QUEUE if what == "unchecked" else QUEUE
    builder = job(name).queue(queue).request(cpu=1).runs(10).with_metadata(namespace=NAMESPACE)
    hub.create("jobs", builder.raw, NAMESPACE)


def _submit_workload(hub: "SimulatedCluster", name: str) -> None:
    owner = hub.create("configmaps", {"metadata": {"name": name}}, NAMESPACE)
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": name,
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": "1"}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    metadata = {"name": name, "ownerReferences": [reference]}
    hub.create("workloads", {"metadata": metadata, "spec": {"queueName": QUEUE, "podSets": [pod_set]}}, NAMESPACE)
