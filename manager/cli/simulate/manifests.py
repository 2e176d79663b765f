"""`turnstile simulate -f`: several cycles from plain manifests."""

from collections.abc import Sequence
from dataclasses import replace

from engine.cycles.simulation import Plan, Simulation, Victims, simulate
from manager.cli.predict.manifests import labels_of, read_configuration, read_time
from manager.cli.predict.objects import load_manifests
from manager.cli.predict.options import KueueOptions


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
    return replace(result, labels=(*result.labels, *labels_of(manifests, configuration)))
