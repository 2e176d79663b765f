"""Which preemption gate opens next, and when: KEP-8303's first-come-first-served, one cluster per timeout.

The guarantee: between two openings of one attempt on different clusters at least the timeout passes, whichever
workers can be read, whatever they say, and however clocks are set. Nor does a worker get two windows while another one
that asks waits for its first. See docs/decisions/0002 for the meaning of Open, 0015 for the measure of time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from config.api.identifiers import WorkerName
from gates.decision.ledger import known_openings, last_opening
from gates.decision.nudging import rest_left
from gates.decision.policies import Candidate, Later, Pick, choose
from gates.decision.windows import elapsed, holding, opening_of, remaining, turn_age
from gates.model.openings import Opening
from gates.model.settings import SECOND, Settings
from gates.model.view import GateSupport, Replica, WorkerView, WorkloadView


@dataclass(frozen=True, slots=True)
class Open:
    """Open this gate now. `opening.opened_ns` is the start of the window."""

    worker: WorkerView
    replica: Replica
    opening: Opening


@dataclass(frozen=True, slots=True)
class Wait:
    """A candidate waits for the window of an earlier opening to pass."""

    worker: WorkerView
    holder: Opening
    remaining_ns: int


@dataclass(frozen=True, slots=True)
class Hold:
    """A candidate waits because a replica has reserved quota and may be admitted without any preemption."""

    worker: WorkerView
    reserved_on: WorkerName


@dataclass(frozen=True, slots=True)
class Grace:
    """A candidate waits a moment, because another worker may have capacity without any preemption."""

    worker: WorkerView
    until_ns: int


@dataclass(frozen=True, slots=True)
class Defer:
    """A candidate waits because the policy says so; `due_ns` is when it no longer does."""

    worker: WorkerView
    due_ns: int
    remaining_ns: int
    why: str
    is_brief: bool = False
    """It is over in a moment, so that the check's message says nothing about it."""


@dataclass(frozen=True, slots=True)
class Idle:
    """No worker asks to preempt."""


NextGate = Open | Wait | Hold | Grace | Defer | Idle


def candidates(view: WorkloadView, now_ns: int) -> tuple[WorkerView, ...]:
    """Return the workers that ask for their gate: those without a window in this attempt first, then by arrival."""
    window_order = _window_order(view)
    asking = (worker for worker in view.holders if _asks(worker) and worker.exclusion is None)
    return tuple(sorted(asking, key=lambda worker: _arrival(worker, window_order, now_ns)))


def next_gate(view: WorkloadView, now_ns: int, settings: Settings) -> NextGate:
    """Decide about the gates of one Workload that is pending everywhere."""
    queue = candidates(view, now_ns)
    if not queue:
        return Idle()
    if settings.hold_while_quota_reserved and (reserved := _quota_holder(view)) is not None:
        return Hold(queue[0], reserved.name)
    if (busy := opening_on_its_way(view, now_ns, settings)) is not None:
        return Wait(queue[0], busy, max(remaining(busy, view, now_ns, settings), SECOND))
    if (silent := _not_shown_yet(queue[0], view)) is not None:
        why = f"{silent.name} has not shown that it honours its gate"
        return Defer(queue[0], now_ns + SECOND, SECOND, why, is_brief=True)
    last = last_opening(view)
    if last is None and (until := _grace_end(queue, view, now_ns, settings)) > now_ns:
        return Grace(queue[0], until)
    longest, left = holding(known_openings(view), view, now_ns, settings)
    if last is None or longest is None or left == 0:
        window_order = _window_order(view)
        choice = choose([_candidate(worker, window_order) for worker in queue], view, now_ns, settings)
        return _chosen(choice, view, now_ns, settings)
    wait = Wait(queue[0], longest, left)
    holder = next((worker for worker in queue if worker.name == last.cluster), None)
    if holder is None or holder.busy or (holder.problem and holder is not queue[0]):
        # A worker that could not be written to is tried again in its own window, not repeatedly in those of others.
        return wait
    if is_shared(last, view, now_ns, settings):
        return wait
    return _once_more(holder, last, len(queue) == 1, view, now_ns, settings) or wait


def opening_on_its_way(view: WorkloadView, now_ns: int, settings: Settings) -> Opening | None:
    """Return the opening that may or may not have happened: not even the start of its window is certain."""
    worker = next((worker for worker in view.workers if worker.opening_on_its_way), None)
    if worker is None:
        return None
    recorded = (o for o in known_openings(view) if o.cluster == worker.name)
    return next(recorded, opening_of(worker.name, None, view, now_ns, settings))


def _not_shown_yet(first: WorkerView, view: WorkloadView) -> WorkerView | None:
    """Return a worker that was seen to honour gates a moment ago and has a replica whose gate has yet to show.

    If the gate does not show, it soon counts as a worker that may ignore it, and its replica as an opening.
    """
    others = (worker for worker in view.holders if worker is not first and worker.gates is GateSupport.HONOURED)
    staying = (w for w in others if w.replica is not None and not w.replica.leaving)
    return next((w for w in staying if w.replica is not None and w.replica.has_yet_to_show), None)


