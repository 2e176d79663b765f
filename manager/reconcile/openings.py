"""Which actions let a worker preempt, and whether one that failed may have done so nevertheless."""

from config.api.identifiers import NO_REPLICA, ReplicaUID, WorkerName
from gates.model.actions import CreateReplica, OpenGate, WorkerAction
from workerclient.base.errors import ClusterError, ProtocolViolation, TooLarge


def lets_preempt(action: WorkerAction) -> bool:
    """Return whether an action lets a worker preempt."""
    return isinstance(action, OpenGate) or (isinstance(action, CreateReplica) and not action.gated)


def opening_start(action: WorkerAction) -> tuple[WorkerName, ReplicaUID, int] | None:
    """Return cluster, replica and start of the window of an action that lets a worker preempt."""
    match action:
        case OpenGate(cluster=cluster, replica_uid=uid, opened_ns=opened_ns):
            return cluster, uid, opened_ns
        case CreateReplica(cluster=cluster, opened_ns=int(opened_ns)):
            return cluster, NO_REPLICA, opened_ns
        case _:  # no other action lets a worker preempt
            return None


def may_arrive(error: BaseException) -> bool:
    """Return whether a request may be carried out although it failed for us."""
    if not isinstance(error, ClusterError):
        return True
    return error.may_have_been_executed or isinstance(error, ProtocolViolation | TooLarge)
