"""Workers with Topologies and Nodes, on which a stand-in for Kueue places pods."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.orchestrator.forecasting import QUEUE, forecasting, passing
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj
from tests.integration.orchestrator.planning import open_hub
from tests.integration.orchestrator.world import World
from tests.support.builders import Builder, ClusterQueueBuilder
from tests.unit.engine.topology.fleet import Hosts, node, tas_flavor, topology

TWO_RACKS: Hosts = {"b1/r1/h11": 4, "b1/r1/h12": 4, "b1/r2/h21": 4, "b1/r2/h22": 4}


def tas_queue(cpu: int = 16, name: str = QUEUE) -> ClusterQueueBuilder:
    """Return a ClusterQueue on the flavor of all Nodes, in which high priorities preempt low ones."""
    return (
        ClusterQueueBuilder(
            {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "ClusterQueue",
                "metadata": {"name": name},
                "spec": {"namespaceSelector": {}},
            }
        )
        .quota("f", cpu=cpu)
        .preemption(within="LowerPriority")
    )


def pod_sets(count: int, cpu: int = 1, **request: Any) -> list[Obj]:
    """Return the pod sets of a Workload that asks for a topology."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    made: Obj = {"name": "main", "count": count, "template": template}
    return [made | {"topologyRequest": request} if request else made]


def submit(world: World, name: str, count: int, *, priority: int = 0, **request: Any) -> None:
    """Submit a Workload to the hub and let it reserve quota."""
    world.submit_ownerless(name, podSets=pod_sets(count, **request), priority=priority)
    world.hub.reserve(name)


def furnish(worker: Cluster, hosts: Hosts = TWO_RACKS) -> None:
    """Create the Topology, the flavor and the Nodes."""
    for plural, raw in (("topologies", topology().raw), ("resourceflavors", tas_flavor().raw)):
        worker.create(plural, _without_generated(raw), KUEUE)
    for path, capacity in hosts.items():
        add_node(worker, path, capacity)


def add_node(worker: Cluster, path: str, capacity: int | Mapping[str, int]) -> None:
    """Create a ready Node."""
    raw = node(path, capacity).raw
    worker.create("nodes", {**_without_generated(raw), "status": {}})
    worker.change_status("nodes", raw["metadata"]["name"], partial(_set, raw["status"]), namespace="")


def add_pod(worker: Cluster, name: str, host: str, cpu: int) -> None:
    """Create a running pod that is none of Kueue's."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    worker.create(
        "pods", {"metadata": {"name": name}, "spec": {"nodeName": host, "containers": [container]}}, "", NAMESPACE
    )
    worker.change_status("pods", name, partial(_set, {"phase": "Running"}), "", NAMESPACE)


def own(worker: Cluster, name: str, count: int, *, priority: int = 0, **request: Any) -> None:
    """Create a Workload of the worker's own."""
    spec = {"queueName": QUEUE, "priority": priority, "active": True, "podSets": pod_sets(count, **request)}
    worker.create("workloads", {"metadata": {"name": name}, "spec": spec}, KUEUE, NAMESPACE)


@asynccontextmanager
async def with_topology(directory: Path, hosts: Hosts = TWO_RACKS, **options: Any) -> AsyncIterator[World]:
    """Run one worker with Nodes of which it is forecast where pods go."""
    queues: list[Builder] = [options.pop("queue", tas_queue())]
    workers = [{"name": "w1", "topology": True, **options.pop("worker", {})}]
    async with forecasting(directory, {"w1": []}, workers=workers, **options) as made:
        worker = made["w1"]
        furnish(worker, hosts)
        for raw in _with_local_queues(queues):
            worker.create(*raw)
        open_hub(made)
        await made.settled()
        yield made


async def admitted(world: World, *names: str) -> None:
    """Wait until the worker has admitted these Workloads."""
    worker = world["w1"]
    await passing(
        world, lambda: all(worker.has_workload(name) and worker.condition("Admitted", name) for name in names)
    )
    await world.settled()


def places(worker: Cluster, name: str) -> Obj:
    """Return the topologyAssignment of a Workload on a worker."""
    admission = worker.workload(name)["status"]["admission"]
    found: Obj = admission["podSetAssignments"][0].get("topologyAssignment") or {}
    return found


def _with_local_queues(queues: list[Builder]) -> list[tuple[str, Obj, str, str]]:
    made = []
    for each in queues:
        made.append(("clusterqueues", _without_generated(each.raw), KUEUE, ""))
        local = {"metadata": {"name": each.name}, "spec": {"clusterQueue": each.name}}
        made.append(("localqueues", local, KUEUE, NAMESPACE))
    return made


def _without_generated(raw: Obj) -> Obj:
    return {
        **deepcopy(raw),
        "metadata": {key: raw["metadata"][key] for key in ("name", "labels") if key in raw["metadata"]},
    }


def _set(values: Obj, status: Obj) -> None:
    status.update(values)
