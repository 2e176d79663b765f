"""Two spellings of the same gate (docs/decisions/0001): Kueue v0.19.1's and KEP-8303's own.

Nothing else knows either; every read and write of a gate or signal passes through here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from config.api.meta import Condition, format_time, parse_time
from config.names import MULTIKUEUE_NAME

Obj = dict[str, Any]

OPEN: Final = "Open"
GATED: Final = "PreemptionGated"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one worker spells gates."""

    name: str
    signal: str
    """Condition type by which the worker asks."""
    position: str
    """Field of a gate's status entry."""

    def is_open(self, entry: Obj) -> bool:
        """Tell whether a status entry permits preemption; anything but Open blocks."""
        return entry.get(self.position) == OPEN

    def opened_ns(self, entries: Iterable[Obj]) -> int | None:
        """Return when our gate was opened, or None while it is closed or absent."""
        for entry in entries:
            if entry.get("name") == MULTIKUEUE_NAME and self.is_open(entry):
                return parse_time(entry["lastTransitionTime"])
        return None

    def signal_ns(self, conditions: Mapping[str, Condition]) -> int | None:
        """Return since when the worker asks, or None while it does not."""
        signal = conditions.get(self.signal)
        asks = signal is not None and signal.status == "True" and signal.reason == GATED
        return signal.last_transition_ns if signal is not None and asks else None

    def open_entry(self, opened_ns: int) -> Obj:
        """Return the status entry that says that our gate is open."""
        return {"name": MULTIKUEUE_NAME, self.position: OPEN, "lastTransitionTime": format_time(opened_ns)}


KUEUE: Final = Dialect("kueue", "BlockedOnPreemptionGates", "position")
KEP_8303: Final = Dialect("kep", "QuotaReservationBlocked", "state")
DIALECTS: Final = {dialect.name: dialect for dialect in (KUEUE, KEP_8303)}
