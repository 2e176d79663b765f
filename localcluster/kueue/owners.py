"""Which Job a Workload stands for, and what keeps a Workload from being deleted while its Job may run."""

from typing import Any, Final

from config.api.meta import Obj
from config.names import KUEUE_GROUP
from localcluster.catalogue.kueue_kinds.vocabulary import RESOURCE_IN_USE_FINALIZER
from localcluster.store.store import Store

QUEUE_LABEL: Final = f"{KUEUE_GROUP}/queue-name"
JOB_UID_LABEL: Final = f"{KUEUE_GROUP}/job-uid"
PREBUILT_NAME: Final = f"{KUEUE_GROUP}/prebuilt-workload-name"
"""Annotation, or label for names that are short enough, by which a Job names the Workload that was made for it."""


def controller_of(raw: Obj) -> Obj | None:
    """Return the owner reference of the controller."""
    references: list[Obj] = raw["metadata"].get("ownerReferences") or []
    return next((reference for reference in references if reference.get("controller")), None)


def job_of(store: Store, workload: Obj) -> Obj | None:
    """Return the Job that controls the Workload, None if there is none in this cluster."""
    owner = controller_of(workload)
    if owner is None or (owner["apiVersion"], owner["kind"]) != ("batch/v1", "Job"):
        return None
    found = store.collection(store.kind("jobs", "batch")).get((workload["metadata"]["namespace"], owner["name"]))
    return found.obj if found is not None and found.obj["metadata"]["uid"] == owner["uid"] else None


def without_finalizer(raw: Obj) -> dict[str, Any] | None:
    """Return the patch that no longer keeps the object from being deleted, None if we do not keep it."""
    finalizers: list[str] = raw["metadata"].get("finalizers") or []
    if RESOURCE_IN_USE_FINALIZER not in finalizers:
        return None
    return {"metadata": {"finalizers": [name for name in finalizers if name != RESOURCE_IN_USE_FINALIZER]}}
