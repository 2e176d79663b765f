"""`turnstile simulate -f`: several cycles from plain manifests."""

from collections.abc import Sequence
from dataclasses import replace

from engine.cycles.simulation import Plan, Simulation, Victims, simulate
from engine.objects.unsupported import COLD_START
from manager.cli.manifests import load_manifests
from manager.cli.predict_manifests import read_configuration, read_time


def simulate_manifests(
    files: Sequence[str],
    *,
    cycles: int,
    victims: Victims,
    now: str | None,
    until: str | None,
    current_time_ns: int,
    feature_gates: str | None,
    fair_sharing: str | None,
) -> Simulation:
    """Return what a Kueue that starts on these manifests does."""
    manifests = load_manifests(files)
    configuration = read_configuration(manifests, feature_gates, fair_sharing)
    now_ns = current_time_ns if now is None else read_time(now)
    until_ns = None if until is None else read_time(until, "--until")
    objects = [manifest.raw for manifest in manifests if not manifest.is_configuration]
    result = simulate(objects, now_ns, configuration, Plan(cycles, victims, until_ns))
    label = f"{COLD_START.feature}: {COLD_START.detail}"
    return replace(result, labels=(*result.labels, label))
