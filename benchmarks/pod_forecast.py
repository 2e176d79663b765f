"""What forecasts of pods cost: memory per pod of a worker, processor time per watch event and per outlook.

    python -m benchmarks pod_forecast

A worker of 1,000 nodes with 10,000 pods of Jobs, ten to each, as real ones are written: environment, volumes, status of
containers. A second one is the worst that is known: 50 nodes, each with ten pods that are alike in everything. What is
kept is what the daemon keeps: its cache, its index and its model. There is no network.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from config.api.meta import ObjectKey, parse_time
from engine.pod_outlook.arrivals import AssignedPods, arriving_pods
from engine.pod_outlook.outlook import pod_outlook
from engine.pod_outlook.values import PodOutlook
from engine.pods.state.model import PodModel
from engine.pods.values.values import SchedulerMode
from manager.models.watched_pods import PodPlaces, WatchedPod, read_watched_pod
from workerclient.objects.cache import Cache, Unreadable
from workerclient.wire.codec import Identity

Json = dict[str, Any]

NODES = 1_000
PODS = 10_000
PODS_PER_JOB = 10
NOW = parse_time("2026-06-01T12:00:00Z")
_START = "2026-06-01T11:00:00Z"
_PER_NODE = PODS // NODES
NODES_ALIKE = 50


class Watched:
    """One worker as the daemon keeps it."""

    def __init__(self) -> None:
        self.model = PodModel()
        self.places = PodPlaces()
        self._cache: Cache[WatchedPod] = Cache()

    def put(self, raw: Json) -> None:
        """Take one pod from a watch."""
        metadata = raw["metadata"]
        key = ObjectKey(metadata["namespace"], metadata["name"])
        identity = Identity(key, metadata["uid"], metadata["resourceVersion"])
        self._cache.observe(identity, read_watched_pod(self.model, raw))
        value = self._cache.get(key)
        assert not isinstance(value, Unreadable)
        self.model.put_pod(key, value.pod if value is not None else None)
        self.places.put(key, value)


def _node(number: int) -> Json:
    room = {"cpu": str(_PER_NODE), "memory": "64Gi", "pods": "110"}
    metadata = {"name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}", "zone": "a"}}
    return {"kind": "Node", "metadata": metadata, "status": {"allocatable": room}}


def _pod(number: int) -> Json:
    job = f"job-{number // PODS_PER_JOB}"
    labels = {"batch.kubernetes.io/job-name": job, "batch.kubernetes.io/controller-uid": f"{job}-uid", "app": "work"}
    requests = {"cpu": "1", "memory": "1Gi"}
    environment = [{"name": f"VARIABLE_{n}", "value": "value " * 4} for n in range(20)]
    container = {
        "name": "main",
        "image": "registry.example/work:1",
        "env": environment,
        "resources": {"requests": requests},
    }
    status = {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": _START}}}
    return {
        "metadata": {
            "name": f"{job}-{number:05x}",
            "namespace": "team",
            "uid": f"{number:032x}",
            "resourceVersion": str(100_000 + number),
            "labels": labels,
            "annotations": {"kueue.x-k8s.io/workload": f"job-{job}-workload"},
            "ownerReferences": [{"kind": "Job", "name": job, "uid": f"{job}-uid", "controller": True}],
        },
        "spec": {
            "nodeName": f"node-{number % NODES}",
            "priority": number % 7,
            "preemptionPolicy": "PreemptLowerPriority",
            "containers": [container],
            "volumes": [{"name": "token", "projected": {}}],
        },
        "status": {"phase": "Running", "startTime": _START, "containerStatuses": [status]},
    }


def _filled(lines: list[bytes]) -> Watched:
    watched = Watched()
    for number in range(NODES):
        watched.model.apply(_node(number))
    for line in lines:
        watched.put(orjson.loads(line))
    return watched


def _memory(lines: list[bytes]) -> tuple[Watched, float]:
    _filled(lines)  # what is shared by all workers, such as the times that were parsed, is not this worker's
    gc.collect()
    tracemalloc.start()
    empty = _filled([])
    gc.collect()
    nodes, _ = tracemalloc.get_traced_memory()
    watched = _filled(lines)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del empty
    return watched, (kept - 2 * nodes) / PODS


def _repeat(watched: Watched, lines: list[bytes]) -> None:
    for line in lines:
        watched.put(orjson.loads(line))


def _milliseconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def _outlook(watched: Watched, count: int, cpu: str, priority: int) -> tuple[PodOutlook, float]:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    sets = [{"name": "main", "template": {"spec": {"priority": priority, "containers": [container]}}}]
    key = ObjectKey("team", "incoming")
    arriving = arriving_pods(watched.model, key, sets, [AssignedPods("main", count)], NOW)
    found: list[PodOutlook] = []
    spent = _milliseconds(lambda: found.append(pod_outlook(watched.model, arriving, SchedulerMode.V1_36, NOW)))
    return found[0], spent


def _alike() -> Watched:
    """Return a worker on which everybody may be evicted as well as anybody else."""
    watched = Watched()
    for number in range(NODES_ALIKE):
        watched.model.apply(_node(number))
    for number in range(NODES_ALIKE * _PER_NODE):
        raw = _pod(number)
        raw["spec"] |= {"nodeName": f"node-{number % NODES_ALIKE}", "priority": 0}
        watched.put(raw)
    return watched


def _print_outlooks(watched: Watched, questions: Iterable[tuple[int, str, int]]) -> None:
    print("| pods that come | verdict | evicted | ms of processor time |")
    print("|---|---|---|---|")
    for count, cpu, priority in questions:
        found, spent = _outlook(watched, count, cpu, priority)
        print(f"| {count} x {cpu} cpu, priority {priority} | {found.verdict} | {len(found.victims)} | {spent:.1f} |")


def run() -> None:
    """Print the table."""
    lines = [orjson.dumps(_pod(number)) for number in range(PODS)]
    watched, kept = _memory(lines)
    event = min(_milliseconds(lambda: _repeat(watched, lines[:1000])) for _ in range(3))
    print(f"\nForecasts of pods: {NODES} nodes, {PODS} pods, {PODS_PER_JOB} of a Job")
    print(f"{kept:.0f} bytes kept per pod of {sum(map(len, lines)) / PODS:.0f} bytes of JSON; {event:.0f} us per event")
    _print_outlooks(watched, ((1, "0", 100), (1, "4", 100), (16, "4", 100), (64, "4", 100), (64, "4", 0)))
    print(f"\n{NODES_ALIKE} nodes with {_PER_NODE} pods each, all alike")
    _print_outlooks(_alike(), ((1, "4", 100), (6, "4", 100), (64, "4", 100)))
