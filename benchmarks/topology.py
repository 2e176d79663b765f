"""Nominations with topology-aware scheduling on a large fleet, beside real Kueue on the same objects in the same run.

    python -m benchmarks topology

A rack has 16 Nodes, a block 8 racks. Every Node is full of pods of running Workloads, and the Workload in question
needs some whole Nodes of one block: it has to preempt until they are free. Real Kueue is the oracle of the
differential tests (`bench`, GOMAXPROCS=1); where it cannot be built, the engine's figures come alone.
"""

import gc
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.engine_scale import ask_oracle, find_oracle
from config.api.meta import ObjectKey, parse_time
from config.names import KUEUE_API_VERSION
from engine.cluster.model import ClusterModel
from engine.prediction.predict import predict
from engine.vocabulary.decision import Prediction

Json = dict[str, Any]

NAMESPACE, NOW, HOSTNAME = "team", "2026-06-01T12:00:00Z", "kubernetes.io/hostname"
GPU = "nvidia.com/gpu"
REPETITIONS = 5
_HOSTS_IN_RACK, _RACKS_IN_BLOCK = 16, 8


@dataclass(frozen=True)
class FleetShape:
    """How many Nodes there are, how many Workloads run on them, and how many must go."""

    nodes: int
    workloads: int
    victims: int

    @property
    def name(self) -> str:
        """What the shape is called in the table."""
        return f"{self.nodes} Nodes, {self.workloads} Workloads"


SHAPES = (FleetShape(640, 15_000, 50), FleetShape(5_000, 10_000, 50))


def scenario(shape: FleetShape) -> Json:
    """Return the fleet with the Workload that needs room."""
    return {
        "name": shape.name,
        "now": NOW,
        "fairSharing": None,
        "featureGates": {},
        "objects": list(_objects(shape)),
        "incoming": {"namespace": NAMESPACE, "name": "incoming"},
    }


