"""Jobs to submit to a local fleet: some that fill it, and one for which others have to make room."""

from config.api.meta import Obj
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from localcluster.kueue.annotations import RUN_SECONDS, STOP_SECONDS
from localcluster.sample_queues import NAMESPACE, QUEUE

WORKER_CPUS = 8
"""The quota of each worker."""
JOB_CPUS = 4
"""What each job asks for."""
_RUN_SECONDS = 30
_STOP_SECONDS = 2


def batch_jobs(workers: int) -> list[Obj]:
    """Return low-priority jobs that take all that so many workers have, and run until they are deleted."""
    count = workers * WORKER_CPUS // JOB_CPUS
    return [_job(f"batch-{number}", "low", {STOP_SECONDS: str(_STOP_SECONDS)}) for number in range(1, count + 1)]


def urgent_job() -> Obj:
    """Return a high-priority job that runs for a while."""
    return _job("urgent", "high", {RUN_SECONDS: str(_RUN_SECONDS)})


def _job(name: str, priority: str, annotations: dict[str, str]) -> Obj:
    labels = {f"{KUEUE_GROUP}/queue-name": QUEUE, f"{KUEUE_GROUP}/priority-class": priority}
    container = {"name": "main", "image": "registry.example/job:1", "resources": {"requests": {"cpu": str(JOB_CPUS)}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations},
        "spec": {
            "suspend": True,
            "managedBy": MULTIKUEUE_NAME,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }
