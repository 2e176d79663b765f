"""Nodes, pods and a stand-in for kube-scheduler on a local cluster: it does to the stored pods what one cycle says."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from config.api.meta import ObjectKey
from engine.pods.predict import predict_pod
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodCycleResult
from engine.pods.values.values import SchedulerMode
from localcluster.store.deletion import DeleteOptions
from tests.integration.orchestrator.forecasting import forecasting, record
from tests.integration.orchestrator.kueue import NAMESPACE, Cluster, Obj
from tests.integration.orchestrator.world import World
from tests.support.builders import Builder
from tests.support.pod_builders import pod
from tests.support.worker_names import W1

HIGH, POLITE = "high", "polite"
_KINDS = (
    ("Node", "nodes", ""),
    ("PodGroup", "podgroups", "scheduling.k8s.io"),
    ("Pod", "pods", ""),
    ("PodDisruptionBudget", "poddisruptionbudgets", "policy"),
)


def furnish(worker: Cluster, *objects: Obj) -> None:
    """Create nodes, pods and budgets."""
    for raw in objects:
        _, plural, group = next(entry for entry in _KINDS if entry[0] == raw["kind"])
        status = raw.get("status") or {}
        namespace = NAMESPACE if raw["kind"] != "Node" else ""
        document = {**raw, "metadata": {**raw["metadata"], **({"namespace": namespace} if namespace else {})}}
        worker.create(plural, document, group, namespace)
        worker.change_status(plural, raw["metadata"]["name"], partial(_set, status), group, namespace)


def running_pod(
    name: str, cpu: int, on: str, *, minute: float = 0, workload: str = "", app: str = "", group: str = ""
) -> Obj:
    """Return a pod on a node, of a Workload or a PodGroup if one is named."""
    annotations = {"annotations": {"kueue.x-k8s.io/workload": workload}} if workload else {}
    raw = pod(name, cpu, on=on, started=minute, app=app, namespace=NAMESPACE, metadata=annotations, group=group)
    del raw["spec"]["priority"]
    raw["spec"]["containers"][0]["image"] = "i"
    return raw


def one_unit(name: str, minimum: int) -> Obj:
    """Return a PodGroup that is evicted as a whole."""
    spec = {"schedulingPolicy": {"gang": {"minCount": minimum}}, "disruptionMode": "PodGroup"}
    return {"kind": "PodGroup", "metadata": {"name": name}, "spec": spec}


def pod_sets(cpu: int, count: int = 1, **spec: Any) -> list[Obj]:
    """Return the pod sets of a hub Workload whose pods have a high priority."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never", "priorityClassName": HIGH, **spec}}
    return [{"name": "main", "count": count, "template": template}]


def make_pods(worker: Cluster, sets: list[Obj], workload: str = "wl") -> None:
    """Do the job's part: make the pods of an admitted Workload."""
    for each in sets:
        for number in range(each["count"]):
            metadata = {"name": f"{workload}-{number}", "annotations": {"kueue.x-k8s.io/workload": workload}}
            worker.create("pods", {"metadata": metadata, "spec": each["template"]["spec"]}, "", NAMESPACE)


class StandInScheduler:
    """Gives every pending pod one cycle at a time."""

    def __init__(self, worker: Cluster, mode: SchedulerMode = SchedulerMode.V1_36) -> None:
        self._worker = worker
        self._mode = mode

    def run(self) -> None:
        """Schedule until nothing changes."""
        while sum(self._cycle(key) for key in self._pending()):
            pass

    def _pending(self) -> list[ObjectKey]:
        stored = self._worker.store.list(self._worker.store.kind("pods", ""))
        waiting = [each for each in stored if not each["spec"].get("nodeName")]
        return [ObjectKey(each["metadata"]["namespace"], each["metadata"]["name"]) for each in waiting]

    def _cycle(self, key: ObjectKey) -> bool:
        store = self._worker.store
        objects = [
            {**each, "kind": kind} for kind, plural, group in _KINDS for each in store.list(store.kind(plural, group))
        ]
        outcome = predict_pod(PodModel.of(objects), key, self._mode).outcome
        for victim in outcome.victims:
            self.evict(victim.name)
        places = {**outcome.bound, **outcome.nominated}
        if outcome.result in (PodCycleResult.SCHEDULED, PodCycleResult.PREEMPTING):
            self.bind(key.name, places[key])
            return True
        return False

    def evict(self, name: str) -> None:
        """Evict a pod as kube-scheduler does, and let it end at once."""
        target = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "default-scheduler: preempting to accommodate a higher priority pod",
            "lastTransitionTime": self._worker.now(),
        }
        self._worker.change_status("pods", name, partial(_set, {"conditions": [target]}), "", NAMESPACE)
        pods = self._worker.store.kind("pods", "")
        self._worker.store.delete(pods, name, NAMESPACE)
        self._worker.store.delete(pods, name, NAMESPACE, DeleteOptions(grace_seconds=0))

    def bind(self, name: str, place: str) -> None:
        """Give a pod its node."""
        pods = self._worker.store.kind("pods", "")
        self._worker.store.bind(pods, name, NAMESPACE, {"target": {"name": place}})


@asynccontextmanager
async def with_pods(directory: Path, queues: list[Builder], objects: list[Obj], **options: Any) -> AsyncIterator[World]:
    """Run one worker of which pods are forecast."""
    workers = [{"name": "w1", "pod_forecast": True, **options.pop("worker", {})}]
    async with forecasting(directory, {"w1": queues}, workers=workers, **options) as made:
        for name, policy in ((HIGH, "PreemptLowerPriority"), (POLITE, "Never")):
            entry = {"metadata": {"name": name}, "value": 100, "preemptionPolicy": policy}
            made["w1"].create("priorityclasses", entry, "scheduling.k8s.io")
        furnish(made["w1"], *objects)
        link = made.running_daemon().fleet.links[W1]
        assert link.pods is not None
        observation = link.pods.observation
        await made.until(lambda: len(observation.model.nodes) == sum(raw["kind"] == "Node" for raw in objects))
        yield made


def pods_record(made: World, name: str = "wl") -> Obj:
    """Return what the record says of the pods; empty if nothing."""
    found: Obj = record(made, name).get("pods") or {}
    return found


def pods_result(made: World, name: str = "wl") -> str:
    """Return what became of the outlook for the pods."""
    return str(pods_record(made, name).get("result", ""))


def _set(values: Obj, status: Obj) -> None:
    status.update(values)
