"""The replica of a hub Workload: what is created on a worker, and what is brought in line there.

A replica has no owner references and no finalizers, which belong to the hub's cluster; its gates are ours alone.
"""

import orjson

from config.api.identifiers import NO_WORKER, WorkerName
from config.api.meta import Obj
from config.names import KUEUE_API_VERSION, MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.model import marks
from gates.model.marks import HubIdentity, copied_annotations
from gates.wire.patches import Operations
from gates.wire.records import HubRecord, ReplicaRecord


def replica_of(hub: HubRecord, identity: HubIdentity, *, gated: bool, cluster: WorkerName = NO_WORKER) -> Obj:
    """Make the Workload to create on the worker that is called `cluster`."""
    if not hub.document or hub.shape is None:
        raise ValueError(f"Workload {hub.namespace}/{hub.name} is finished or has no check: nothing to copy")
    document = orjson.loads(hub.document)
    labels = {key: value for key, value in document["labels"].items() if key != marks.JOB_UID}
    annotations = copied_annotations(document["annotations"])
    spec = {key: value for key, value in document["spec"].items() if key != "preemptionGates"}
    if gated:
        spec["preemptionGates"] = [{"name": MULTIKUEUE_NAME}]
        annotations[marks.GATED] = "true"
    if cluster:
        annotations[marks.CLUSTER] = cluster
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
    if hub.shape is None:
        return []
    operations: Operations = []
    if hub.shape.priority != replica.shape.priority:
        spec, had = orjson.loads(hub.document)["spec"], orjson.loads(replica.shape.priority)
        for field in ("priority", "priorityClassRef"):
            if spec.get(field) is not None:
                operations.append({"op": "add", "path": f"/spec/{field}", "value": spec[field]})
            elif had[field] is not None:
                operations.append({"op": "remove", "path": f"/spec/{field}"})
    counts = dict(replica.shape.counts)
    for index, (name, count) in enumerate(hub.shape.counts):
        if counts.get(name) != count:
            operations.append({"op": "replace", "path": f"/spec/podSets/{index}/count", "value": count})
    return operations