def _once_more(
    holder: WorkerView, last: Opening, is_alone: bool, view: WorkloadView, now_ns: int, settings: Settings
) -> Open | Wait | None:
    """Open the gate once more inside its own window, None if that has to wait for another window.

    A reverted status write is only written again, and an opening that did not arrive is tried again: both belong to
    the same window, and others do not wait longer for it. A worker that asks for something new (its replica was made
    again, or evicted) begins another window, and gets it at once only while no other worker asks.
    """
    replica = holder.replica
    if replica is None:
        return None
    if replica.uid == last.replica_uid and last.nudged is not None:
        if (rest := rest_left(last, view)) > 0:
            return Wait(holder, last, rest)
        if not is_alone and turn_age(last, view, now_ns) >= settings.timeout_ns:
            return None
        again = opening_of(holder.name, replica, view, now_ns, settings, last)
        return _opened(holder, replace(again, nudges=last.nudges, turn=last.turn))
    is_same = replica.uid == last.replica_uid and not _asked_since(holder, replica, last)
    is_confirmed = last.took_effect or holder.opening_confirmed
    if is_same and (is_confirmed or not is_alone) and elapsed(last, view, now_ns) < settings.timeout_ns // 2:
        return _opened(holder, replace(last, entry_ns=last.opened_ns))
    return _opened(holder, opening_of(holder.name, replica, view, now_ns, settings, last)) if is_alone else None


def _asked_since(worker: WorkerView, replica: Replica, last: Opening) -> bool:
    """Return whether a replica asks again, as it does after an eviction: then its opening is not the same any more.

    Times on a worker have whole seconds, and its clock is known only so well. An eviction that may have come after the
    opening counts as one that did; a request counts as a new one only if it certainly came after.
    """
    doubt_ns = SECOND + worker.clock_uncertainty_ns
    evicted = replica.conditions.get("Evicted")
    if evicted is not None and evicted.last_transition_ns - worker.clock_skew_ns + doubt_ns > last.opened_ns:
        return True
    return (replica.signal_ns or 0) - worker.clock_skew_ns - doubt_ns > last.opened_ns


def _chosen(choice: Pick | Later | None, view: WorkloadView, now_ns: int, settings: Settings) -> NextGate:
    match choice:
        case Pick(worker=worker):
            before = last_opening_on(worker.name, view)
            return _opened(worker, opening_of(worker.name, _asking(worker), view, now_ns, settings, before))
        case Later(worker=worker, due_ns=due_ns, why=why):
            return Defer(worker, due_ns, due_ns - now_ns, why)
        case None:
            return Idle()
        case _:
            assert_never(choice)


def _candidate(worker: WorkerView, window_order: Mapping[WorkerName, int]) -> Candidate:
    replica = _asking(worker)
    asked_ns = (replica.signal_ns or 0) - worker.clock_skew_ns
    is_late = bool(worker.problem) or replica.other_gate_closed
    return Candidate(worker, asked_ns, is_late=is_late, turn=window_order.get(worker.name, 0))


def _window_order(view: WorkloadView) -> Mapping[WorkerName, int]:
    """Return when each worker had its last window in this attempt, as a number that orders them."""
    attempt = view.workload.attempt
    mine = (o for o in known_openings(view) if o.attempt == attempt)
    return {o.cluster: place for place, o in enumerate(mine, start=1)}


def last_opening_on(cluster: WorkerName, view: WorkloadView) -> Opening | None:
    """Return the last opening on a cluster in this attempt."""
    attempt = view.workload.attempt
    return next((o for o in known_openings(view) if (o.cluster, o.attempt) == (cluster, attempt)), None)


def is_shared(last: Opening, view: WorkloadView, now_ns: int, settings: Settings) -> bool:
    """Return whether another cluster's window runs as well, as it does after an operator opened a gate by hand."""
    others = (opening for opening in known_openings(view) if opening.cluster != last.cluster)
    return any(remaining(opening, view, now_ns, settings) > 0 for opening in others)


def _asks(worker: WorkerView) -> bool:
    replica = worker.replica
    return replica is not None and replica.has_gate and not replica.gate_open and replica.signal_ns is not None


def _arrival(
    worker: WorkerView, window_order: Mapping[WorkerName, int], now_ns: int
) -> tuple[bool, bool, int, int, tuple[int, WorkerName]]:
    """Order by when the worker asked, on the hub's clock; a clock that runs ahead cannot make it later than now.

    A worker whose last write failed comes after the others, so that it cannot take window after window for nothing.
    So does one that had a window: a worker chooses the time of its own request, so it must not come first repeatedly.
    """
    replica, candidate = _asking(worker), _candidate(worker, window_order)
    asked_ns = min(candidate.asked_ns, now_ns)
    return (bool(worker.problem), replica.other_gate_closed, candidate.turn, asked_ns, worker.order)


def _asking(worker: WorkerView) -> Replica:
    replica = worker.replica
    if replica is None or replica.signal_ns is None:
        message = f"worker {worker.name} does not ask for its gate"
        raise ValueError(message)
    return replica


def _grace_end(queue: tuple[WorkerView, ...], view: WorkloadView, now_ns: int, settings: Settings) -> int:
    """Return until when the first gate waits: counted from the first request, so that later ones do not add to it."""
    own = view.workload.targets.preemption_delay_ns
    asked = (min(_candidate(worker, {}).asked_ns, now_ns) for worker in queue)
    return min(asked, default=now_ns) + (settings.non_preempting_grace_ns if own is None else own)


def _quota_holder(view: WorkloadView) -> WorkerView | None:
    staying = (w for w in view.holders if w.replica is not None and not w.replica.leaving)
    return next((w for w in staying if w.replica is not None and w.replica.is_true("QuotaReserved")), None)


def _opened(worker: WorkerView, opening: Opening) -> Open:
    return Open(worker, _asking(worker), opening)
