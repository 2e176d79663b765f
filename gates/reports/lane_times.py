"""When each worker came to a Workload's replica, asked, was let preempt and admitted: what a picture of lanes needs.

Pure, and made from the same view that the daemon decides on. All times are on the hub's clock, with microseconds.
"""

from config.api.meta import NANOSECONDS, Obj, format_microtime
from gates.decision.ledger import known_openings
from gates.model.openings import Opening
from gates.model.settings import Settings
from gates.model.view import Replica, WorkerView, WorkloadView
from gates.reports.explanation import ReplicaState


def lanes_document(view: WorkloadView, settings: Settings) -> Obj:
    """Return the times of all listed workers, the beginning of the attempt, and how long a window lasts."""
    openings = {opening.cluster: opening for opening in known_openings(view)}
    workload = view.workload
    return {
        "policy": str(settings.policy),
        "timeoutSeconds": settings.timeout_ns / NANOSECONDS,
        "began": _moment(workload.attempt_ns or None),
        "lanes": [_lane(worker, openings.get(worker.name), settings) for worker in view.listed],
    }


def _lane(worker: WorkerView, opening: Opening | None, settings: Settings) -> Obj:
    skew_ns, replica = worker.clock_skew_ns, worker.replica
    asks_ns = replica.signal_ns - skew_ns if replica is not None and replica.signal_ns is not None else None
    return {
        "worker": worker.name,
        "reach": str(worker.reach),
        "lostSince": _moment(worker.lost_since_ns),
        "gates": str(worker.gates),
        "clockSkewSeconds": round(skew_ns / NANOSECONDS, 3),
        "created": _moment(replica.created_ns - skew_ns if replica is not None and replica.created_ns else None),
        "asksSince": _moment(asks_ns),
        "opened": _moment(opening.opened_ns if opening is not None else None),
        "windowEnds": _moment(opening.opened_ns + settings.timeout_ns if opening is not None else None),
        "reserved": _moment(_since(replica, ReplicaState.QUOTA_RESERVED, skew_ns)),
        "admitted": _moment(_since(replica, ReplicaState.ADMITTED, skew_ns)),
    }


def _since(replica: Replica | None, condition: str, skew_ns: int) -> int | None:
    if replica is None or not replica.is_true(condition):
        return None
    return replica.since_ns(condition) - skew_ns


def _moment(ns: int | None) -> str:
    return "" if ns is None else format_microtime(ns)
