"""Which replica's outcome counts: the admitting one, sticky once the hub has recorded it.

The choice is written to the hub Workload before the job is created, and `status.clusterName` only after that. So a job
that was created just before the daemon died is not forgotten when its worker cannot be read afterwards: nobody else
wins before that worker counts as lost.
"""

import json

from gates.view import Group, Reach, Winner, Worker


def parse_winner(text: str | None) -> Winner | None:
    """Read the annotation; raises ValueError for what we do not write there."""
    if not text:
        return None
    try:
        entry = json.loads(text)
        return Winner(str(entry["cluster"]), str(entry["replicaUID"]), int(entry["quotaReservedAtUnixNano"]))
    except (LookupError, TypeError, ValueError):
        message = f"the record of the winner is {text!r}: expected {{cluster, replicaUID, quotaReservedAtUnixNano}}"
        raise ValueError(message) from None


def format_winner(winner: Winner) -> str:
    """Write the annotation."""
    entry = {
        "cluster": winner.cluster,
        "replicaUID": winner.replica_uid,
        "quotaReservedAtUnixNano": str(winner.attempt_ns),
    }
    return json.dumps(entry, separators=(",", ":"))


def admitting(group: Group) -> Worker | None:
    """Return the worker that runs the Workload: the recorded one while it is admitted, else the first to admit.

    Once the hub has recorded a cluster, nobody else wins before the hub took that back: its job may be running.
    """
    admitted = [w for w in group.holders if w.replica is not None and w.replica.is_true("Admitted")]
    if group.workload.cluster_name:
        return next((w for w in admitted if w.name == group.workload.cluster_name), None)
    chosen = next((w for w in admitted if _is_chosen(w, group)), None)
    return chosen or _oldest(admitted, "Admitted")


def out_of_sight(group: Group) -> Worker | None:
    """Return the worker that was chosen in this attempt and cannot be read, so that its job may be running."""
    winner = group.workload.winner
    if winner is None or winner.attempt_ns != group.workload.attempt_ns or group.workload.cluster_name:
        return None
    worker = group.worker(winner.cluster)
    return worker if worker is not None and worker.listed and worker.reach is not Reach.SYNCED else None


def choice(group: Group, worker: Worker) -> Winner | None:
    """Return the record of a choice if it has to be written; with one worker alone there is nothing to mistake."""
    if worker.replica is None or len(group.workers) == 1:
        return None
    winner = Winner(worker.name, worker.replica.uid, group.workload.attempt_ns)
    return winner if winner != group.workload.winner else None


def _is_chosen(worker: Worker, group: Group) -> bool:
    winner = group.workload.winner
    return (
        winner is not None
        and worker.replica is not None
        and winner.attempt_ns == group.workload.attempt_ns
        and (winner.cluster, winner.replica_uid) == (worker.name, worker.replica.uid)
    )


def finished(group: Group) -> Worker | None:
    """Return the worker whose Finished replica speaks for the Workload."""
    return _speaking(group, "Finished")


def evicted(group: Group) -> Worker | None:
    """Return the worker whose Evicted replica speaks for the Workload."""
    return _speaking(group, "Evicted")


def stale_outcomes(group: Group) -> tuple[Worker, ...]:
    """Return workers other than the recorded winner whose replica finished or was evicted: leftovers to remove."""
    winner = group.workload.cluster_name
    if not winner:
        return ()
    return tuple(
        w
        for w in group.holders
        if w.name != winner
        and w.replica is not None
        and (w.replica.is_true("Finished") or w.replica.is_true("Evicted"))
    )


def _speaking(group: Group, condition: str) -> Worker | None:
    """Once a winner is recorded, only its own outcome counts."""
    winner = group.workload.cluster_name
    having = [w for w in group.holders if w.replica is not None and w.replica.is_true(condition)]
    return _oldest([w for w in having if not winner or w.name == winner], condition)


def _oldest(workers: list[Worker], condition: str) -> Worker | None:
    def age(worker: Worker) -> tuple[int, tuple[int, str]]:
        since = worker.replica.since_ns(condition) if worker.replica is not None else 0
        return (since, worker.order)

    return min(workers, key=age, default=None)
