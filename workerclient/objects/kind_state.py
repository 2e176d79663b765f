"""How the cache of one kind stands to its cluster, and what happened so far."""

from dataclasses import dataclass
from enum import StrEnum


class CachePhase(StrEnum):
    """Where the cache of a kind stands."""

    SYNCING = "Syncing"
    LIVE = "Live"
    LOST = "Lost"
    NOT_SERVED = "NotServed"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True, slots=True)
class KindState:
    """The phase, since when the kind is out of step, and why."""

    phase: CachePhase
    lost_since_ns: int | None
    problem: str = ""
    lost_at: float = 0.0
    """The same on the steady clock."""
    is_overfull: bool = False
    """Whether the cluster shows too much, which is no trouble of this kind alone."""

    @property
    def is_broken(self) -> bool:
        """Return whether the kind cannot be followed now."""
        return self.phase in (CachePhase.LOST, CachePhase.NOT_SERVED, CachePhase.FORBIDDEN)


@dataclass(slots=True)
class ReflectorCounts:
    """What happened so far, for metrics."""

    events: int = 0
    lists: int = 0
    watches: int = 0
    drops: int = 0
    garbage: int = 0
    failures: int = 0
    new_histories: int = 0
    """How often the cluster was found to have another history than before."""
