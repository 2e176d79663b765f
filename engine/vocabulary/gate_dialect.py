"""Two spellings of the same preemption gate (docs/decisions/0001): Kueue v0.19.1's and KEP-8303's own."""

from enum import Enum
from typing import Final

BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"
QUOTA_RESERVATION_BLOCKED: Final = "QuotaReservationBlocked"
"""The signal's name in KEP-8303; Kueue v0.19.1 writes BLOCKED_ON_PREEMPTION_GATES."""


class GateDialect(Enum):
    """How a cluster spells preemption gates: the type of the signal, and the field with the state of a gate."""

    KUEUE = BLOCKED_ON_PREEMPTION_GATES, "position"
    """Kueue v0.19.1."""
    KEP = QUOTA_RESERVATION_BLOCKED, "state"
    """The text of KEP-8303."""

    @property
    def signal(self) -> str:
        """The type of the condition that asks for an open gate."""
        return self.value[0]

    @property
    def state_field(self) -> str:
        """The field of `status.preemptionGates[]` with the state of a gate."""
        return self.value[1]
