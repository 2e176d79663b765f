"""What is recorded on the hub object before a worker is touched: which gates were opened, and which replica won."""

from dataclasses import dataclass

from config.api.identifiers import ReplicaUID, WorkerName


@dataclass(frozen=True, slots=True)
class Steady:
    """A reading of a clock that cannot be set. Two readings can be compared only if they are of the same clock."""

    clock: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class Opening:
    """A gate opening that was decided: on the hub object before the worker is touched."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    """Empty for a replica without a gate, whose creation is its opening."""
    opened_ns: int
    """The start of the window by the wall clock, which people read."""
    attempt: str = ""
    """The hub's attempt that it belongs to; empty in a record of an earlier version."""
    steady: Steady | None = None
    """The start of the window by the steady clock, which the window is measured with."""
    took_effect: bool = False
    """The worker was seen to have taken it, so that its window began no later than recorded."""
    nudges: int = 0
    """How often the gate was closed and opened again, because the worker's Kueue had missed the opening."""
    nudged: Steady | None = None
    """When it was last closed for that."""
    entry_ns: int = 0
    """The time in the gate's entry on the worker, which tells our opening from another's; 0 if unknown."""
    by_others: int = 0
    """How often the gate was found open in this attempt although this process had not opened it."""
    turn: Steady | None = None
    """When the worker's window first began: opening the gate again within it does not make it a new window."""
    based_on: str = ""
    """The version of the replica under which it was first sent; empty if that is not known."""
    sent_within_ns: int = 0
    """For how long after its start it may be sent, as the timeout was then; 0 if that is not known."""
    until_shown: bool = False
    """Its replica was created with a closed gate on a worker that may ignore it: it is none once the gate shows."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The replica that was chosen to run: on the hub object before its job is created."""

    cluster: WorkerName
    replica_uid: ReplicaUID
    attempt_ns: int
    """Since when the hub's quota is reserved, which tells one attempt from the next."""
