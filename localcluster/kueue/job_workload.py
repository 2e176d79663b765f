"""The Workload that stands for a batch/v1 Job: its name, its content, and whether it still describes the Job.

Names, labels and comparisons are Kueue v0.19.1's. Partial admission, topology requests and elastic jobs are left out.
"""

from hashlib import sha1
from typing import Any, Final

from config.api.meta import Obj
from localcluster.catalogue.kueue_kinds.vocabulary import GROUP, RESOURCE_IN_USE_FINALIZER
from localcluster.kueue.owners import JOB_UID_LABEL, PREBUILT_NAME, QUEUE_LABEL

_LONGEST_PREFIX: Final = 63 - 1 - 5
_HASH_LENGTH: Final = 5
_LABELS_OF_JOB_CONTROLLER: Final = ("job-name", "controller-uid", "batch.kubernetes.io/controller-uid")
_TIME_LIMIT_LABEL: Final = f"{GROUP}/max-exec-time-seconds"
_COPIED_ANNOTATION: Final = f"{GROUP}/admission-gated-by"


def queue_name(job: Obj) -> str:
    """Return the LocalQueue that the Job was submitted to, empty if Kueue has nothing to do with it."""
    return str(_labels(job).get(QUEUE_LABEL) or "")


def prebuilt_name(job: Obj) -> str:
    """Return the name of the Workload that another component made for the Job, empty if there is none."""
    annotations = job["metadata"].get("annotations") or {}
    return str(annotations.get(PREBUILT_NAME) or _labels(job).get(PREBUILT_NAME) or "")


def workload_name(job: Obj) -> str:
    """Return the name of the Workload that belongs to the Job."""
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    digest = sha1(f"Job\nbatch\n{name}\n{uid}".encode(), usedforsecurity=False).hexdigest()
    return f"{f'job-{name}'[:_LONGEST_PREFIX]}-{digest[:_HASH_LENGTH]}"


def workload_for(job: Obj, priority: dict[str, Any]) -> Obj:
    """Return the Workload to create; `priority` are the fields of its spec that say how important it is."""
    metadata: Obj = {
        "name": workload_name(job),
        "labels": {JOB_UID_LABEL: job["metadata"]["uid"]},
        "ownerReferences": [reference_to(job)],
        "finalizers": [RESOURCE_IN_USE_FINALIZER],
    }
    gated_by = (job["metadata"].get("annotations") or {}).get(_COPIED_ANNOTATION)
    if gated_by:
        metadata["annotations"] = {_COPIED_ANNOTATION: gated_by}
    spec: Obj = {"queueName": queue_name(job), "podSets": [pod_set_of(job)], **priority}
    limit = _labels(job).get(_TIME_LIMIT_LABEL, "")
    if limit.isdecimal() and int(limit) > 0:
        spec["maximumExecutionTimeSeconds"] = int(limit)
    return {"metadata": metadata, "spec": spec}


def adoption(job: Obj, workload: Obj) -> Obj:
    """Return the patch that makes the Job the owner of a Workload that another component made for it."""
    references = workload["metadata"].get("ownerReferences") or []
    owned = [*references, reference_to(job)]
    return {"metadata": {"ownerReferences": owned, "labels": {JOB_UID_LABEL: job["metadata"]["uid"]}}}


def reference_to(job: Obj) -> Obj:
    """Return the reference by which the Job controls its Workload."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_set_of(job: Obj) -> Obj:
    """Return the Job's pods as a pod set."""
    spec = job["spec"]
    template = spec["template"]
    metadata = template.get("metadata") or {}
    labels = {
        name: value for name, value in (metadata.get("labels") or {}).items() if name not in _LABELS_OF_JOB_CONTROLLER
    }
    count = min(spec["parallelism"], spec.get("completions", spec["parallelism"]))
    return {"name": "main", "count": count, "template": {**template, "metadata": {**metadata, "labels": labels}}}


def describes(workload: Obj, job: Obj) -> bool:
    """Return whether the Workload still asks for what the Job's pods ask for."""
    pod_sets = workload["spec"].get("podSets") or []
    return len(pod_sets) == 1 and _essence(pod_sets[0]) == _essence(pod_set_of(job))


def _essence(pod_set: Obj) -> tuple[Any, ...]:
    spec = pod_set["template"].get("spec") or {}
    return pod_set.get("count"), spec.get("initContainers") or [], spec.get("containers") or []


def _labels(job: Obj) -> dict[str, str]:
    return job["metadata"].get("labels") or {}
