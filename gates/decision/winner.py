"""Which replica's outcome counts: the admitting one, sticky once the hub has recorded it.

The choice is written to the hub Workload before the job is created, and `status.clusterName` only after that. So a job
that was created just before the daemon died is not forgotten when its worker cannot be read afterwards: no other
worker wins before that one counts as lost.
"""

from config.api.identifiers import WorkerName
from gates.model.hub_workload import CheckState
from gates.model.openings import Winner
from gates.model.view import Reach, WorkerView, WorkloadView


def admitting(view: WorkloadView) -> WorkerView | None:
    """Return the worker that runs the Workload: the recorded one while it is admitted, else the first to admit.

    Once the hub has recorded a cluster, no other wins until the hub clears that: its job may be running.
    """
    admitted = [w for w in view.holders if _runs(w, view)]
    if view.workload.cluster_name:
        return next((w for w in admitted if w.name == view.workload.cluster_name), None)
    chosen = next((w for w in admitted if _is_chosen(w, view)), None)
    return chosen or _oldest(admitted, "Admitted")


def _runs(worker: WorkerView, view: WorkloadView) -> bool:
    """Return whether a replica is admitted and may have been chosen, or may be now.

    One that leaves is followed to its end where it won, but it wins nothing any more. One of several Workloads of a job
    wins only where the others are: the job that they share must not run twice.
    """
    replica, check, component = worker.replica, view.workload.check, view.workload.component
    if replica is None or not replica.is_true("Admitted"):
        return False
    if check is not None and check.state is CheckState.READY:
        return True
    elsewhere = component is not None and component.sibling_clusters - {worker.name}
    return not replica.leaving and not elsewhere


def out_of_sight(view: WorkloadView) -> tuple[WorkerView, ...]:
    """Return the workers that cannot be read and of which one was chosen in this attempt: its job may be running."""
    workload, winner = view.workload, view.workload.winner
    if workload.cluster_name:
        return ()
    if workload.winner_unreadable:
        return tuple(
            w for w in view.workers if w.reach is Reach.LOST or (w.reach is Reach.UNREADABLE and not w.problem)
        )
    if winner is None or winner.attempt_ns != workload.attempt_ns:
        return ()
    return tuple(w for w in view.workers if w.name == winner.cluster and w.reach is not Reach.SYNCED)


def choice(view: WorkloadView, worker: WorkerView) -> Winner | None:
    """Return the record of a choice if it has to be written, even with one worker alone: a second may be added."""
    if worker.replica is None:
        return None
    winner = Winner(worker.name, worker.replica.uid, view.workload.attempt_ns)
    return winner if winner != view.workload.winner else None


def _is_chosen(worker: WorkerView, view: WorkloadView) -> bool:
    winner = view.workload.winner
    return (
        winner is not None
        and worker.replica is not None
        and winner.attempt_ns == view.workload.attempt_ns
        and (winner.cluster, winner.replica_uid) == (worker.name, worker.replica.uid)
    )


def finished(view: WorkloadView) -> WorkerView | None:
    """Return the worker whose Finished replica speaks for the Workload."""
    return _speaking(view, "Finished")


def evicted(view: WorkloadView) -> WorkerView | None:
    """Return the worker whose Evicted replica speaks for the Workload."""
    return _speaking(view, "Evicted")


def stale_outcomes(view: WorkloadView) -> tuple[WorkerView, ...]:
    """Return workers other than the recorded winner whose replica finished or was evicted: leftovers to remove."""
    winner = view.workload.cluster_name
    if not winner:
        return ()
    return tuple(
        w
        for w in view.holders
        if w.name != winner
        and w.replica is not None
        and (w.replica.is_true("Finished") or w.replica.is_true("Evicted"))
    )


def _speaking(view: WorkloadView, condition: str) -> WorkerView | None:
    """Once a winner is known, only its own outcome counts."""
    winner = view.workload.cluster_name or _recorded(view)
    having = [w for w in view.holders if w.replica is not None and w.replica.is_true(condition)]
    return _oldest([w for w in having if not winner or w.name == winner], condition)


def _recorded(view: WorkloadView) -> str:
    """Return the worker that was chosen in this attempt, before its job was created; none that has left the list."""
    winner = view.workload.winner
    if winner is None or winner.attempt_ns != view.workload.attempt_ns:
        return ""
    worker = view.worker(winner.cluster)
    return winner.cluster if worker is not None and worker.listed else ""


def _oldest(workers: list[WorkerView], condition: str) -> WorkerView | None:
    def age(worker: WorkerView) -> tuple[int, tuple[int, WorkerName]]:
        since = worker.replica.since_ns(condition) if worker.replica is not None else 0
        return (since, worker.order)

    return min(workers, key=age, default=None)
