"""Job kinds that a cluster under test serves, and elastic jobs of them."""

from typing import Any

from config.names import MULTIKUEUE_NAME
from gates.jobs.kinds import SHIPPED, JobKind
from gates.model import marks
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.columns import age_column
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural.builder import preserved
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, workload
from tests.integration.orchestrator.world import World

Obj = dict[str, Any]


def loose(kind: JobKind) -> ServedKind:
    """Serve a kind as an adapter sees it: everything in spec and status is kept."""
    return ServedKind(
        group=kind.group,
        version=kind.version,
        kind=kind.kind,
        plural=kind.plural,
        singular=kind.kind.lower(),
        namespaced=True,
        has_status=True,
        schema=resource({"spec": preserved(), "status": preserved()}),
        columns=(age_column(),),
    )


SERVED = {(kind.group, kind.kind) for kind in all_kinds()}


KINDS = (*all_kinds(), *(loose(kind) for kind in SHIPPED if (kind.group, kind.kind) not in SERVED))


def elastic_workload(world: World, name: str, owner: Obj, replaces: str | None = None, **counts: int) -> None:
    document = workload(name, owner)
    document["metadata"]["annotations"] = {marks.ELASTIC: "true"}
    if replaces:
        document["metadata"]["annotations"][marks.REPLACED_SLICE] = replaces
    (pod_set,) = document["spec"]["podSets"]
    document["spec"]["podSets"] = [{**pod_set, "name": each, "count": count} for each, count in counts.items()]
    world.hub.create("workloads", document, KUEUE, NAMESPACE)
    world.give_check(name)


RAY = "ray.io"


def ray_cluster(replicas: int, **spec: Any) -> Obj:
    groups = [
        {"groupName": "cpu", "replicas": replicas, "template": {"hub": True}},
        {"groupName": "gpu", "replicas": 1, "numOfHosts": 2, "template": {}},
    ]
    metadata = {"name": "ray", "annotations": {marks.ELASTIC: "true"}}
    return {"metadata": metadata, "spec": {"managedBy": MULTIKUEUE_NAME, "workerGroupSpecs": groups, **spec}}


def cpu_group(cluster: Any) -> Obj:
    group: Obj = cluster.get("rayclusters", "ray", RAY)["spec"]["workerGroupSpecs"][0]
    return group
