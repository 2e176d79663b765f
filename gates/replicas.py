"""The replica of a hub Workload: what is created on a worker, and what is brought in line there.

A replica has no owner references and no finalizers, which belong to the hub's cluster; its gates are ours alone.
"""

from typing import Any

import orjson

from config.names import KUEUE_API_VERSION, MULTIKUEUE_NAME, ORIGIN_LABEL
from gates import marks
from gates.marks import HubIdentity, copied_annotations
from gates.records import HubRecord, ReplicaRecord

Obj = dict[str, Any]
Operations = list[Obj]


def replica_of(hub: HubRecord, identity: HubIdentity, *, gated: bool) -> Obj:
    """Make the Workload to create on a worker."""
    if not hub.document or hub.shape is None:
        raise ValueError(f"Workload {hub.namespace}/{hub.name} is finished or has no check: nothing to copy")
    document = orjson.loads(hub.document)
    labels = {key: value for key, value in document["labels"].items() if key != marks.JOB_UID}
    annotations = copied_annotations(document["annotations"])
    spec = {key: value for key, value in document["spec"].items() if key != "preemptionGates"}
    if gated:
        spec["preemptionGates"] = [{"name": MULTIKUEUE_NAME}]
        annotations[marks.GATED] = "true"
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": hub.name,
            "namespace": hub.namespace,
            "labels": {**labels, ORIGIN_LABEL: identity.origin},
            "annotations": {
                **annotations,
                marks.HUB: identity.hub,
                marks.HUB_UID: hub.uid,
                marks.SPEC_DIGEST: hub.shape.digest,
            },
        },
        "spec": spec,
    }


def spec_update(hub: HubRecord, replica: ReplicaRecord) -> Operations:
    """Return the patch that brings priority and pod set counts in line; the replica's gates stay as they are."""
    spec = orjson.loads(hub.document)["spec"]
    operations: Operations = []
    if hub.shape is not None and hub.shape.priority != replica.shape.priority:
        had = orjson.loads(replica.shape.priority)
        for field in ("priority", "priorityClassRef"):
            if spec.get(field) is not None:
                operations.append({"op": "add", "path": f"/spec/{field}", "value": spec[field]})
            elif had[field] is not None:
                operations.append({"op": "remove", "path": f"/spec/{field}"})
    counts = dict(replica.shape.counts)
    for index, pod_set in enumerate(spec.get("podSets") or ()):
        name, count = pod_set.get("name", "main"), pod_set.get("count", 1)
        if counts.get(name) != count:
            operations.append({"op": "replace", "path": f"/spec/podSets/{index}/count", "value": count})
    return operations
