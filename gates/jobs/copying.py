"""The remote job: the hub's job without what belongs to the hub.

Only name, namespace, labels, annotations and spec are copied. Owner references would make the worker's garbage
collector delete the copy, finalizers would keep it for ever.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import Obj
from config.names import ORIGIN_LABEL
from gates.jobs.kinds import JobKind, Path
from gates.model import marks
from gates.model.marks import HubIdentity, copied_annotations

PREBUILT: Final = "kueue.x-k8s.io/prebuilt-workload-name"
ORIGIN_UID: Final = "kueue.x-k8s.io/multikueue-origin-uid"
_LABEL_VALUE_LIMIT: Final = 63


def remote_job(
    kind: JobKind, hub_job: Obj, workload: str, identity: HubIdentity, cluster: WorkerName = NO_WORKER
) -> Obj:
    """Make the object to create on the worker that is called `cluster`."""
    metadata = hub_job["metadata"]
    labels = {**(metadata.get("labels") or {}), ORIGIN_LABEL: identity.origin}
    annotations = copied_annotations(metadata.get("annotations"))
    annotations |= {marks.HUB: identity.hub, marks.HUB_UID: metadata["uid"]}
    if cluster:
        annotations[marks.CLUSTER] = cluster
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
    for path, field, value in kind.drop_items:
        items = field_at(copy, path)
        if isinstance(items, list):
            items[:] = [item for item in items if not (isinstance(item, dict) and item.get(field) == value)]
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
    value = field_at(hub_job, kind.managed_by or ())
    return value if isinstance(value, str) else ""


def field_at(obj: Obj, path: Path) -> Any:
    """Return the value at a path, None where it leads nowhere."""
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _drop(obj: Obj, path: Path) -> None:
    """Remove a field if it is there."""
    parent = field_at(obj, path[:-1])
    if isinstance(parent, dict):
        parent.pop(path[-1], None)
