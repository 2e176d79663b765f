"""Objects that a server should never have stored."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from tests.integration.orchestrator.kueue import KUEUE, Cluster, Obj
from tests.integration.orchestrator.world import World

Poison = Callable[[Obj], object]


def write_past_validation(cluster: Cluster, plural: str, group: str, obj: Obj) -> None:
    """Store an object that no API server would take."""
    collection = cluster.store.collection(cluster.store.kind(plural, group))
    cluster.store.ledger.put(collection, (obj["metadata"]["namespace"], obj["metadata"]["name"]), obj)


def poison(cluster: Cluster, change: Poison) -> None:
    copy = deepcopy(cluster.workload())
    copy.setdefault("status", {})
    change(copy)
    write_past_validation(cluster, "workloads", KUEUE, copy)


def status(**fields: Any) -> Poison:
    return lambda w: w["status"].update(fields)


def metadata(**fields: Any) -> Poison:
    return lambda w: w["metadata"].update(fields)


async def good_runs_and_finishes(world: World) -> None:
    await world.until(lambda: world.check()["state"] == "Ready")
    assert world.status()["clusterName"] == "good"
    await world.until(lambda: world["good"].find("jobs", "job-wl", "batch"))
    world["good"].finish()
    await world.until(lambda: (world.hub.condition("Finished") or {}).get("status") == "True")