def _objects(shape: FleetShape) -> Iterator[Json]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    levels = [{"nodeLabel": level} for level in ("block", "rack", HOSTNAME)]
    yield _object("Topology", "default", {"levels": levels})
    yield _object("ResourceFlavor", "f", {"nodeLabels": {"tas": "yes"}, "topologyName": "default"})
    per_node = -(-shape.workloads // shape.nodes)
    quota = [{"name": GPU, "nominalQuota": str(shape.workloads * 2)}]
    spec = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": [GPU], "flavors": [{"name": "f", "resources": quota}]}],
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Never"},
        "stopPolicy": "None",
    }
    yield _object("ClusterQueue", "cq", spec)
    yield _object("LocalQueue", "lq", {"clusterQueue": "cq", "stopPolicy": "None"}, namespace=NAMESPACE)
    for number in range(shape.nodes):
        yield _node(number, per_node)
    for number in range(shape.workloads):
        yield _running(number, number % shape.nodes, shape)
    # One pod of the size of a Node, as many as the victims free: one for each Node that loses all its Workloads.
    nodes = max(1, shape.victims // per_node)
    yield _workload("incoming", 1000, nodes, str(per_node), "ffff", {"required": "block"})


def _object(kind: str, name: str, spec: Json, **metadata: str) -> Json:
    return {"apiVersion": KUEUE_API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _node(number: int, gpus: int) -> Json:
    rack = number // _HOSTS_IN_RACK
    labels = {"tas": "yes", "block": f"b{rack // _RACKS_IN_BLOCK:03}", "rack": f"r{rack:04}", HOSTNAME: f"n{number:05}"}
    status = {
        "allocatable": {GPU: str(gpus), "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number:05}", "labels": labels},
        "spec": {},
        "status": status,
    }


def _workload(name: str, priority: int, count: int, gpus: str, uid: str, request: Json) -> Json:
    container = {"name": "c", "image": "registry.example/job:1", "resources": {"requests": {GPU: gpus}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    pods = {"name": "main", "count": count, "template": template, "topologyRequest": request}
    spec = {"queueName": "lq", "active": True, "priority": priority, "podSets": [pods]}
    metadata = {"namespace": NAMESPACE, "uid": uid, "creationTimestamp": "2026-06-01T00:00:00Z"}
    return _object("Workload", name, spec, **metadata)


def _running(number: int, node: int, shape: FleetShape) -> Json:
    """Return a Workload of one pod; those of the last rack are the least important."""
    last_rack = node >= (shape.nodes - 1) // _HOSTS_IN_RACK * _HOSTS_IN_RACK
    workload = _workload(f"wl-{number}", 0 if last_rack else 10, 1, "1", f"{number:016x}", {"unconstrained": True})
    placed = {
        "levels": [HOSTNAME],
        "slices": [
            {
                "domainCount": 1,
                "valuesPerLevel": [{"universal": f"n{node:05}"}],
                "podCounts": {"universal": 1},
            }
        ],
    }
    usage = {
        "name": "main",
        "count": 1,
        "flavors": {GPU: "f"},
        "resourceUsage": {GPU: "1"},
        "topologyAssignment": placed,
    }
    minute = f"{node // 60 % 24:02}:{node % 60:02}"  # the Workloads of a Node started together
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "",
            "lastTransitionTime": f"2026-05-31T{minute}:00Z",
        }
        for kind in ("QuotaReserved", "Admitted")
    ]
    return {
        **workload,
        "status": {"admission": {"clusterQueue": "cq", "podSetAssignments": [usage]}, "conditions": conditions},
    }


@dataclass(frozen=True)
class TopologyMeasurement:
    """Processor time in milliseconds, memory in bytes."""

    shape: FleetShape
    answer: Prediction
    build: float
    first: float
    """With all that is counted once per tree."""
    prediction: float
    """With the counts of the last one, brought up to date."""
    bytes_per_object: float
    """Of what the model keeps for a Node or a Workload, above the raw objects."""


def measure(shape: FleetShape, raw: Json) -> TopologyMeasurement:
    """Measure the engine on one fleet."""
    gc.collect()
    tracemalloc.start()
    model = ClusterModel.of(raw["objects"], sees_topology=True)
    key, now_ns = ObjectKey(NAMESPACE, "incoming"), parse_time(NOW)
    predict(model, key, now_ns)
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    started = time.process_time()
    model = ClusterModel.of(raw["objects"], sees_topology=True)
    built = time.process_time()
    answer = predict(model, key, now_ns)
    first = time.process_time() - built
    times = []
    for _ in range(REPETITIONS):
        before = time.process_time()
        assert predict(model, key, now_ns) == answer
        times.append(time.process_time() - before)
    return TopologyMeasurement(
        shape,
        answer,
        (built - started) * 1000,
        first * 1000,
        min(times) * 1000,
        size / (shape.nodes + shape.workloads),
    )


def run() -> None:
    """Print one row per fleet, and real Kueue's time for the same."""
    lines, ours = [], []
    for shape in SHAPES:
        raw = scenario(shape)
        lines.append(orjson.dumps(raw))
        ours.append(measure(shape, raw))
    print("\ntopology: a Workload that must preempt for Nodes of one block; milliseconds of processor time")
    columns = "build", "first", "predict", "bytes/obj", "victims"
    print(f"{'fleet':30}" + "".join(f"{column:>10}" for column in columns))
    for row in ours:
        times = "".join(f"{value:10.1f}" for value in (row.build, row.first, row.prediction))
        victims = len(row.answer.victims)
        print(f"{row.shape.name:30}{times}{row.bytes_per_object:10.0f}{victims:10} {row.answer.outcome}")
    oracle = find_oracle()
    if oracle is None:
        return
    print("\nreal Kueue, GOMAXPROCS=1, and how many times less the engine needs")
    headings = "snapshot", "assign", "targets", "victims"
    print(f"{'fleet':30}" + "".join(f"{heading:>10}" for heading in headings) + f"{'first':>9}{'predict':>10}")
    for row, theirs in zip(ours, ask_oracle(oracle, lines), strict=True):
        snapshot, assign, targets = (theirs[step]["minMs"] for step in ("snapshot", "assign", "getTargets"))
        figures = "".join(f"{value:10.1f}" for value in (snapshot, assign, targets))
        both = assign + targets
        ratios = f"{both / row.first:8.1f}x{both / row.prediction:9.1f}x"
        print(f"{row.shape.name:30}{figures}{theirs['targets']:10}{ratios}")
