"""What to do about an opening that the worker's Kueue missed.

A gate that is opened while Kueue tries that very Workload is overlooked: Kueue judges the version that it began with,
parks the Workload as gated, and tries it again only when something else changes; its window passes unused. Of all
that we may write there only one thing triggers it: a change of whether any gate is closed. So the gate is closed for a
moment and opened again, inside its own window, which begins again with that. No other gate opens for it.

Invariant: a gate is closed only while Kueue still says that the Workload is gated, so never under a preemption.
"""

from dataclasses import dataclass, replace
from typing import Final

from engine.vocabulary.messages import PREEMPTION_GATED
from gates.decision.windows import elapsed, turn_age
from gates.model.openings import Opening
from gates.model.settings import SECOND, Settings
from gates.model.view import Reach, Replica, WorkerView, WorkloadView

MOST_NUDGES: Final = 3
_FIRST_DELAY_NS: Final = 5 * SECOND
"""How long Kueue gets at least to notice on its own; doubled with every nudge."""
_LONGEST_FIRST_DELAY_NS: Final = 20 * SECOND
"""How long a Kueue gets that is known to be slow."""
_FIRST_REST_NS: Final = SECOND
"""How long the gate stays closed, so that a cycle that has begun with it is over; doubled with every nudge."""
_GATED_REASON: Final = "AdmissionGated"


@dataclass(frozen=True, slots=True)
class Missed:
    """An opening that Kueue has not noticed, and how long to wait before acting on it."""

    worker: WorkerView
    replica: Replica
    nudged: Opening
    """The opening as it is recorded once its gate is closed for a moment."""
    due_ns: int


def missed_opening(last: Opening, view: WorkloadView, now_ns: int, settings: Settings) -> Missed | None:
    """Return the last opening if Kueue has not noticed it, None if it has or nothing more is to be tried."""
    worker = view.worker(last.cluster)
    if worker is None or worker.reach is not Reach.SYNCED or worker.busy or not worker.listed:
        return None
    replica = worker.replica
    if replica is None or replica.uid != last.replica_uid or not _is_overlooked(replica):
        return None
    if last.nudges >= MOST_NUDGES:
        return None
    delay = _first_delay(replica) << last.nudges
    due_ns = max(delay - elapsed(last, view, now_ns), 0)
    if turn_age(last, view, now_ns) + due_ns + (_FIRST_REST_NS << last.nudges) > settings.timeout_ns // 2:
        return None
    nudged = replace(last, nudges=last.nudges + 1, nudged=view.steady)
    return Missed(worker, replica, nudged, due_ns)


def _first_delay(replica: Replica) -> int:
    """Return how long this Kueue gets to notice on its own: twice as long as it took to handle the replica at first.

    Both times are of the worker's clock. Time that the replica spent in a queue looks the same, so there is a limit.
    """
    handled = min((each.last_transition_ns for each in replica.conditions.values()), default=0)
    took = handled - replica.created_ns if replica.created_ns else 0
    return min(max(2 * took, _FIRST_DELAY_NS), _LONGEST_FIRST_DELAY_NS)


def rest_left(last: Opening, view: WorkloadView) -> int:
    """Return how long a gate that was closed for a moment stays so."""
    rest = _FIRST_REST_NS << min(max(last.nudges - 1, 0), MOST_NUDGES)
    if last.nudged is None or view.steady is None or last.nudged.clock != view.steady.clock:
        return 0
    return max(last.nudged.at_ns + rest - max(view.steady.at_ns, last.nudged.at_ns), 0)


def _is_overlooked(replica: Replica) -> bool:
    """Return whether Kueue still reports the gate as closed: once it sees an open one, it reports something else."""
    reserved = replica.conditions.get("QuotaReserved")
    if not replica.gate_open or replica.other_gate_closed or replica.signal_ns is None or reserved is None:
        return False
    is_gated = reserved.reason == _GATED_REASON or reserved.message == PREEMPTION_GATED
    return is_gated and reserved.status == "False" and not replica.is_true("Evicted")
