"""Which spans a Workload's trace is made of. Pure: what was done goes in, spans come out.

Ids are derived from the UID of the hub's Workload, so that a restart, or another instance, goes on with the same trace.
Times of workers are put on the hub's clock; they are good to a second.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from gates.decision.ledger import known_openings
from gates.diagnosis.auditing import opening_reason
from gates.model.actions import CreateReplica, DeactivateReplica, OpenGate, PatchHubStatus, RemoveRemote, SyncJob
from gates.model.hub_workload import CheckState
from gates.model.view import WorkerView, WorkloadView
from manager.reconcile.reconciliation import ExecutedAction


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time."""

    name: str
    began_ns: int
    ended_ns: int
    attributes: Mapping[str, str] = field(default_factory=dict)


def trace_id(uid: str) -> int:
    """Return the id of a Workload's trace."""
    return int.from_bytes(sha256(f"trace {uid}".encode()).digest()[:16]) or 1


def root_id(uid: str) -> int:
    """Return the id of the span that all others of the trace belong to."""
    return int.from_bytes(sha256(f"root {uid}".encode()).digest()[:8]) or 1


def root_span(view: WorkloadView, ended_ns: int) -> Span:
    """Return the span from the hub's quota to the end."""
    workload = view.workload
    began_ns = min(workload.attempt_ns or ended_ns, ended_ns)
    return Span("workload", began_ns, ended_ns, {"cluster": workload.cluster_name})


def is_end(executed: ExecutedAction) -> bool:
    """Return whether a Workload is over by this."""
    return isinstance(executed.action, PatchHubStatus) and executed.action.finished is not None


def spans_of(executed: ExecutedAction) -> Iterator[Span]:
    """Return the spans of an executed action."""
    group = executed.reconciliation.group
    match executed.action:
        case CreateReplica(cluster=cluster):
            yield _done(executed, "replicate", cluster=cluster)
        case OpenGate(cluster=cluster):
            yield from _before_opening(executed, group.worker(cluster))
            yield _done(executed, "gate.open", cluster=cluster, reason=opening_reason(group, cluster))
        case SyncJob(cluster=cluster):
            yield _done(executed, "mirror", cluster=cluster)
        case RemoveRemote(cluster=cluster):
            yield _done(executed, "remove", cluster=cluster)
        case DeactivateReplica(cluster=cluster):
            yield _done(executed, "deactivate", cluster=cluster)
        case PatchHubStatus(finished=(reason, _)):
            yield _done(executed, "finish", cluster=group.workload.cluster_name, reason=reason)
        case PatchHubStatus(check_state=CheckState.READY, cluster_name=cluster) if cluster:
            yield from _after_opening(group, group.worker(cluster))
            yield _done(executed, "admit", cluster=cluster)
        case PatchHubStatus(check_state=CheckState.RETRY):
            yield _done(executed, "retry", cluster=group.workload.cluster_name)
        case _:  # the other actions take no time worth a span
            pass


def _before_opening(executed: ExecutedAction, worker: WorkerView | None) -> Iterator[Span]:
    if worker is None or worker.replica is None or worker.replica.signal_ns is None:
        return
    asked_ns = min(worker.replica.signal_ns - worker.clock_skew_ns, executed.began_ns)
    reserved_ns = min(executed.reconciliation.group.workload.attempt_ns, asked_ns)
    yield Span("wait.signal", reserved_ns, asked_ns, {"cluster": worker.name})
    yield Span("wait.gate", asked_ns, executed.began_ns, {"cluster": worker.name})


def _after_opening(view: WorkloadView, worker: WorkerView | None) -> Iterator[Span]:
    replica = worker.replica if worker is not None else None
    if worker is None or replica is None or not replica.is_true("Admitted"):
        return
    admitted_ns = replica.since_ns("Admitted") - worker.clock_skew_ns
    for opening in known_openings(view):
        if (opening.cluster, opening.replica_uid) == (worker.name, replica.uid):
            yield Span(
                "wait.admission", opening.opened_ns, max(admitted_ns, opening.opened_ns), {"cluster": worker.name}
            )


def _done(executed: ExecutedAction, name: str, **attributes: str) -> Span:
    return Span(
        name, executed.began_ns, executed.ended_ns, {"rule": executed.reconciliation.decision.rule, **attributes}
    )
