"""Objects on a worker that take their time to go: jobs and replicas held by finalizers, pods in their grace period."""

from dataclasses import dataclass
from typing import Any

from localcluster.store.deletion import DeleteOptions
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, Obj
from tests.integration.orchestrator.world import World

SLOW = "example.com/slow"
L = 15 * 60


@dataclass(frozen=True)
class Held:
    """One object that stays after its deletion until it is let go."""

    cluster: Cluster
    plural: str
    name: str
    group: str

    def hold(self, *finalizers: str) -> None:
        """Make it stay when it is deleted."""
        if self.plural == "pods":
            self.cluster.store.bind(self._kind, self.name, NAMESPACE, {"target": {"name": "node"}})
            return
        wanted = list(finalizers or (SLOW,))
        self.cluster.change(self.plural, self.name, lambda o: o["metadata"].update(finalizers=wanted), self.group)

    def let_go(self) -> None:
        """Let it go, as its finalizer's controller or its kubelet does."""
        if self.plural == "pods":
            self.cluster.store.delete(self._kind, self.name, NAMESPACE, DeleteOptions(grace_seconds=0))
            return
        self.cluster.change(self.plural, self.name, lambda o: o["metadata"].pop("finalizers"), self.group)

    def find(self) -> Obj | None:
        return self.cluster.find(self.plural, self.name, self.group)

    @property
    def is_leaving(self) -> bool:
        found = self.find()
        return found is not None and bool(found["metadata"].get("deletionTimestamp"))

    @property
    def _kind(self) -> Any:
        return self.cluster.store.kind(self.plural, self.group)


def job_on(cluster: Cluster, name: str = "job-wl") -> Held:
    return Held(cluster, "jobs", name, "batch")


def pod_on(cluster: Cluster, name: str = "p") -> Held:
    return Held(cluster, "pods", name, "")


def replica_on(cluster: Cluster, name: str = "wl") -> Held:
    return Held(cluster, "workloads", name, KUEUE)


def pod() -> Obj:
    return {
        "metadata": {"name": "p", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
        },
    }


WHAT = {
    "a job held by a finalizer": job_on,
    "a pod in its grace period": pod_on,
    "a replica held by a finalizer": replica_on,
}
OPTIONS: dict[str, Any] = {"jobs": {"integrations": ["batch/job", "pod"]}}


async def placed_on_w1(world: World, what: str) -> Held:
    """Run a Workload on w1 and make one of its objects there stay after its deletion."""
    if what == "a pod in its grace period":
        owner = world.hub.create("pods", pod(), namespace=NAMESPACE)
        world.queue(owner={**owner, "apiVersion": "v1", "kind": "Pod"})
    else:
        world.queue()
    await world.until(lambda: len(world.holders()) == len(world.workers))
    world["w1"].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    held = WHAT[what](world["w1"])
    if what == "a pod in its grace period":
        world["w1"].change("pods", "p", lambda p: p["spec"].pop("schedulingGates", None))
    held.hold()
    await world.settled()
    return held


async def at_rest(world: World, seconds: float = 120.0) -> None:
    """Nothing more happens, and hardly anything more is decided while time passes."""
    await world.settled()
    before = len(world.looks)
    await world.pass_time(seconds)
    assert len(world.looks) - before <= 20, [look.decision for look in world.looks[before:]][-3:]
