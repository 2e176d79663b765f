"""The engine on a large cluster, beside real Kueue on the same objects in the same run.

    python -m benchmarks engine_scale

Shapes: one cohort level and three, classical and fair. Real Kueue is the oracle of the differential tests (its `bench`
command, GOMAXPROCS=1); where it cannot be built, the engine's figures come alone, with the reason.
"""

import gc
import json
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import orjson

from config.api.meta import ObjectKey, parse_time
from config.names import KUEUE_API_VERSION
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload, enter_as_head
from engine.objects.configuration import FairSharing, KueueConfiguration
from engine.objects.workloads import PendingWorkload
from engine.prediction.predict import predict
from engine.search.nomination import NominationSearch
from engine.search.ties import Choices

Json = dict[str, Any]

NAMESPACE = "team"
NOW = "2026-06-01T12:00:00Z"
REPETITIONS = 15
RESOURCES = {"cpu": "2", "memory": "4Gi"}
_TIMES_GI = {"cpu": 2, "memory": 4}


@dataclass(frozen=True)
class Shape:
    """How large the cluster is, and how it is organised."""

    levels: int
    is_fair: bool
    queues: int = 50
    workloads: int = 10_000
    victims: int = 50

    @property
    def name(self) -> str:
        """What the shape is called in the table."""
        return f"{'fair' if self.is_fair else 'classical'}, {self.levels} level{'s' if self.levels > 1 else ''}"


def scenario(shape: Shape) -> Json:
    """Return a cluster whose every ClusterQueue but one borrows from that one, and a workload that wants it back."""
    return {
        "name": shape.name,
        "now": NOW,
        "fairSharing": {"preemptionStrategies": []} if shape.is_fair else None,
        "featureGates": {},
        "objects": list(_objects(shape)),
        "incoming": {"namespace": NAMESPACE, "name": "incoming"},
    }


def as_line(shape: Shape) -> bytes:
    """Return the scenario as one line of JSON, for other measurements."""
    return orjson.dumps(scenario(shape))


