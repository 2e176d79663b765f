"""Nodes of a test's own on a real worker, with pods outside every queue on them, for a job's pods to get past."""

from dataclasses import dataclass
from random import Random

from tests.conformance.client import Obj
from tests.conformance.resources import NODES, PODS, PRIORITY_CLASSES
from tests.e2e.clusters import Cluster, RealSide
from tests.e2e.scene import Scene
from tests.realbed import objects
from tests.realbed.cluster import REPOSITORY

_ROLES = ("worker-forecasts.yaml", "worker-pod-forecasts.yaml")
PRIORITIES = {"middle": 500, "high": 1000, "top": 2000}
_POOL = "example.com/pool"


@dataclass(frozen=True, slots=True)
class Bystander:
    """A pod that no queue knows of."""

    name: str
    node: str
    cpu: int
    priority: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """Nodes by name with their processors, the pods on them, and the job that comes."""

    nodes: dict[str, int]
    bystanders: list[Bystander]
    pods: int = 1
    cpu: int = 4
    on: str = ""
    """The one node that the job may use; empty for any."""


def random_stage(dice: Random) -> Stage:
    """Return a small situation in which pods have to go, or cannot, or need not."""
    nodes = {f"n{number}": dice.choice([4, 4, 6]) for number in range(1, dice.choice([2, 2, 3]) + 1)}
    bystanders: list[Bystander] = []
    for name, room in nodes.items():
        free = room - 1  # the victim of the quota is somewhere, too
        while free > 0 and dice.random() < 0.9:
            cpu = min(free, dice.choice([1, 2, 3]))
            free -= cpu
            priority = dice.choice(["", "", "middle", "top"])
            bystanders.append(Bystander(f"b{len(bystanders)}", name, cpu, priority))
    return Stage(nodes, bystanders, pods=dice.choice([1, 1, 2, 3]), cpu=dice.choice([1, 2, 3, 4]))


def allow_forecasts(side: Cluster) -> None:
    """Grant the shipped roles for forecasts to Turnstile on a worker."""
    assert isinstance(side, RealSide)
    for name in _ROLES:
        objects.apply(side.real.server, objects.documents(REPOSITORY / "deploy" / "rbac" / name))


async def confine(scene: Scene, side: Cluster) -> None:
    """Let the test's flavor mean nodes of its own, which no other pods tolerate."""
    flavor = f"/apis/kueue.x-k8s.io/v1beta2/resourceflavors/{scene.name}-default"
    tolerations = [{"key": _POOL, "operator": "Equal", "value": scene.name, "effect": "NoSchedule"}]
    spec = {"nodeLabels": {_POOL: scene.name}, "tolerations": tolerations}
    (await side.api.patch(flavor, {"spec": spec})).ok()
    for name, value in PRIORITIES.items():
        document = {"metadata": {"name": f"{scene.name}-{name}"}, "value": value}
        await scene.create(side, PRIORITY_CLASSES, document)


async def add_nodes(scene: Scene, side: Cluster, stage: Stage) -> None:
    """Create the nodes of a situation."""
    for name, cpu in stage.nodes.items():
        taint = {"key": _POOL, "value": scene.name, "effect": "NoSchedule"}
        room = {"cpu": str(cpu), "memory": "100Gi", "pods": "110"}
        labels = {_POOL: scene.name, "kubernetes.io/hostname": f"{scene.name}-{name}"}
        node = {"metadata": {"name": f"{scene.name}-{name}", "labels": labels}, "spec": {"taints": [taint]}}
        (await side.api.post(NODES.at(), node)).expect(201)
        status = {
            "status": {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
        }
        (await side.api.patch(NODES.at(None, f"{scene.name}-{name}", "status"), status)).ok()


async def add_bystanders(scene: Scene, side: Cluster, stage: Stage) -> None:
    """Create the pods of a situation, bound, and wait until they run."""
    for each in stage.bystanders:
        container = {"name": "c", "image": "registry.example/web:1", "resources": {"requests": {"cpu": str(each.cpu)}}}
        spec: Obj = {"nodeName": f"{scene.name}-{each.node}", "containers": [container]}
        spec["tolerations"] = [{"operator": "Exists"}]
        if each.priority:
            spec["priorityClassName"] = f"{scene.name}-{each.priority}"
        (await side.api.post(PODS.at(scene.name), {"metadata": {"name": each.name}, "spec": spec})).expect(201)

    async def run() -> bool:
        pods = (await side.api.get(PODS.at(scene.name))).ok()["items"]
        return all(pod["status"].get("phase") == "Running" for pod in pods if pod["metadata"]["name"].startswith("b"))

    await scene.until(run, "the bystanders to run")


async def clear(scene: Scene, side: Cluster, stage: Stage) -> None:
    """Remove nodes and pods."""
    await side.api.delete(PODS.at(scene.name), {"gracePeriodSeconds": 0})
    for name in stage.nodes:
        await side.api.delete(NODES.at(None, f"{scene.name}-{name}"))


def job(scene: Scene, name: str, stage: Stage) -> Obj:
    """Return the job that comes."""
    document = scene.job(name, cpu=stage.cpu, priority="high")
    document["spec"] |= {"parallelism": stage.pods, "completions": stage.pods}
    spec = document["spec"]["template"]["spec"]
    spec["priorityClassName"] = f"{scene.name}-high"
    if stage.on:
        spec["nodeSelector"] = {"kubernetes.io/hostname": f"{scene.name}-{stage.on}"}
    return document
