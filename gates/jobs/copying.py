"""The remote job: the hub's job without what belongs to the hub.

Only name, namespace, labels, annotations and spec are copied. Owner references would make the worker's garbage
collector delete the copy, finalizers would keep it for ever.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from config.names import DOMAIN, ORIGIN_LABEL
from gates.jobs.kinds import JobKind, Path

Obj = dict[str, Any]

PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
ORIGIN_UID: Final = "kueue.x-k8s.io/multikueue-origin-uid"
HUB_UID: Final = f"{DOMAIN}/hub-uid"
JOB_UID_LABEL: Final = "kueue.x-k8s.io/job-uid"
_LABEL_VALUE_LIMIT: Final = 63
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def remote_job(kind: JobKind, hub_job: Obj, workload: str, origin: str) -> Obj:
    """Make the object to create on the worker."""
    metadata = hub_job["metadata"]
    labels = {**(metadata.get("labels") or {}), ORIGIN_LABEL: origin}
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != _LAST_APPLIED}
    annotations[HUB_UID] = metadata["uid"]
    if kind.prebuilt:
        labels, annotations = name_workload(labels, annotations, workload)
    else:
        annotations[ORIGIN_UID] = metadata["uid"]
    copy: Obj = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": annotations,
        },
        "spec": deepcopy(hub_job.get("spec") or {}),
    }
    for path in (*kind.drop, *((kind.managed_by,) if kind.managed_by else ())):
        _drop(copy, path)
    for path, label in kind.drop_labels:
        _drop(copy, (*path, label))
    return copy


def name_workload(
    labels: Mapping[str, str], annotations: Mapping[str, str], workload: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Name the prebuilt replica in both places that Kueue reads; a name too long for a label goes in one only."""
    kept = {key: value for key, value in labels.items() if key != PREBUILT}
    if len(workload) <= _LABEL_VALUE_LIMIT:
        kept[PREBUILT] = workload
    return kept, {**annotations, PREBUILT: workload}


def named_workload(job: Obj) -> str:
    """Read which replica a remote job belongs to: the annotation first."""
    metadata = job.get("metadata") or {}
    annotations, labels = metadata.get("annotations") or {}, metadata.get("labels") or {}
    return str(annotations.get(PREBUILT) or labels.get(PREBUILT) or "")


def manager_of(kind: JobKind, hub_job: Obj) -> str:
    """Return who the job says manages it."""
    value: Any = hub_job
    for step in kind.managed_by or ():
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def is_ours(obj: Obj, origin: str) -> bool:
    """Tell whether an object on a worker carries our origin."""
    labels = (obj.get("metadata") or {}).get("labels") or {}
    return bool(origin) and labels.get(ORIGIN_LABEL) == origin


def _drop(obj: Obj, path: Path) -> None:
    """Remove a field if it is there."""
    parent: Any = obj
    for step in path[:-1]:
        parent = parent.get(step) if isinstance(parent, dict) else None
    if isinstance(parent, dict):
        parent.pop(path[-1], None)
