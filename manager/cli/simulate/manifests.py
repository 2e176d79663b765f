"""`turnstile simulate -f`: several cycles from plain manifests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from engine.cluster.model import ClusterModel
from engine.cycles.simulation import Plan, Simulation, Victims, simulate
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.vocabulary.decision import Outcome
from manager.cli.predict.manifests import labels_of, read_configuration, read_time
from manager.cli.predict.objects import load_manifests
from manager.cli.predict.options import KueueOptions

_NOT_QUEUED: Final = "not-queued"


def simulate_manifests(
    files: Sequence[str],
    kueue: KueueOptions,
    *,
    cycles: int,
    victims: Victims,
    until: str | None,
    current_time_ns: int,
) -> Simulation:
    """Return what a Kueue that starts on these manifests does."""
    manifests = load_manifests(files)
    configuration = read_configuration(manifests, kueue)
    now_ns = current_time_ns if kueue.now is None else read_time(kueue.now)
    until_ns = None if until is None else read_time(until, "--until")
    objects = [manifest.raw for manifest in manifests if not manifest.is_configuration]
    result = simulate(objects, now_ns, configuration, Plan(cycles, victims, until_ns))
    left_out = _not_queued(result, objects, configuration, now_ns)
    return replace(result, labels=(*result.labels, *left_out, *labels_of(manifests, configuration)))


def _not_queued(
    result: Simulation, objects: Sequence[Mapping[str, Any]], configuration: KueueConfiguration, now_ns: int
) -> Iterator[str]:
    """Yield why a pending Workload is in no queue, and so in no cycle: its LocalQueue is missing, for example."""
    sees_topology = any(raw.get("kind") == "Topology" for raw in objects)
    model = ClusterModel(configuration, sees_topology=sees_topology)
    for raw in objects:
        model.apply(raw)
    queues = result.final.queues
    queued = {key for keys in (*queues.heap.values(), *queues.parked.values()) for key in keys}
    queued |= {entry.key for step in result.steps for entry in step.cycle.entries}
    for pending in model.pending():
        if pending.key not in queued:
            found = predict(model, pending.key, now_ns)
            if found.outcome is Outcome.NOT_QUEUED:
                yield f"{_NOT_QUEUED}: Workload {pending.key}: {found.message}"
