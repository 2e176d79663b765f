"""Leaves out decisions that only repeat others about the same Workload, and counts them.

The same decision in a row is kept once a minute. Once a Workload has had many decisions in a minute, only those that
differ from all others of that minute are kept. Invariant: of those left out the last is kept too, with the count of the
others, as soon as a decision follows that is kept, or the Workload is forgotten.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import ObjectKey
from manager.reconcile.reconciliation import Reconciliation

WINDOW_SECONDS: Final = 60.0
FREE: Final = 32
"""After so many decisions about a Workload in a minute, any that was made before in that minute is left out."""
_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class Kept:
    """A decision to be kept."""

    reconciliation: Reconciliation
    cause: str
    repeated: int = 0
    """How many were left out since the one kept before it."""


@dataclass(slots=True)
class _Known:
    began: float
    kept: int = 0
    last: Any = None
    """What was decided last, kept or not."""
    recent: deque[Any] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """What was decided and kept in this minute."""
    left_out: Kept | None = None
    """The last one that was left out."""


class Thinning:
    """Says which decisions the journal keeps; to be used by one thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: dict[ObjectKey, _Known] = {}

    def take(self, key: ObjectKey, reconciliation: Reconciliation, cause: str) -> list[Kept]:
        """Return what is to be kept now, in order."""
        now, decision = self._monotonic(), reconciliation.decision
        known = self._known.setdefault(key, _Known(now))
        decided, before = (decision.rule, decision.notes, decision.steps), known.last
        if not decision.actions and before is not None and before[:2] == decided[:2]:
            return []
        known.last = decided
        if now - known.began >= WINDOW_SECONDS:
            known.began, known.kept = now, 0
            known.recent.clear()
        elif decided == before or (known.kept >= FREE and decided in known.recent):
            known.left_out = Kept(
                reconciliation, cause, known.left_out.repeated + 1 if known.left_out is not None else 0
            )
            return []
        known.kept += 1
        known.recent.append(decided)
        left_out, known.left_out = known.left_out, None
        return [each for each in (left_out, Kept(reconciliation, cause)) if each is not None]

    def forget(self, key: ObjectKey) -> Kept | None:
        """Keep nothing in memory of a Workload; return what was left out of it last."""
        known = self._known.pop(key, None)
        return known.left_out if known is not None else None

    def forget_all(self) -> list[Kept]:
        """Keep nothing in memory of any Workload; return what was left out last of each."""
        found = [self.forget(key) for key in list(self._known)]
        return [each for each in found if each is not None]
