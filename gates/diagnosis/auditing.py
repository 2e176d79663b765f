"""Audits decisions from the outside: why a gate was opened, and whether an invariant is violated.

Nothing depends on it but metrics. It reads the same view as the decisions and shares no rule with them, so that it
notices a mistake in one.
"""

from enum import StrEnum

from config.api.identifiers import WorkerName
from gates.decision.ledger import known_openings
from gates.model.actions import OpenGate
from gates.model.openings import Opening
from gates.model.settings import Settings
from gates.model.view import Reach, WorkloadView


class OpeningReason(StrEnum):
    """Why a gate is open."""

    FIRST = "first"
    TURN_OVER = "turn_over"
    REOPENED = "reopened"
    FOREIGN = "foreign"


class Invariant(StrEnum):
    """What must always hold."""

    ONE_GATE_PER_TIMEOUT = "one_gate_per_timeout"
    ONE_RUNNING_COPY = "one_running_copy"
    CLOSED_GATE_HOLDS = "closed_gate_holds"


def opening_reason(view: WorkloadView, cluster: WorkerName) -> OpeningReason:
    """Return why the gate on a cluster is opened in this state; one whose opening never arrived is opened first."""
    worker = view.worker(cluster)
    known = known_openings(view)
    if worker is not None and worker.opening_confirmed and any(o.cluster == cluster for o in known):
        return OpeningReason.REOPENED
    return OpeningReason.TURN_OVER if any(o.cluster != cluster for o in known) else OpeningReason.FIRST


def comes_too_early(view: WorkloadView, action: OpenGate, settings: Settings) -> bool:
    """Return whether an opening falls into the window of another worker."""
    known = known_openings(view)
    own = next((o for o in known if (o.cluster, o.opened_ns) == (action.cluster, action.opened_ns)), None)
    began = own or Opening(action.cluster, action.replica_uid, action.opened_ns, steady=view.steady)
    return any(_apart(began, other) < settings.timeout_ns for other in known if other.cluster != action.cluster)


def _apart(one: Opening, other: Opening) -> int:
    """Return the time between two openings, by the steady clock where both have its reading."""
    if one.steady is None or other.steady is None or one.steady.clock != other.steady.clock:
        return abs(one.opened_ns - other.opened_ns)
    return abs(one.steady.at_ns - other.steady.at_ns)


def runs_twice(view: WorkloadView) -> bool:
    """Return whether more than one worker runs the Workload, as far as can be read."""
    running = (
        worker
        for worker in view.workers
        if worker.reach is Reach.SYNCED
        and worker.job_present
        and not worker.job_ended
        and worker.replica is not None
        and worker.replica.is_true("Admitted")
    )
    return sum(1 for _ in running) > 1


def preempted_through_gates(view: WorkloadView) -> frozenset[str]:
    """Return the replicas for which a worker preempted although their gate was closed, as far as can be seen."""
    replicas = (worker.replica for worker in view.workers)
    return frozenset(r.uid for r in replicas if r is not None and r.preempted_ns is not None)
