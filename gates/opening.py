"""Which preemption gate opens next, and when: KEP-8303's first-come-first-served, one cluster per timeout.

The guarantee: between two openings of one Workload on different clusters at least the timeout passes, whichever
workers can be read. See docs/decisions/0002 for the meaning of Open.
"""

from dataclasses import dataclass

from gates.ledger import known_openings, last_opening
from gates.policies import Candidate, Later, Pick, choose
from gates.settings import Settings
from gates.view import Group, Opening, Replica, Worker


@dataclass(frozen=True, slots=True)
class Open:
    """Open this gate now. `opening.opened_ns` is the start of the window."""

    worker: Worker
    replica: Replica
    opening: Opening


@dataclass(frozen=True, slots=True)
class Wait:
    """A candidate waits for the window of an earlier opening to pass."""

    worker: Worker
    holder: Opening
    remaining_ns: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A candidate waits because a replica has reserved quota and may be admitted without any preemption."""

    worker: Worker
    reserved_on: str


@dataclass(frozen=True, slots=True)
class Grace:
    """A candidate waits a moment, because another worker may have room without any preemption."""

    worker: Worker
    until_ns: int


@dataclass(frozen=True, slots=True)
class Defer:
    """A candidate waits because the policy says so; `due_ns` is when it no longer does."""

    worker: Worker
    due_ns: int
    remaining_ns: int
    why: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Nobody asks for preemption."""


NextGate = Open | Wait | Hold | Grace | Defer | Idle


def candidates(group: Group, now_ns: int) -> tuple[Worker, ...]:
    """Return the workers that ask for their gate, first come first."""
    asking = (worker for worker in group.holders if _asks(worker))
    return tuple(sorted(asking, key=lambda worker: _arrival(worker, now_ns)))


def next_gate(group: Group, now_ns: int, settings: Settings) -> NextGate:
    """Decide about the gates of one Workload that is pending everywhere."""
    queue = candidates(group, now_ns)
    if not queue:
        return Idle()
    if settings.hold_while_quota_reserved and (reserved := _quota_holder(group)) is not None:
        return Hold(queue[0], reserved.name)
    last = last_opening(group)
    if last is None and (until := _grace_end(queue, now_ns, settings)) > now_ns:
        return Grace(queue[0], until)
    if last is None or (remaining := remaining_window(last, now_ns, settings)) == 0:
        return _chosen(choose([_candidate(worker) for worker in queue], group, now_ns, settings), now_ns)
    holder = next((worker for worker in queue if worker.name == last.cluster), None)
    if holder is None or holder.busy or (holder.problem and holder is not queue[0]):
        # A worker that could not be written to is tried again in its turn, not over and over in others' time.
        return Wait(queue[0], last, remaining)
    if _is_shared(last, group, now_ns, settings):
        return Wait(queue[0], last, remaining)
    return _open(holder, last.opened_ns if _took_effect(holder, last) else now_ns)


def _chosen(choice: Pick | Later | None, now_ns: int) -> NextGate:
    match choice:
        case Pick(worker=worker):
            return _open(worker, now_ns)
        case Later(worker=worker, due_ns=due_ns, why=why):
            return Defer(worker, due_ns, due_ns - now_ns, why)
        case None:
            return Idle()


def _candidate(worker: Worker) -> Candidate:
    replica = _asking(worker)
    asked_ns = (replica.signal_ns or 0) - worker.clock_skew_ns
    return Candidate(worker, asked_ns, is_late=bool(worker.problem) or replica.other_gate_closed)


def _took_effect(worker: Worker, last: Opening) -> bool:
    """Tell a reverted status write from an opening that never arrived.

    The first is only written again and its window keeps its start; the second begins now, and so does its window.
    """
    return worker.opening_confirmed and worker.replica is not None and worker.replica.uid == last.replica_uid


def _is_shared(last: Opening, group: Group, now_ns: int, settings: Settings) -> bool:
    """Tell whether another cluster's window runs as well, as it does after somebody opened a gate by hand."""
    others = (opening for opening in known_openings(group) if opening.cluster != last.cluster)
    return any(remaining_window(opening, now_ns, settings) > 0 for opening in others)


def _asks(worker: Worker) -> bool:
    replica = worker.replica
    return replica is not None and replica.has_gate and not replica.gate_open and replica.signal_ns is not None


def _arrival(worker: Worker, now_ns: int) -> tuple[bool, bool, int, tuple[int, str]]:
    """Order by when the worker asked, on the hub's clock; a clock that runs ahead cannot make it later than now.

    A worker whose last write failed comes after the others, so that it cannot take window after window for nothing.
    """
    replica, candidate = _asking(worker), _candidate(worker)
    return (bool(worker.problem), replica.other_gate_closed, min(candidate.asked_ns, now_ns), worker.order)


def _asking(worker: Worker) -> Replica:
    replica = worker.replica
    if replica is None or replica.signal_ns is None:
        message = f"worker {worker.name} does not ask for its gate"
        raise ValueError(message)
    return replica


def _grace_end(queue: tuple[Worker, ...], now_ns: int, settings: Settings) -> int:
    """Return until when the first gate waits: counted from the first request, so that later ones do not add to it."""
    asked = (min(_candidate(worker).asked_ns, now_ns) for worker in queue)
    return min(asked, default=now_ns) + settings.non_preempting_grace_ns


def remaining_window(last: Opening, now_ns: int, settings: Settings) -> int:
    """Return what is left of the window; a clock that stepped back never makes it longer than the timeout."""
    elapsed = min(max(now_ns - last.opened_ns, 0), settings.timeout_ns)
    return settings.timeout_ns - elapsed


def _quota_holder(group: Group) -> Worker | None:
    return next((w for w in group.holders if w.replica is not None and w.replica.is_true("QuotaReserved")), None)


def _open(worker: Worker, window_start_ns: int) -> Open:
    if worker.replica is None:
        message = f"worker {worker.name} has no replica"
        raise ValueError(message)
    return Open(worker, worker.replica, Opening(worker.name, worker.replica.uid, window_start_ns))
