"""Removing our objects from workers, and keeping the remaining replicas in line with the hub."""

from dataclasses import replace

from config.api.identifiers import NO_REPLICA, WorkerName
from gates.decision.winner import stale_outcomes
from gates.model.actions import Action, RemoveRemote, Step, UpdateReplicaSpec
from gates.model.settings import Settings
from gates.model.view import Drift, Reach, WorkerView, WorkloadView


def leftovers(view: WorkloadView) -> tuple[WorkerView, ...]:
    """Return the readable workers that hold objects that we created and have not deleted yet.

    What was deleted and waits for a finalizer or a grace period is left alone: the watch reports its end.
    """
    return tuple(worker for worker in view.workers if worker.reach is Reach.SYNCED and worker.removable)


def remove_from(worker: WorkerView) -> RemoveRemote:
    """Remove one worker's objects, each fenced by its UID."""
    uid = worker.replica.uid if worker.replica is not None else worker.stale_uid
    return RemoveRemote(worker.name, uid or None, worker.jobs_to_remove)


def remove_all(view: WorkloadView) -> tuple[Step, ...]:
    """Remove all our objects from every readable worker; the garbage collector handles the others."""
    return _step(tuple(remove_from(worker) for worker in leftovers(view)), best_effort=True)


def remove_losers(view: WorkloadView, winner: WorkerName) -> tuple[Step, ...]:
    """Remove everything but the winner's; whether the winner may begin before they are gone, `unfinished` says."""
    losers = (worker for worker in leftovers(view) if worker.name != winner)
    return _step(tuple(remove_from(worker) for worker in losers), best_effort=True)


def unfinished(view: WorkloadView, winner: WorkerName) -> tuple[WorkerView, ...]:
    """Return the losers that have one of our jobs, leaving ones included: they could run the work a second time.

    A loser that holds only a replica cannot run anything.
    """
    return tuple(worker for worker in view.workers if worker.name != winner and worker.job_present)


def is_given_up(loser: WorkerView, settings: Settings) -> bool:
    """Return whether a loser that does not get rid of its job counts as lost, as one out of reach for so long does.

    A job that other Workloads run in is not on its way out, and waiting for it is no failure of its worker.
    """
    return loser.removal_tried_ns >= settings.worker_lost_ns and not loser.job_kept


def tidy(view: WorkloadView) -> tuple[tuple[Step, ...], WorkloadView]:
    """Bring replicas in line: update in place what can be, remove the rest. Return the resulting group.

    A worker with a pending removal is unknown for the rest of the decision: its replica is neither there nor gone,
    and its job may still run.
    """
    doomed = {worker.name for worker in stale_outcomes(view)}
    doomed |= {w.name for w in leftovers(view) if w.stale_uid}
    doomed |= {w.name for w in leftovers(view) if not w.listed and w.name != view.workload.cluster_name}
    doomed |= {w.name for w in view.holders if w.replica is not None and w.replica.drift is Drift.OTHER}
    actions: list[Action] = []
    workers = []
    for worker in view.workers:
        replica = worker.replica
        if worker.name in doomed and worker.removable:
            actions.append(remove_from(worker))
            workers.append(replace(worker, reach=Reach.UNREADABLE, replica=None, stale_uid=NO_REPLICA))
        elif worker.reach is Reach.SYNCED and replica is not None and replica.drift is not Drift.NONE:
            actions.append(UpdateReplicaSpec(worker.name, replica.uid, replica.resource_version))
            # Its version changes with the update, so its gate is examined in the next pass.
            workers.append(replace(worker, replica=replace(replica, signal_ns=None)))
        else:
            workers.append(worker)
    return _step(tuple(actions), best_effort=True), replace(view, workers=tuple(workers))


def _step(actions: tuple[Action, ...], *, best_effort: bool) -> tuple[Step, ...]:
    return (Step(actions, best_effort),) if actions else ()
