"""What happens to clusters and their Kueues."""

from datetime import timedelta
from typing import Final

from config.api.meta import Obj
from localcluster.kueue.profile import CURRENT, GATES_OFF
from localcluster.sample_queues import NAMESPACE
from tests.simulation.clusters import SimulatedCluster
from tests.simulation.events.daemons import STEPS
from tests.simulation.events.kind import EventKind, a_cluster, a_worker, lasting, moment, once
from tests.simulation.plan import Event
from tests.simulation.system import COPIED, System

_FINALIZER: Final = "example.dev/slow"


def _skew(system: System, event: Event) -> None:
    system.cluster(event.target).clock.offset += timedelta(seconds=float(event.value))


def _silence(system: System, event: Event, *, is_silent: bool) -> None:
    system.cluster(event.target).kueue.is_silent = is_silent


def _slow_down(system: System, event: Event, *, pace: float) -> None:
    system.cluster(event.target).kueue.pace = pace


def _restart_kueue(system: System, event: Event) -> None:
    system.cluster(event.target).kueue.restart()


def _switch_gates_off(system: System, event: Event) -> None:
    kueue = system.cluster(event.target).kueue
    if kueue.profile is CURRENT:
        kueue.restart(GATES_OFF)


def _switch_gates_on(system: System, event: Event) -> None:
    kueue = system.cluster(event.target).kueue
    if kueue.profile is GATES_OFF:
        kueue.restart(CURRENT)


def _restore(system: System, event: Event) -> None:
    """Keep a backup now, and restore it later."""
    cluster = system.cluster(event.target)
    backup = cluster.take_backup()

    def restore() -> None:
        if cluster not in system.clusters:
            return
        system.trace.add("EVENT", f"etcd of {cluster.name} is restored")
        cluster.restore(backup, bump=event.value == "bump")
        system.note_restored(cluster)
        system.network.cut_watches(cluster.name)

    system.loop.call_later(event.seconds, restore)


def _add_finalizers(system: System, event: Event) -> None:
    cluster = system.cluster(event.target)
    plural = event.value or "jobs"

    def add(obj: Obj) -> None:
        obj["metadata"].setdefault("finalizers", []).append(_FINALIZER)

    for obj in system.ours(cluster, plural):
        cluster.change(plural, obj["metadata"]["name"], NAMESPACE, add, author="operators")


def _remove_finalizers(system: System, event: Event) -> None:
    _free_objects(system.cluster(event.target))


def remove_all_finalizers(system: System) -> None:
    """Remove those that a restored cluster has again, too."""
    for cluster in system.workers.values():
        _free_objects(cluster)


def _free_objects(cluster: SimulatedCluster) -> None:
    def remove(obj: Obj) -> None:
        kept = [each for each in obj["metadata"]["finalizers"] if each != _FINALIZER]
        obj["metadata"]["finalizers"] = kept

    for plural in COPIED:
        for obj in cluster.all(plural):
            if _FINALIZER in obj["metadata"].get("finalizers", ()):
                cluster.change(plural, obj["metadata"]["name"], NAMESPACE, remove, author="operators")


CLUSTERS: Final = {
    "cluster's clock is set": EventKind(once("cluster's clock is set", a_cluster, STEPS), _skew),
    "Kueue is silent": EventKind(
        lasting("Kueue is silent", a_cluster),
        lambda system, event: _silence(system, event, is_silent=True),
        lambda system, event: _silence(system, event, is_silent=False),
    ),
    "Kueue is slow": EventKind(
        lasting("Kueue is slow", a_cluster),
        lambda system, event: _slow_down(system, event, pace=3.0),
        lambda system, event: _slow_down(system, event, pace=0.05),
    ),
    "Kueue restarts": EventKind(once("Kueue restarts", a_cluster), _restart_kueue),
    "Kueue ignores gates": EventKind(lasting("Kueue ignores gates", a_worker), _switch_gates_off, _switch_gates_on),
    "Kueue is upgraded": EventKind(once("Kueue is upgraded", a_worker), _switch_gates_on),
    "etcd is restored": EventKind(
        lambda chance, setting: Event(
            round(chance.uniform(2.0, 150.0), 3),
            "etcd is restored",
            a_cluster(chance, setting),
            round(chance.uniform(1.0, 80.0), 3),
            chance.choice(("bump", "")),
        ),
        _restore,
    ),
    "objects terminate slowly": EventKind(
        lambda chance, setting: Event(
            moment(chance),
            "objects terminate slowly",
            a_worker(chance, setting),
            round(chance.uniform(2.0, 100.0), 3),
            chance.choice(("jobs", "workloads")),
        ),
        _add_finalizers,
        _remove_finalizers,
    ),
}
"""Kinds by name."""