def _objects(shape: Shape) -> Iterator[Json]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield _object("ResourceFlavor", "default", {})
    for level in range(1, shape.levels):
        for index in range(5**level):
            yield _object("Cohort", _cohort(level, index), {"parentName": _cohort(level - 1, index // 5)})
    for index in range(shape.queues):
        yield from _queue(shape, index)
    draw = Random("large cluster")
    for number in range(shape.workloads):
        yield _running(number, 1 + number % (shape.queues - 1), draw)
    yield _workload("incoming", 0, 1000, shape.victims, "ffff", NOW)


def _object(kind: str, name: str, spec: Json, **metadata: str) -> Json:
    return {"apiVersion": KUEUE_API_VERSION, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _cohort(level: int, index: int) -> str:
    return "root" if level == 0 else f"cohort-{level}-{index}"


def _queue(shape: Shape, index: int) -> Iterator[Json]:
    """Yield a ClusterQueue and its LocalQueue; number 0 is owed the place of all victims."""
    places = shape.victims if index == 0 else (shape.workloads - shape.victims) // (shape.queues - 1)
    if index == shape.queues - 1:
        places = shape.workloads - shape.victims - places * (shape.queues - 2)
    quotas = [
        {"name": "cpu", "nominalQuota": str(places * _TIMES_GI["cpu"])},
        {"name": "memory", "nominalQuota": f"{places * _TIMES_GI['memory']}Gi"},
    ]
    group = {"coveredResources": list(RESOURCES), "flavors": [{"name": "default", "resources": quotas}]}
    spec = {
        "cohortName": _cohort(shape.levels - 1, index % 5 ** (shape.levels - 1)),
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [group],
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "stopPolicy": "None",
    }
    yield _object("ClusterQueue", f"cq-{index}", spec)
    yield _object(
        "LocalQueue", f"lq-{index}", {"clusterQueue": f"cq-{index}", "stopPolicy": "None"}, namespace=NAMESPACE
    )


def _workload(name: str, queue: int, priority: int, count: int, uid: str, created: str) -> Json:
    container = {"name": "c", "image": "registry.example/job:1", "resources": {"requests": RESOURCES}}
    pods = {"name": "main", "count": count, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    spec = {"queueName": f"lq-{queue}", "active": True, "priority": priority, "podSets": [pods]}
    return _object("Workload", name, spec, namespace=NAMESPACE, uid=uid, creationTimestamp=created)


def _running(number: int, queue: int, draw: Random) -> Json:
    hour, minute, second = draw.randrange(12), draw.randrange(60), draw.randrange(60)
    created, reserved = (f"2026-06-01T{hour:02}:{minute:02}:{second:02}Z" for hour in (hour, hour + (hour < 11)))
    priority = draw.choice([0, 10, 20, 50, 100])
    workload = _workload(f"wl-{number}", queue, priority, 1, f"{draw.getrandbits(64):016x}", created)
    usage = {"name": "main", "count": 1, "flavors": dict.fromkeys(RESOURCES, "default"), "resourceUsage": RESOURCES}
    conditions = [
        {"type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": reserved}
        for kind in ("QuotaReserved", "Admitted")
    ]
    admission = {"clusterQueue": f"cq-{queue}", "podSetAssignments": [usage]}
    return {**workload, "status": {"admission": admission, "conditions": conditions}}


@dataclass(frozen=True)
class Measurement:
    """Processor time in milliseconds, memory in bytes."""

    shape: str
    victims: int
    outcome: str
    build: float
    """From a line of JSON to the filled model."""
    first: float
    nomination: float
    """Flavors and targets of one nomination on a warm model: what Kueue does in a cycle."""
    prediction: float
    """The whole answer, other ways through ties included."""
    update: float
    """One changed workload, and the next nomination."""
    bytes_per_workload: float


def measure(line: bytes, shape: Shape) -> Measurement:
    """Measure the engine on one scenario."""
    gc.collect()
    build = _fastest(lambda: _model(orjson.loads(line)), 3)
    raw = orjson.loads(line)
    model = _model(raw)
    key, now_ns = ObjectKey(NAMESPACE, "incoming"), parse_time(NOW)
    started = time.process_time()
    answer = predict(model, key, now_ns)
    first = (time.process_time() - started) * 1000
    changed = next(item for item in raw["objects"] if item["metadata"]["name"] == "wl-7")

    def update() -> None:
        model.apply(changed)
        _nominate(model, key, now_ns)

    return Measurement(
        shape=shape.name,
        victims=len(answer.victims),
        outcome=answer.outcome,
        build=build,
        first=first,
        nomination=_fastest(lambda: _nominate(model, key, now_ns), REPETITIONS),
        prediction=_fastest(lambda: predict(model, key, now_ns), REPETITIONS),
        update=_fastest(update, REPETITIONS),
        bytes_per_workload=_bytes_per_workload(raw, shape),
    )


def _nominate(model: ClusterModel, key: ObjectKey, now_ns: int) -> None:
    workload = model.workload(key)
    assert isinstance(workload, PendingWorkload)
    entry = enter_as_head(model, workload)
    assert isinstance(entry, NominatedWorkload)
    NominationSearch(model, workload, entry.queue, entry.spec, entry.demands, now_ns, choices=Choices()).run()


def _model(raw: Mapping[str, Any]) -> ClusterModel:
    fair = None if raw["fairSharing"] is None else FairSharing.from_raw(raw["fairSharing"])
    model = ClusterModel.of(raw["objects"], KueueConfiguration(fair_sharing=fair))
    model.forest.settle()
    return model


def _fastest(action: Callable[[], object], repetitions: int) -> float:
    best = float("inf")
    for _ in range(repetitions):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return best * 1000


def _bytes_per_workload(raw: Mapping[str, Any], shape: Shape) -> float:
    """Return what the model keeps above the raw objects, warm lists included."""
    gc.collect()
    tracemalloc.start()
    model = _model(raw)
    predict(model, ObjectKey(NAMESPACE, "incoming"), parse_time(NOW))
    gc.collect()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / shape.workloads


def ask_oracle(oracle: Path, lines: list[bytes]) -> list[Json]:
    """Measure real Kueue on the same lines, on one processor."""
    command = [str(oracle), "bench"]
    environment = {"GOMAXPROCS": "1"}
    done = subprocess.run(command, input=b"\n".join(lines) + b"\n", capture_output=True, check=True, env=environment)
    return [json.loads(line)["expect"] for line in done.stdout.splitlines()]


def run() -> None:
    """Print one row per shape: milliseconds of processor time, and how many times less than real Kueue that is."""
    shapes = [Shape(levels, is_fair) for levels in (1, 3) for is_fair in (False, True)]
    lines = [as_line(shape) for shape in shapes]
    ours = [measure(line, shape) for shape, line in zip(shapes, lines, strict=True)]
    size = f"{shapes[0].workloads} workloads in {shapes[0].queues} ClusterQueues"
    print(f"\nengine: {size}, one that must preempt; milliseconds of processor time")
    columns = "build", "first", "nominate", "predict", "update", "bytes/wl", "victims"
    print(f"{'shape':22}" + "".join(f"{column:>10}" for column in columns))
    for row in ours:
        times = (row.build, row.first, row.nomination, row.prediction, row.update)
        figures = "".join(f"{value:10.2f}" for value in times)
        print(f"{row.shape:22}{figures}{row.bytes_per_workload:10.0f}{row.victims:10} {row.outcome}")
    oracle = find_oracle()
    if oracle is not None:
        _print_kueue(ours, ask_oracle(oracle, lines))


def find_oracle() -> Path | None:
    """Build the program that measures real Kueue; say why where that is impossible."""
    command = [sys.executable, "-m", "tests.differential.oracle"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return Path(done.stdout.strip())
    print(f"real Kueue is not measured: {done.stderr.strip().splitlines()[-1]}")
    return None


def _print_kueue(ours: list[Measurement], kueue: list[Json]) -> None:
    steps = "decodeAndBuild", "snapshot", "assign", "getTargets"
    headings = "build", "snapshot", "assign", "targets", "victims"
    print("\nreal Kueue, GOMAXPROCS=1, and how many times less the engine needs")
    print(f"{'shape':22}" + "".join(f"{heading:>10}" for heading in headings) + f"{'build':>9}{'nominate':>10}")
    for row, theirs in zip(ours, kueue, strict=True):
        build, snapshot, assign, targets = (theirs[step]["minMs"] for step in steps)
        figures = "".join(f"{value:10.2f}" for value in (build, snapshot, assign, targets))
        ratios = f"{build / row.build:8.1f}x{(assign + targets) / row.nomination:9.1f}x"
        print(f"{row.shape:22}{figures}{theirs['targets']:10}{ratios}")
