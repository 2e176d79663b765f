"""The log lines of what cannot be undone: that a gate was opened, and that a Workload got its place."""

from config.api.meta import format_time
from gates.actions import OpenGate, PatchHubStatus
from gates.auditing import opening_reason
from gates.settings import SECOND
from gates.view import CheckState
from manager.logs import get_log
from manager.reconciler import Deed
from workerclient.kind import Key


def log_deed(deed: Deed) -> None:
    """Write a line, with the cause that the decision behind it has."""
    workload = deed.look.group.workload
    key = str(Key(workload.namespace, workload.name))
    match deed.action:
        case OpenGate(cluster=cluster):
            get_log().info("gate.opened", workload=key, worker=cluster, **_why(deed, cluster))
        case PatchHubStatus(check_state=CheckState.READY, cluster_name=cluster) if cluster:
            get_log().info("workload.placed", workload=key, worker=cluster, rule=deed.look.decision.rule)


def _why(deed: Deed, cluster: str) -> dict[str, object]:
    """Return what the opening answers: the signal, and what was forecast."""
    worker = deed.look.group.worker(cluster)
    replica = worker.replica if worker is not None else None
    found: dict[str, object] = {"reason": str(opening_reason(deed.look.group, cluster))}
    if worker is not None and replica is not None and replica.signal_ns is not None:
        asked_ns = replica.signal_ns - worker.clock_skew_ns
        found |= {"asked_at": format_time(asked_ns), "waited_seconds": max(0, deed.ended_ns - asked_ns) / SECOND}
    if worker is not None and worker.forecast is not None:
        found |= {"forecast": str(worker.forecast.verdict), "victims": len(worker.forecast.victims)}
    return found
