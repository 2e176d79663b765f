"""Clusters known by several names, renamed, or without a readable UID."""

from collections import Counter

from localcluster.access.auth import Allow
from localcluster.store.ledger import Change
from tests.integration.orchestrator.conditions import cluster
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import SYSTEM, World

LOST_SECONDS = 15 * 60


class Lives:
    """Counts what is made and removed on a cluster, from its own store."""

    def __init__(self, world: World, name: str) -> None:
        self.counts: Counter[str] = Counter()
        store = world[name].store
        for plural, group in (("workloads", KUEUE), ("jobs", "batch")):
            store.collection(store.kind(plural, group)).listen(self._note)

    def _note(self, change: Change) -> None:
        self.counts[str(change.type)] += 1

    @property
    def removed(self) -> int:
        return self.counts["DELETED"]

    @property
    def made(self) -> int:
        return self.counts["ADDED"]


def name_again(world: World, name: str, known: str) -> None:
    """Register a cluster under another name."""
    world.put_secret(name, world[known].kubeconfig())
    source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
    world.hub.create("multikueueclusters", {"metadata": {"name": name}, "spec": {"clusterSource": source}}, KUEUE)


def job_uid(world: World, name: str = "w1") -> str:
    return str(world[name].get("jobs", "job-wl", "batch")["metadata"]["uid"])


def cluster_uid(world: World, name: str) -> str:
    return str(world[name].get("namespaces", "kube-system", namespace="")["metadata"]["uid"])


def reason(world: World, name: str) -> str:
    return (cluster(world, name) or ("", "", ""))[1]


async def known_as(world: World, name: str, wanted: str) -> None:
    await world.pass_until(lambda: reason(world, name) == wanted)


def by_two_steps(world: World) -> None:
    name_again(world, "w1-new", "w1")
    world.list_workers("w1-new")


def list_first(world: World) -> None:
    world.list_workers("w1-new")
    name_again(world, "w1-new", "w1")


WITHOUT_NAMESPACES = tuple(
    Allow(("*",), (resource,), (group,))
    for group, resource in ((KUEUE, "*"), ("batch", "*"), ("authorization.k8s.io", "*"))
)


def forget_identities(world: World) -> None:
    if world.hub.find("configmaps", "turnstile-worker-clusters", namespace=SYSTEM) is not None:
        world.hub.delete("configmaps", "turnstile-worker-clusters", namespace=SYSTEM)
