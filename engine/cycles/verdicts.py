"""A workload whose turn it is in a cycle, and what the cycle decided about it."""

from dataclasses import dataclass, field
from typing import Self

from config.api.meta import ObjectKey
from engine.cluster.queueing import NominatedWorkload
from engine.cycles.pending_queue import QueuedWorkload, RequeueReason
from engine.reporting.status import UnadmittedReason
from engine.search.scan_memory import ScanRecord
from engine.search.search import PreemptionTarget
from engine.vocabulary.assignment import Assignment
from engine.vocabulary.decision import Outcome


@dataclass(frozen=True, slots=True)
class Head:
    """A workload whose turn it is."""

    item: QueuedWorkload
    entry: NominatedWorkload

    @property
    def key(self) -> ObjectKey:
        """The key of the workload."""
        return self.item.key


@dataclass(frozen=True, slots=True)
class HeadVerdict:
    """What a cycle decided about one head."""

    head: Head
    outcome: Outcome
    message: str
    requeue: RequeueReason
    cause: UnadmittedReason | None
    assignment: Assignment
    targets: tuple[PreemptionTarget, ...]
    memory: ScanRecord | None
    considered: str = ""
    """Which flavors were looked at before the one that was taken, as the event lists them."""
    position: int = field(default=0, compare=False)
    """When in the cycle it was decided; by itself that makes no difference."""

    @classmethod
    def unsupported(cls, head: Head, why: str) -> Self:
        """Return that nothing can be said about a head."""
        return cls(head, Outcome.UNSUPPORTED, why, RequeueReason.GENERIC, None, Assignment(()), (), head.item.memory)
