"""Removing what is ours from workers, and keeping the copies that stay in line with the hub."""

from dataclasses import replace

from gates.actions import Action, RemoveRemote, Step, UpdateReplicaSpec
from gates.view import Drift, Group, Reach, Worker
from gates.winner import stale_outcomes


def leftovers(group: Group) -> tuple[Worker, ...]:
    """Return the readable workers that hold a replica or a job of ours."""
    return tuple(
        worker
        for worker in group.workers
        if worker.reach is Reach.SYNCED and (worker.replica is not None or worker.job_present or worker.stale_uid)
    )


def remove_from(worker: Worker) -> RemoveRemote:
    """Remove one worker's objects, fenced by the replica's UID when it is known."""
    uid = worker.replica.uid if worker.replica is not None else worker.stale_uid
    return RemoveRemote(worker.name, uid or None)


def remove_all(group: Group) -> tuple[Step, ...]:
    """Remove everything of ours from every readable worker; others are left to the garbage collector."""
    return _step(tuple(remove_from(worker) for worker in leftovers(group)), best_effort=True)


def remove_losers(group: Group, winner: str) -> tuple[Step, ...]:
    """Remove everything but the winner's.

    A loser that holds only a replica cannot run anything, so failing to remove it must not hold the winner up. A
    loser with a job of ours could run the work a second time: nothing goes on before it is gone.
    """
    losers = [worker for worker in leftovers(group) if worker.name != winner]
    running = tuple(remove_from(worker) for worker in losers if worker.job_present)
    waiting = tuple(remove_from(worker) for worker in losers if not worker.job_present)
    return (*_step(waiting, best_effort=True), *_step(running))


def tidy(group: Group) -> tuple[tuple[Step, ...], Group]:
    """Bring replicas in line: update in place what can be, remove the rest. Return the group as it stands then.

    A worker with a pending removal is unknown for the rest of the decision: its replica is neither there nor gone.
    """
    doomed = {worker.name for worker in stale_outcomes(group)}
    doomed |= {w.name for w in leftovers(group) if w.stale_uid}
    doomed |= {w.name for w in leftovers(group) if not w.listed and w.name != group.workload.cluster_name}
    doomed |= {w.name for w in group.holders if w.replica is not None and w.replica.drift is Drift.OTHER}
    actions: list[Action] = []
    workers = []
    for worker in group.workers:
        replica = worker.replica
        if worker.name in doomed:
            actions.append(remove_from(worker))
            workers.append(replace(worker, reach=Reach.UNREADABLE, replica=None, job_present=False, stale_uid=""))
        elif worker.reach is Reach.SYNCED and replica is not None and replica.drift is not Drift.NONE:
            actions.append(UpdateReplicaSpec(worker.name, replica.uid, replica.resource_version))
            # Its version changes with the update, so its gate is looked at in the next pass.
            workers.append(replace(worker, replica=replace(replica, signal_ns=None)))
        else:
            workers.append(worker)
    return _step(tuple(actions), best_effort=True), replace(group, workers=tuple(workers))


def _step(actions: tuple[Action, ...], *, best_effort: bool = False) -> tuple[Step, ...]:
    return (Step(actions, best_effort),) if actions else ()
