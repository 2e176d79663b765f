"""Removing what is ours from workers."""

from gates.actions import Action, RemoveRemote
from gates.view import Group, Reach, Worker


def leftovers(group: Group) -> tuple[Worker, ...]:
    """Return the readable workers that hold a replica or a job of ours."""
    return tuple(
        worker
        for worker in group.workers
        if worker.reach is Reach.SYNCED and (worker.replica is not None or worker.job_present)
    )


def remove_from(worker: Worker) -> RemoveRemote:
    """Remove one worker's objects, fenced by the replica's UID when it is known."""
    return RemoveRemote(worker.name, worker.replica.uid if worker.replica is not None else None)


def remove_all(group: Group) -> tuple[tuple[Action, ...], ...]:
    """Remove everything of ours from every readable worker; others are left to the garbage collector."""
    removals = tuple(remove_from(worker) for worker in leftovers(group))
    return (removals,) if removals else ()


def remove_others(group: Group, keep: str) -> tuple[Action, ...]:
    """Remove everything of ours but the winner's."""
    return tuple(remove_from(worker) for worker in leftovers(group) if worker.name != keep)
