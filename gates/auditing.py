"""Looks at what was decided from the outside: why a gate was opened, and whether something is as it must never be.

Nothing depends on it but metrics. It reads the same view as the decisions and shares no rule with them, so that it
notices a mistake in one.
"""

from enum import StrEnum

from gates.actions import OpenGate
from gates.ledger import known_openings
from gates.settings import Settings
from gates.view import Group, Reach


class OpeningReason(StrEnum):
    """Why a gate stands open."""

    FIRST = "first"
    TURN_OVER = "turn_over"
    REOPENED = "reopened"
    FOREIGN = "foreign"


class Invariant(StrEnum):
    """What must always hold."""

    ONE_GATE_PER_TIMEOUT = "one_gate_per_timeout"
    ONE_RUNNING_COPY = "one_running_copy"


def opening_reason(group: Group, cluster: str) -> OpeningReason:
    """Return why the gate on a cluster is opened in this state; one whose opening never arrived is opened first."""
    worker = group.worker(cluster)
    known = known_openings(group)
    if worker is not None and worker.opening_confirmed and any(o.cluster == cluster for o in known):
        return OpeningReason.REOPENED
    return OpeningReason.TURN_OVER if any(o.cluster != cluster for o in known) else OpeningReason.FIRST


def comes_too_early(group: Group, action: OpenGate, settings: Settings) -> bool:
    """Tell whether an opening falls into the turn of another worker."""
    others = (o for o in known_openings(group) if o.cluster != action.cluster)
    return any(abs(action.opened_ns - other.opened_ns) < settings.timeout_ns for other in others)


def runs_twice(group: Group) -> bool:
    """Tell whether more than one worker runs the Workload, as far as can be read."""
    running = (
        worker
        for worker in group.workers
        if worker.reach is Reach.SYNCED
        and worker.job_present
        and not worker.job_ended
        and worker.replica is not None
        and worker.replica.is_true("Admitted")
    )
    return sum(1 for _ in running) > 1
