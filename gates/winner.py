"""Which replica's outcome counts: the admitting one, sticky once the hub has recorded it."""

from gates.view import Group, Worker


def admitting(group: Group) -> Worker | None:
    """Return the worker that runs the Workload: the recorded one while it is admitted, else the first to admit."""
    admitted = [w for w in group.holders if w.replica is not None and w.replica.is_true("Admitted")]
    recorded = next((w for w in admitted if w.name == group.workload.cluster_name), None)
    return recorded or _oldest(admitted, "Admitted")


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
