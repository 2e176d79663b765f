"""A world whose workers run the stand-in for Kueue, for forecasts to be held against what it does."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from config.api.identifiers import WorkerName
from gates.model import marks
from localcluster.kueue.profile import CURRENT
from localcluster.kueue.stand_in import LocalKueue
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj
from tests.integration.orchestrator.world import World, world
from tests.support.builders import Builder, ClusterQueueBuilder, WorkloadBuilder, cluster, cluster_queue
from tests.support.builders import workload as build_workload

QUEUE = "main"
_PLURALS = {
    "ResourceFlavor": "resourceflavors",
    "Cohort": "cohorts",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "Workload": "workloads",
}


def queue(cpu: int = 4, name: str = QUEUE) -> ClusterQueueBuilder:
    """Return a queue in which high priorities preempt low ones."""
    return cluster_queue(name).quota("f", cpu=cpu).preemption(within="LowerPriority")


def tenant(name: str, cpu: int = 4, priority: int = 0, queue_name: str = QUEUE) -> WorkloadBuilder:
    """Return a workload of the worker's own."""
    return build_workload(name).queue(queue_name).priority(priority).request(cpu=cpu)


def give(worker: Cluster, *builders: Builder) -> None:
    """Create objects on a worker, with the flavors and LocalQueues that they need."""
    for raw in sorted(cluster(*builders), key=lambda raw: raw["kind"] == "Workload"):
        namespaced = raw["kind"] in ("LocalQueue", "Workload")
        metadata = {"name": raw["metadata"]["name"]}
        for part in ("annotations", "labels", "ownerReferences"):
            if part in raw["metadata"]:
                metadata[part] = raw["metadata"][part]
        document = {**raw, "metadata": metadata}
        worker.create(_PLURALS[raw["kind"]], document, KUEUE, NAMESPACE if namespaced else "")


@asynccontextmanager
async def forecasting(directory: Path, setting: dict[str, list[Builder]], **options: Any) -> AsyncIterator[World]:
    """Run workers with these objects, each with its Kueue, and a daemon that knows all of them."""
    names = tuple(setting)
    kinds = {name: CURRENT.kinds() for name in names} | options.pop("kinds", {})
    forecast = {"enabled": True, **options.pop("forecast", {})}
    async with (
        world(directory, *names, kinds=kinds, forecast=forecast, **options) as made,
        AsyncExitStack() as stack,
    ):
        for name, builders in setting.items():
            give(made[name], *builders)
            await stack.enter_async_context(LocalKueue(made[name].store, CURRENT).running())
        await begin(made)
        yield made


async def begin(made: World) -> None:
    """Start the daemon and wait until it knows everything."""
    await made.start()
    await made.connected()
    await made.until(lambda: all(is_complete(made, name) for name in made.workers))
    await made.settled()


def is_complete(made: World, name: str) -> bool:
    """Return whether the daemon's model of a worker is complete."""
    assert made.daemon is not None
    observation = made.daemon.fleet.links[WorkerName(name)].observation
    return observation is not None and observation.is_complete


async def passing(made: World, condition: Callable[[], object], seconds: float = 0.5) -> None:
    """Let time pass until something has happened."""
    for _ in range(200):
        if condition():
            return
        await made.clock.advance(seconds)
        await made.caught_up(wait=False)
    raise AssertionError("it did not happen")


def pods(cpu: int) -> list[Obj]:
    """Return the pod sets of a hub Workload that asks for so much."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return [{"name": "main", "count": 1, "template": template}]


def submit(made: World, name: str = "wl", cpu: int = 4, priority: int = 100) -> None:
    """Submit a Workload without a job and let the hub reserve quota for it."""
    made.submit_ownerless(name, podSets=pods(cpu), priority=priority)
    made.hub.reserve(name)


def record(made: World, name: str = "wl") -> Obj:
    """Return the record of the last forecast; empty if there is none."""
    annotations = made.hub.workload(name)["metadata"].get("annotations") or {}
    found: Obj = json.loads(annotations.get(marks.FORECAST) or "{}")
    return found


def result(made: World, name: str = "wl") -> str:
    """Return what became of the last forecast."""
    return str(record(made, name).get("result", ""))
