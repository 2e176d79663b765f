"""A gang that must preempt on a large cluster: the engine beside real kube-scheduler on the same objects, in one run.

    python -m benchmarks pods_scale

Real kube-scheduler is the oracle of the differential tests (its `bench` command), warm and on an API without delay,
measured from taking the gang off the queue to its first write: once with GOMAXPROCS=1 and once as it comes. Where it
cannot be built, the engine's figures come alone, with the reason.
"""

import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import orjson

from config.api.meta import ObjectKey
from engine.pods.predict import predict_group
from engine.pods.state.model import PodModel
from engine.pods.values.answer import PodForecast
from engine.pods.values.values import SchedulerMode

Json = dict[str, Any]

NAMESPACE = "team"
GANG = "incoming"
START = "2026-06-01T12:00:00Z"
REPETITIONS = 7
PRIORITY = 100


@dataclass(frozen=True)
class Shape:
    """How large the cluster and the gang are."""

    nodes: int = 1_000
    pods: int = 10_000
    gang: int = 64
    groups: int = 100
    budgets: int = 20


def scenario(shape: Shape) -> Json:
    """Return a full cluster of pods of lower priorities, some of them in groups, and a gang of large pods."""
    draw = Random("large cluster")
    groups = [_group(f"group-{number}", draw.randrange(10), 1) for number in range(shape.groups)]
    pods = [_running(number, shape, groups, draw) for number in range(shape.pods)]
    pods += [
        _pod(f"incoming-{number}", {"cpu": "16", "memory": "32Gi"}, PRIORITY, GANG) for number in range(shape.gang)
    ]
    return {
        "name": "pods_scale",
        "tags": [],
        "input": {
            "nodes": [_node(f"node-{number}") for number in range(shape.nodes)],
            "pods": pods,
            "podGroups": [*groups, _group(GANG, PRIORITY, shape.gang)],
            "podDisruptionBudgets": [_budget(number) for number in range(shape.budgets)],
            "preemptor": {"kind": "PodGroup", "namespace": NAMESPACE, "name": GANG},
        },
    }


def _node(name: str) -> Json:
    room = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}, "status": {"allocatable": room}}


def _group(name: str, priority: int, minimum: int) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": minimum}},
            "priority": priority,
            "disruptionMode": {"all": {}},
        },
    }


def _running(number: int, shape: Shape, groups: list[Json], draw: Random) -> Json:
    asked = {"cpu": str(draw.choice([2, 3, 3, 4])), "memory": f"{draw.choice([4, 8, 12])}Gi"}
    group = draw.choice(groups) if draw.random() < 0.2 else None
    priority = draw.randrange(10) if group is None else group["spec"]["priority"]
    raw = _pod(f"pod-{number}", asked, priority, group["metadata"]["name"] if group else "")
    raw["metadata"]["labels"] = {"app": f"app-{draw.randrange(4 * shape.budgets)}"}
    raw["spec"]["nodeName"] = f"node-{number % shape.nodes}"
    raw["status"] = {"phase": "Running", "startTime": f"2026-06-01T{draw.randrange(24):02}:{draw.randrange(60):02}:00Z"}
    return raw


def _pod(name: str, asked: dict[str, str], priority: int, group: str) -> Json:
    spec: Json = {"priority": priority, "containers": [{"name": "main", "resources": {"requests": asked}}]}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def _budget(number: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{number}", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"app": f"app-{number}"}}},
        "status": {"disruptionsAllowed": 2},
    }


def build_model(line: bytes) -> PodModel:
    """Go from a line of JSON to the filled model."""
    given = orjson.loads(line)["input"]
    return PodModel.of(_objects(given))


def _objects(given: Json) -> Iterator[Json]:
    for kind in ("nodes", "podGroups", "podDisruptionBudgets", "pods"):
        yield from given[kind]


@dataclass(frozen=True)
class Measurement:
    """Milliseconds of processor time, the fastest of some repetitions."""

    mode: SchedulerMode
    build: float
    forecast: float
    answer: PodForecast


def measure(line: bytes, mode: SchedulerMode) -> Measurement:
    """Measure the engine in one mode."""
    model = build_model(line)
    key = ObjectKey(NAMESPACE, GANG)
    gc.collect()
    return Measurement(
        mode=mode,
        build=_fastest(lambda: build_model(line), 2),
        forecast=_fastest(lambda: predict_group(model, key, mode), REPETITIONS),
        answer=predict_group(model, key, mode),
    )


def _fastest(action: Callable[[], object], repetitions: int) -> float:
    best = float("inf")
    for _ in range(repetitions):
        started = time.process_time()
        action()
        best = min(best, time.process_time() - started)
    return best * 1000


FULL = Shape()
SMALL = Shape(nodes=100, pods=1_000, gang=8, groups=10)
#: 1.36 places the whole gang again for every candidate: on the full cluster that takes the real scheduler many minutes.
ROWS = (
    (SchedulerMode.V1_37, FULL),
    (SchedulerMode.V1_37, SMALL),
    (SchedulerMode.V1_36, SMALL),
    (SchedulerMode.V1_36, FULL),
)
UNBEARABLE = (SchedulerMode.V1_36, FULL)


def run() -> None:
    """Print one row per release and size: the engine, the real scheduler, and how many times less the engine needs."""
    print("\npods: a gang that must preempt; milliseconds, processor time but for `wall`, which has all processors")
    oracles = find_oracles()
    columns = "build", "forecast", "victims", "real cpu", "ratio", "real wall", "ratio", "victims"
    print(f"{'release, size':28}" + "".join(f"{column:>10}" for column in columns))
    for mode, shape in ROWS:
        line = orjson.dumps(scenario(shape))
        ours = measure(line, mode)
        name = f"{mode}: {shape.nodes} x {shape.pods}, {shape.gang}"
        row = f"{name:28}{ours.build:10.1f}{ours.forecast:10.1f}{len(ours.answer.outcome.victims):10}"
        if mode in oracles and (mode, shape) != UNBEARABLE:
            single, free = (ask_oracle(oracles[mode], line, processors) for processors in ("1", ""))
            cpu, wall = single["evaluation"]["minCpuMs"], free["evaluation"]["minWallMs"]
            row += (
                f"{cpu:10.1f}{cpu / ours.forecast:9.1f}x{wall:10.1f}{wall / ours.forecast:9.1f}x{single['victims']:10}"
            )
        print(row)


def ask_oracle(oracle: Path, line: bytes, processors: str) -> Json:
    """Measure the real scheduler, on so many processors; empty means all."""
    environment = {**os.environ, "GOMAXPROCS": processors} if processors else dict(os.environ)
    done = subprocess.run(
        [str(oracle), "bench", "-repetitions", "3"],
        input=line + b"\n",
        capture_output=True,
        check=True,
        env=environment,
    )
    answer = json.loads(done.stdout)
    if "error" in answer:
        raise RuntimeError(f"the oracle has no answer: {answer['error']}")
    (expect,) = answer["expect"].values()
    return dict(expect)


def find_oracles() -> dict[str, Path]:
    """Build the programs that measure the real scheduler, by release; say why where that is impossible."""
    command = [sys.executable, "-m", "tests.scheduler.oracle"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return {release: Path(path) for release, path in (line.split(maxsplit=1) for line in done.stdout.splitlines())}
    print(f"real kube-scheduler is not measured: {done.stderr.strip().splitlines()[-1]}")
    return {}
