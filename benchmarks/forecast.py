"""What forecasts cost: processor time per signal, per watch event, and memory per Workload of a worker.

    python -m benchmarks forecast

100 workers with 1,000 Workloads each, a tenth of them waiting, and 100 hub Workloads that ask on every worker. Between
two signals the worker changes, as it does when it writes the signal, so that no answer can be reused. The models are
those of the daemon; there is no network, which the benchmark of the client measures.
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import orjson

from benchmarks.engine_scale import Shape, _objects
from config.api.meta import ObjectKey, parse_time
from engine.forecasting.forecast import Forecast, ForecastVerdict, forecast
from engine.forecasting.observed import ObservedCluster
from engine.objects.configuration import KueueConfiguration
from engine.vocabulary.features import FeatureGates
from workerclient.objects.cache import Cache
from workerclient.wire.codec import Identity

Json = dict[str, Any]

WORKERS = 100
WORKLOADS = 1000
WAITING = 100
SIGNALS = 100
NAMESPACE = "team"
NOW = parse_time("2026-06-01T12:00:00Z")
CONFIGURATION = KueueConfiguration(gates=FeatureGates(multi_kueue_orchestrated_preemption=True))
SHAPES = {
    "1 victim": Shape(levels=1, is_fair=False, queues=10, workloads=WORKLOADS - WAITING, victims=1),
    "10 victims": Shape(levels=2, is_fair=False, queues=10, workloads=WORKLOADS - WAITING, victims=10),
}
_GATE = [{"name": "kueue.x-k8s.io/multikueue"}]


def worker_objects(shape: Shape, seed: int) -> Iterator[Json]:
    """Yield what one worker holds: running Workloads, those that wait, and one gated replica for each signal."""
    template: Json = {}
    for raw in _objects(shape):
        if raw["metadata"]["name"] == "incoming":
            template = raw
        else:
            yield _realistic(raw, seed) if raw["kind"] == "Workload" else raw
    for number in range(WAITING):
        yield _copy(template, f"waiting-{number}", priority=0)


def _realistic(raw: Json, seed: int) -> Json:
    """Give a Workload the pod template and the metadata that real ones have."""
    draw = Random(f"{seed}/{raw['metadata']['name']}")
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": raw["metadata"]["name"],
        "uid": f"{draw.getrandbits(99):x}",
    }
    metadata = {
        **raw["metadata"],
        "uid": f"{draw.getrandbits(128):032x}",
        "resourceVersion": str(draw.getrandbits(40)),
        "ownerReferences": [{**owner, "controller": True}],
        "labels": {"kueue.x-k8s.io/job-uid": owner["uid"]},
    }
    return {**_with_template(raw), "metadata": metadata}


def _with_template(raw: Json) -> Json:
    environment = [{"name": f"VARIABLE_{n}", "value": "value " * 4} for n in range(20)]
    pod_sets = []
    for pod_set in raw["spec"]["podSets"]:
        spec = pod_set["template"]["spec"]
        containers = [{**container, "env": environment, "command": ["sh", "-c"]} for container in spec["containers"]]
        pod_sets.append({**pod_set, "template": {"spec": {**spec, "containers": containers}}})
    return {**raw, "spec": {**raw["spec"], "podSets": pod_sets}}


def _copy(raw: Json, name: str, priority: int) -> Json:
    metadata = {**raw["metadata"], "name": name, "uid": name, "resourceVersion": "7"}
    spec = {**_with_template(raw)["spec"], "priority": priority, "preemptionGates": _GATE}
    return {**raw, "metadata": metadata, "spec": spec}


class Watched:
    """One worker as the daemon keeps it: what its caches hold, and the model."""

    def __init__(self) -> None:
        self.cluster = ObservedCluster(CONFIGURATION)
        self._caches: dict[str, Cache[Any]] = {}

    def put(self, raw: Json) -> None:
        """Take one object from a watch."""
        kind, metadata = raw["kind"], raw["metadata"]
        key = ObjectKey(metadata.get("namespace") or "", metadata["name"])
        value = self.cluster.read(kind, raw)
        identity = Identity(key, metadata.get("uid", ""), metadata.get("resourceVersion", "1"))
        self._caches.setdefault(kind, Cache()).observe(identity, value)
        self.cluster.put(kind, key.namespace, key.name, value)


def observe(lines: list[bytes]) -> Watched:
    """Fill a model as watches do, from text to what is kept."""
    watched = Watched()
    for line in lines:
        watched.put(orjson.loads(line))
    return watched


def _cpu(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return (time.process_time() - started) * 1000


def _memory(lines: list[bytes]) -> tuple[Watched, float]:
    observe(lines)  # what is shared by all workers, such as the times that were parsed, is not this worker's
    gc.collect()
    tracemalloc.start()
    watched = observe(lines)
    forecast(watched.cluster, ObjectKey(NAMESPACE, "waiting-0"), NOW)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return watched, kept / WORKLOADS


def _signal(watched: Watched, raw: Json, victims: int) -> tuple[float, float]:
    """Return what the event cost and what the forecast cost."""
    event = _cpu(lambda: watched.put(raw))
    found: list[Forecast] = []
    key = ObjectKey(NAMESPACE, raw["metadata"]["name"])
    cost = _cpu(lambda: found.append(forecast(watched.cluster, key, NOW)))
    assert (found[0].verdict, len(found[0].victims)) == (ForecastVerdict.PREEMPTS, victims), found[0]
    return event, cost


def _measure(name: str, shape: Shape) -> None:
    lines = [orjson.dumps(raw) for raw in worker_objects(shape, 0)]
    first, kept = _memory(lines)
    workers = [first, *(observe(lines) for _ in range(WORKERS - 2))]
    filling = _cpu(lambda: workers.append(observe(lines)))
    incoming = next(raw for raw in map(orjson.loads, lines) if raw["metadata"]["name"] == "waiting-0")
    rounds: list[list[float]] = [[], []]
    events: list[float] = []
    for number, costs in enumerate(rounds):
        for index in range(SIGNALS):
            replica = _copy(incoming, f"asking-{number}-{index}", priority=1000)
            event, cost = _signal(workers[index % WORKERS], replica, shape.victims)
            events.append(event)
            costs.append(cost)
    cold, warm = map(sorted, rounds)
    print(
        f"| {name} | {sum(cold) / SIGNALS:.2f} | {sum(warm) / SIGNALS:.2f} | {warm[-2]:.2f} | "
        f"{sum(events) / len(events):.2f} | {filling:.0f} | {kept:.0f} |"
    )


def run() -> None:
    """Print the table."""
    print(f"\nForecasts: {WORKERS} workers x {WORKLOADS} Workloads ({WAITING} waiting), {SIGNALS} signals")
    print("Milliseconds of processor time; a worker's first forecast also sorts its candidates.")
    print("| each needs | first signal | later signals | 99th of 100 | event | filling a model | bytes/Workload |")
    print("|---|---|---|---|---|---|---|")
    for name, shape in SHAPES.items():
        _measure(name, shape)
