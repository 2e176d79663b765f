"""Preemption gates of a workload (KEP-8303): a closed one stops the act of preempting and nothing else."""

from collections.abc import Mapping
from typing import Any, Final

from engine.objects.configuration import KueueConfiguration

OPEN: Final = "Open"
CLOSED: Final = "Closed"


def has_closed_gate(raw: Mapping[str, Any], configuration: KueueConfiguration) -> bool:
    """Return whether the workload must not preempt yet."""
    gates, switches = configuration.gates, configuration.profile.switches
    is_by_variants = gates.concurrent_admission and switches.variants_honour_gates
    if not (gates.multi_kueue_orchestrated_preemption or is_by_variants):
        return False
    return bool(closed_gates(raw))


def closed_gates(raw: Mapping[str, Any]) -> list[str]:
    """Return the names of the gates that are not open; a gate without a state is closed.

    Kueue v0.19.1 calls the state `position`, the KEP calls it `state`; both are understood.
    """
    states = (raw.get("status") or {}).get("preemptionGates") or ()
    is_open = {entry.get("name") for entry in states if OPEN in (entry.get("position"), entry.get("state"))}
    return [
        gate["name"] for gate in (raw.get("spec") or {}).get("preemptionGates") or () if gate.get("name") not in is_open
    ]


def with_open_gates(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the raw Workload in which every gate is open; nothing else is copied deeply or changed."""
    names = [gate["name"] for gate in (raw.get("spec") or {}).get("preemptionGates") or ()]
    status = {
        **(raw.get("status") or {}),
        "preemptionGates": [{"name": name, "position": OPEN, "state": OPEN} for name in names],
    }
    return {**raw, "status": status}
