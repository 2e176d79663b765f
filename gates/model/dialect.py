"""Gates and signals in the dialect of their worker (docs/decisions/0001).

Every read and write of a gate or signal passes through here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from config.api.meta import Condition, Obj, format_time
from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.fields import UnusableFieldError, items, needed_text, text, time_ns

OPEN: Final = "Open"
CLOSED: Final = "Closed"
GATED: Final = "PreemptionGated"


@dataclass(frozen=True, slots=True)
class GateEntry:
    """One entry of a Workload's `status.preemptionGates`; its place in the list is its index there."""

    name: str
    position: str = ""
    state: str = ""
    """Its state: a cluster writes the field of its dialect."""
    changed_ns: int | None = None
    """Since when it has that state; always set in an entry of our gate that says Open."""


def is_open(entry: GateEntry, dialect: GateDialect) -> bool:
    """Return whether a status entry permits preemption; anything but Open blocks."""
    return bool(getattr(entry, dialect.state_field) == OPEN)


def gate_opened_ns(entries: Iterable[GateEntry], dialect: GateDialect) -> int | None:
    """Return when our gate was opened, or None while it is closed or absent."""
    ours = (entry for entry in entries if entry.name == MULTIKUEUE_NAME and is_open(entry, dialect))
    return next((entry.changed_ns for entry in ours), None)


def gate_requested_ns(conditions: Mapping[str, Condition], dialect: GateDialect) -> int | None:
    """Return since when the worker asks, or None while it does not."""
    signal = conditions.get(dialect.signal)
    asks = signal is not None and signal.status == "True" and signal.reason == GATED
    return signal.last_transition_ns if signal is not None and asks else None


def open_entry(opened_ns: int, dialect: GateDialect) -> Obj:
    """Return the status entry that says that our gate is open."""
    return _entry(OPEN, opened_ns, dialect)


def closed_entry(closed_ns: int, dialect: GateDialect) -> Obj:
    """Return the status entry that says that our gate is closed."""
    return _entry(CLOSED, closed_ns, dialect)


def _entry(state: str, since_ns: int, dialect: GateDialect) -> Obj:
    return {"name": MULTIKUEUE_NAME, dialect.state_field: state, "lastTransitionTime": format_time(since_ns)}


def gate_entries(status: Obj) -> tuple[GateEntry, ...]:
    """Read the gates of a Workload's status; raises `UnusableFieldError` for what no Kueue writes."""
    found: dict[str, GateEntry] = {}
    for place, entry in items(status, "preemptionGates", "status"):
        name = needed_text(entry, "name", place)
        position, state = text(entry, "position", place), text(entry, "state", place)
        changed_ns = time_ns(entry, "lastTransitionTime", place)
        if changed_ns is None and name == MULTIKUEUE_NAME and OPEN in (position, state):
            raise UnusableFieldError(
                f"{place}.lastTransitionTime is missing: an open gate must state when it was opened"
            )
        if name in found:
            raise UnusableFieldError(f"{place}.name is {name[:60]!r} a second time: gate names must be unique")
        found[name] = GateEntry(name, position, state, changed_ns)
    return tuple(found.values())
