"""How much is left of the window of an opening, and when it has to begin again.

A window is measured with a clock that cannot be set and that goes on while the process is down: the time since the boot
of the machine. Its reading is recorded beside the wall time. So setting a clock shortens no window, and a
restart on the same machine loses nothing. A record whose reading is missing or of another clock (another machine, a
reboot, an earlier version) proves nothing about the time that passed, so its window begins again when it is first seen.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from config.api.identifiers import NO_REPLICA, WorkerName
from gates.model.openings import Opening
from gates.model.settings import MINUTE, SECOND, Settings
from gates.model.view import Reach, Replica, WorkloadView

_TOLERANCE_NS: Final = SECOND
"""By how much wall and steady clock may disagree about the same stretch of time."""
_ANSWERED_NS: Final = 10 * SECOND
"""How long to wait for a request."""
SILENCE_NS: Final = 150 * SECOND
"""How long the watch of a worker may be silent before it is given up: that old may be what is known of it."""
_CARRIED_OUT_NS: Final = MINUTE
"""How long an API server may still carry out a request that we gave up on; that is its own deadline for requests."""


def opening_of(
    cluster: WorkerName,
    replica: Replica | None,
    view: WorkloadView,
    now_ns: int,
    settings: Settings,
    before: Opening | None = None,
) -> Opening:
    """Return the opening of a gate that is opened now; `before` is the last one on that cluster in this attempt."""
    opening = Opening(
        cluster,
        replica.uid if replica is not None else NO_REPLICA,
        now_ns,
        view.workload.attempt,
        entry_ns=now_ns,
        by_others=before.by_others if before is not None else 0,
    )
    if view.steady is None:
        return opening
    return replace(
        opening,
        steady=view.steady,
        turn=view.steady,
        based_on=replica.resource_version if replica is not None else "",
        sent_within_ns=settings.timeout_ns // 2,
    )


def begun_again(opening: Opening, view: WorkloadView, now_ns: int) -> Opening:
    """Return the opening with a window that begins now."""
    attempt = opening.attempt or view.workload.attempt
    return replace(opening, opened_ns=now_ns, attempt=attempt, steady=view.steady)


def elapsed(opening: Opening, view: WorkloadView, now_ns: int) -> int:
    """Return how long ago a window began, as far as that is certain."""
    steady, began = view.steady, opening.steady
    if steady is None:
        return max(now_ns - opening.opened_ns, 0)
    if began is None or began.clock != steady.clock:
        return 0
    return max(steady.at_ns - began.at_ns, 0)


def turn_age(opening: Opening, view: WorkloadView, now_ns: int) -> int:
    """Return how long ago the window of an opening first began, however often its gate was opened again since."""
    if opening.turn is None or view.steady is None or opening.turn.clock != view.steady.clock:
        return elapsed(opening, view, now_ns)
    return max(view.steady.at_ns - opening.turn.at_ns, 0)


def holding(
    openings: Iterable[Opening], view: WorkloadView, now_ns: int, settings: Settings
) -> tuple[Opening | None, int]:
    """Return the opening whose window ends last, and what is left of it.

    That need not be the latest: one that was not seen to arrive is waited for longer than one that was.
    """
    left = [(remaining(opening, view, now_ns, settings), opening) for opening in openings]
    longest = max(left, key=lambda each: each[0], default=None)
    return (None, 0) if longest is None else (longest[1], longest[0])


def remaining(opening: Opening, view: WorkloadView, now_ns: int, settings: Settings) -> int:
    """Return what is left of a window, counted from the latest moment at which it may have begun.

    An opening that its worker shows not to have happened cannot happen any more once no request for it is in flight.
    """
    timeout, may_arrive = settings.timeout_ns, _may_arrive(opening, view, settings)
    worker = view.worker(opening.cluster)
    length = timeout + may_arrive
    if worker is not None and worker.reach is Reach.SYNCED and _has_not_happened(opening, worker.replica):
        # What a silent watch last told proves nothing until it would have been given up.
        proven = may_arrive + SILENCE_NS if may_arrive else 0
        # One that ends as soon as the replica shows its gate need not last longer than it may still begin.
        length = min(length, proven if opening.until_shown else max(timeout, proven))
    return max(length - elapsed(opening, view, now_ns), 0)


def _may_arrive(opening: Opening, view: WorkloadView, settings: Settings) -> int:
    """Return until how long after its record an opening may have arrived, or may do so yet; 0 if it took effect."""
    began, worker = opening.steady, view.worker(opening.cluster)
    if began is None or opening.took_effect:
        return 0
    if worker is not None and worker.tried_ns is not None:
        return max(worker.tried_ns - began.at_ns, 0) + _CARRIED_OUT_NS if worker.tried_ns else 0
    # Another process sent it, or this one is about to.
    return latest_arrival(opening, settings)


def latest_arrival(opening: Opening, settings: Settings) -> int:
    """Return by how long after its start an opening has arrived if it ever does, whichever process sent it."""
    return (opening.sent_within_ns or settings.timeout_ns // 2) + _ANSWERED_NS + _CARRIED_OUT_NS


def _has_not_happened(opening: Opening, replica: Replica | None) -> bool:
    """Return whether a replica proves that nothing arrived: it is the version that the opening was based on.

    A gate that is closed on another version proves nothing, because it may have been open in between.
    """
    if replica is None or not opening.replica_uid:
        return replica is None and not opening.replica_uid
    return (replica.uid, replica.resource_version) == (opening.replica_uid, opening.based_on)


def must_begin_again(opening: Opening, view: WorkloadView, now_ns: int, settings: Settings) -> bool:
    """Return whether the start of a window is unknown: then it begins now."""
    steady, began = view.steady, opening.steady
    if steady is None:
        return opening.opened_ns > now_ns
    if began is None or began.clock != steady.clock or began.at_ns > steady.at_ns:
        return True
    if began.at_ns < view.restarted_ns < began.at_ns + settings.timeout_ns:
        return True
    by_steady, by_wall = steady.at_ns - began.at_ns, now_ns - opening.opened_ns
    return by_steady < settings.timeout_ns and abs(by_wall - by_steady) > _TOLERANCE_NS


def last_call(opening: Opening, settings: Settings) -> int | None:
    """Return until when an opening may be sent, on the steady clock.

    What was sent by then has the other half of the window to arrive in, long after its sender gave up on it.
    """
    within = opening.sent_within_ns or settings.timeout_ns // 2
    return None if opening.steady is None else opening.steady.at_ns + within


def left_by_wall(opened_ns: int, now_ns: int, settings: Settings) -> int:
    """Return what is left of a window by the wall clock alone, for display only."""
    return settings.timeout_ns - min(max(now_ns - opened_ns, 0), settings.timeout_ns)
