"""What happens on the network."""

from typing import Final

from tests.simulation.events.kind import EventKind, Target, a_cluster, a_way, a_worker, lasting, once
from tests.simulation.plan import Event
from tests.simulation.system import System
from tests.simulation.wire import WireFault

_MOST_STARTS: Final = 40
"""How often a daemon is started again in a history, at most."""


def _wire(fault: WireFault, target: Target = a_way) -> EventKind:
    return EventKind(
        lasting(f"wire: {fault}", target),
        lambda system, event: _strike(system, event, fault, add=True),
        lambda system, event: _strike(system, event, fault, add=False),
    )


def _strike(system: System, event: Event, fault: WireFault, *, add: bool) -> None:
    daemon, _, cluster = event.target.rpartition(">")
    processes = [f"{daemon}.{number}" for number in range(1, _MOST_STARTS)] if daemon else [""]
    for process in processes:
        faults = system.network.faults.setdefault((process, cluster), [])
        if add:
            faults.append(fault)
        elif fault in faults:
            faults.remove(fault)


def _partition(kind: str, target: Target, longest: float) -> EventKind:
    def strike(system: System, event: Event, *, add: bool) -> None:
        for fault in (WireFault.REQUESTS_LOST, WireFault.ANSWERS_LOST):
            _strike(system, event, fault, add=add)

    return EventKind(
        lasting(kind, target, longest),
        lambda system, event: strike(system, event, add=True),
        lambda system, event: strike(system, event, add=False),
    )


def _forget_history(system: System, event: Event) -> None:
    cluster = system.cluster(event.target)
    cluster.store.ledger.forget_history()
    system.network.cut_watches(event.target)


def _show_old_lists(system: System, event: Event, *, add: bool) -> None:
    cluster = system.cluster(event.target)
    system.network.stale_revision[cluster.name] = cluster.store.ledger.revision
    _strike(system, event, WireFault.STALE, add=add)
    if add:
        system.loop.call_later(event.seconds / 2, system.network.cut_watches, cluster.name)


NETWORK: Final = {
    **{f"wire: {fault}": _wire(fault) for fault in WireFault if fault is not WireFault.STALE},
    "partition": _partition("partition", a_way, 90.0),
    "worker cut off": _partition("worker cut off", a_worker, 110.0),
    "watches are cut": EventKind(
        once("watches are cut", a_cluster), lambda system, event: system.network.cut_watches(event.target)
    ),
    "watches fall silent": EventKind(
        once("watches fall silent", a_cluster), lambda system, event: system.network.mute_watches(event.target)
    ),
    "watch history is lost": EventKind(once("watch history is lost", a_cluster), _forget_history),
    "lists are old": EventKind(
        lasting("lists are old", a_cluster, 20.0),
        lambda system, event: _show_old_lists(system, event, add=True),
        lambda system, event: _show_old_lists(system, event, add=False),
    ),
}
"""Kinds by name."""
