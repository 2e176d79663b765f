"""The log lines of what cannot be undone: that a gate was opened, and that a Workload got its place."""

from config.api.identifiers import WorkerName
from config.api.meta import format_time
from gates.diagnosis.auditing import opening_reason
from gates.model.actions import OpenGate, PatchHubStatus
from gates.model.hub_workload import CheckState
from gates.model.settings import SECOND
from manager.logging.logs import get_log
from manager.reconcile.reconciliation import ExecutedAction


def log_executed(executed: ExecutedAction) -> None:
    """Write a line, with the cause that the decision behind it has."""
    workload = executed.reconciliation.group.workload
    key = str(workload.key)
    match executed.action:
        case OpenGate(cluster=cluster):
            get_log().info("gate.opened", workload=key, worker=cluster, **_why(executed, cluster))
        case PatchHubStatus(check_state=CheckState.READY, cluster_name=cluster) if cluster:
            get_log().info("workload.placed", workload=key, worker=cluster, rule=executed.reconciliation.decision.rule)
        case _:  # the other actions are in the decision's own line
            pass


def _why(executed: ExecutedAction, cluster: WorkerName) -> dict[str, object]:
    """Return what the opening answers: the signal, and what was forecast."""
    worker = executed.reconciliation.group.worker(cluster)
    replica = worker.replica if worker is not None else None
    found: dict[str, object] = {"reason": str(opening_reason(executed.reconciliation.group, cluster))}
    if worker is not None and replica is not None and replica.signal_ns is not None:
        asked_ns = replica.signal_ns - worker.clock_skew_ns
        found |= {"asked_at": format_time(asked_ns), "waited_seconds": max(0, executed.ended_ns - asked_ns) / SECOND}
    if worker is not None and worker.forecast is not None:
        found |= {"forecast": str(worker.forecast.verdict), "victims": len(worker.forecast.victims)}
    return found
