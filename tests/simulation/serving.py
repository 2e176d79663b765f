"""A LeaderWorkerSet of the hub with a Workload for each of its groups, all of which run on one cluster.

It plays the part of Kueue's controller of such sets, which local clusters do not have: it makes the Workloads of groups
that were added, and deletes those of groups that were scaled away.
"""

from typing import TYPE_CHECKING, Final

from config.names import KUEUE_API_VERSION
from gates.model import marks
from localcluster.sample_queues import NAMESPACE, QUEUE
from tests.simulation.plan import SERVING

if TYPE_CHECKING:
    from config.api.meta import Obj
    from tests.simulation.plan import Event
    from tests.simulation.system import System

SETS: Final = "leaderworkersets"
_API_VERSION: Final = "leaderworkerset.x-k8s.io/v1"


def serve(system: "System", event: "Event") -> None:
    """Submit the set."""
    spec = {"replicas": int(event.value)}
    made = system.hub.create(SETS, {"metadata": {"name": SERVING}, "spec": spec}, NAMESPACE)
    for index in range(int(event.value)):
        _add_group(system, made, index)


def stop_serving(system: "System", _event: "Event") -> None:
    """Delete the set, and with it its Workloads."""
    if system.hub.find(SETS, SERVING, NAMESPACE) is not None:
        system.hub.delete(SETS, SERVING, NAMESPACE)


def scale(system: "System", groups: int) -> None:
    """Change the number of groups."""
    owner = system.hub.find(SETS, SERVING, NAMESPACE)
    if owner is None or "deletionTimestamp" in owner["metadata"]:
        return
    system.hub.change(SETS, SERVING, NAMESPACE, lambda found: found["spec"].update(replicas=groups))
    existing = groups_of(system)
    for name in existing[groups:]:
        system.hub.delete("workloads", name, NAMESPACE)
    for index in range(len(existing), groups):
        _add_group(system, owner, index)


def groups_of(system: "System") -> list[str]:
    """Return the Workloads of the groups, in order."""
    names = [str(each["metadata"]["name"]) for each in system.hub.all("workloads")]
    return sorted(name for name in names if name.startswith(f"{SERVING}-"))


def _add_group(system: "System", owner: "Obj", index: int) -> None:
    reference = {
        "apiVersion": _API_VERSION,
        "kind": "LeaderWorkerSet",
        "name": SERVING,
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    metadata = {
        "name": f"{SERVING}-{index}",
        "ownerReferences": [reference],
        "annotations": {
            marks.JOB_OWNER_GVK: "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
            marks.JOB_OWNER_NAME: SERVING,
            marks.COMPONENT_INDEX: str(index),
        },
    }
    container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": "1"}}}
    pod_set = {"name": "main", "count": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"queueName": QUEUE, "priority": 1000, "podSets": [pod_set]}
    document = {"apiVersion": KUEUE_API_VERSION, "kind": "Workload", "metadata": metadata, "spec": spec}
    system.hub.create("workloads", document, NAMESPACE)
