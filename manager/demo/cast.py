"""Who takes part in the demo, as plain objects that a user would apply."""

from collections.abc import Mapping
from typing import Final

from config.api.meta import Obj
from config.names import KUEUE_API_VERSION, KUEUE_GROUP, MULTIKUEUE_NAME, ORIGIN_LABEL
from manager.demo.clusters import QUEUE
from manager.demo.clusters import RUN_SECONDS as RUN_ANNOTATION
from manager.demo.clusters import STOP_SECONDS as STOP_ANNOTATION

HUB: Final = "hub"
WORKERS: Final = ("worker-1", "worker-2", "worker-3")
WORKER_CPUS: Final = 8
HUB_CPUS: Final = WORKER_CPUS * len(WORKERS)
NAMESPACE: Final = "default"

LOW_PRIORITY: Final = ("batch-1", "batch-2", "batch-3", "batch-4")
"""On each worker, and not submitted through the hub: nothing of Turnstile's."""
LOW_CPUS: Final = 2
FIRST: Final = "urgent-a"
SECOND: Final = "urgent-b"
URGENT_CPUS: Final = 4
BYSTANDER: Final = "of-another-hub"
"""A Workload that another hub keeps on each worker."""

TIMEOUT_SECONDS: Final = 8
"""SingleClusterPreemptionTimeout; the default of five minutes is too long for a demo."""
RUN_TIME_SECONDS: Final = 3
STOP_TIME_SECONDS: Final = 2


def low_priority_job(name: str) -> Obj:
    """Return a job that runs on until it is told to stop, and then takes a moment."""
    return _job(name, "low", LOW_CPUS, {STOP_ANNOTATION: str(STOP_TIME_SECONDS)})


def urgent_job(name: str) -> Obj:
    """Return a job for the hub, to be run on one of the workers."""
    job = _job(name, "high", URGENT_CPUS, {RUN_ANNOTATION: str(RUN_TIME_SECONDS)})
    job["spec"]["managedBy"] = MULTIKUEUE_NAME
    return job


def job_to_try() -> Obj:
    """Return the same as a manifest that can be created again and again."""
    job = urgent_job("")
    job["metadata"] = {"generateName": "urgent-", **{k: v for k, v in job["metadata"].items() if k != "name"}}
    return job


def bystander() -> Obj:
    """Return a Workload that looks like a replica of this hub, but names another hub."""
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": {"name": BYSTANDER, "namespace": NAMESPACE, "labels": {ORIGIN_LABEL: "another-hub"}},
        "spec": {
            "active": False,
            "queueName": QUEUE,
            "podSets": [{"name": "main", "count": 1, "template": _template(LOW_CPUS)}],
        },
    }


def _job(name: str, priority: str, cpus: int, annotations: Mapping[str, str]) -> Obj:
    labels = {f"{KUEUE_GROUP}/queue-name": QUEUE, f"{KUEUE_GROUP}/priority-class": priority}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": dict(annotations)}
    spec = {"suspend": True, "template": _template(cpus)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def _template(cpus: int) -> Obj:
    container = {"name": "main", "image": "registry.example/job:1", "resources": {"requests": {"cpu": str(cpus)}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container]}}
