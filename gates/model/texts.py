"""Messages on the admission check, with Kueue's wording where Kueue has one."""

from collections.abc import Sequence
from typing import Final

from config.api.identifiers import WorkerName
from config.api.meta import NANOSECONDS, format_time

MESSAGE_LIMIT: Final = 32768
EVENT_LIMIT: Final = 1024
_CUT: Final = " ..."


def cut(text: str, limit: int) -> str:
    """Shorten a message to the API's limit, visibly."""
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


def moment(ns: int | None) -> str:
    """Write a moment in whole seconds, rounded up, so that what it announces has happened by then; empty for None.

    Messages, lists and explanations all use this, so that no two of them differ by a second.
    """
    return "" if ns is None else format_time(-(-ns // NANOSECONDS) * NANOSECONDS)


def previously(text: str, state: str) -> str:
    """Append the state that the check leaves."""
    return f'{text}, Previously: "{state}"'


def no_adapter(owner: str) -> str:
    """Say that no adapter can run the owner remotely; `owner` is empty for a Workload without owner."""
    return f'No multikueue adapter found for owner kind "{owner}"' if owner else "No multikueue adapter found"


def not_managed(path: str, expected: str, found: str) -> str:
    """Say that the job does not name us as its manager."""
    return f'The owner is not managed by Kueue: Expecting {path} to be "{expected}" not "{found}"'


def unsupported(what: str) -> str:
    """Say that the job asks for something that is not supported across clusters."""
    return f"Not supported with MultiKueue: {what}"


def admitted(cluster: WorkerName) -> str:
    """Say which cluster won."""
    return f'The workload was admitted on "{cluster}"'


def chosen_unreachable(cluster: WorkerName, until: str) -> str:
    """Say why no other worker may run the Workload for now; the time is exact, so that the message does not change."""
    return f'Admitted on "{cluster}", which cannot be reached: its job may be running, so others wait until {until}'


def job_leaving(cluster: WorkerName) -> str:
    """Say that a job of an earlier attempt is in the way, and will go by itself."""
    return f'Admitted on "{cluster}", where an earlier job of the same name is still being deleted'


def losers_unfinished(cluster: WorkerName, losers: Sequence[WorkerName], problems: list[str]) -> str:
    """Say which jobs have to be gone before the winner's may start, and what blocks their removal."""
    names = ", ".join(f'"{name}"' for name in losers)
    text = f'Admitted on "{cluster}"; its job starts when the job on {names} is gone'
    return "; ".join((text, *(problem for problem in problems if problem)))


def given_up(cluster: WorkerName, losers: Sequence[WorkerName]) -> str:
    """Say that a job starts although another one may still be running."""
    names = ", ".join(f'"{name}"' for name in losers)
    return f'The job starts on "{cluster}" although the job on {names} was not removed in time and may still run'


def evicted_on_worker(cluster: WorkerName, state: str) -> str:
    """Say that the winner evicted the Workload."""
    return f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission. Previously: "{state}"'


def drained_from_worker(cluster: WorkerName) -> str:
    """Say that the Workload leaves a worker that an operator drains."""
    return f'Drained from worker cluster "{cluster}", resetting for re-admission. Previously: "Ready"'


def out_of_sync(cluster: WorkerName) -> str:
    """Say that the worker finds the job different from its replica."""
    return f'Remote workload on worker cluster "{cluster}" is out of sync with its user job, resetting for re-dispatch'


def foreign_job(cluster: str) -> str:
    """Say that a job of the winner's name was there before."""
    return (
        f'worker "{cluster}" has a job of the same name that Turnstile did not create; '
        "rename one of them or delete the job on the worker"
    )


def foreign_replica(clusters: Sequence[str]) -> str:
    """Say where a Workload of another hub, or of a user, has the replica's name."""
    return f"a foreign Workload with the same name exists on: {', '.join(clusters)}"


def replica_leaving(clusters: Sequence[str]) -> str:
    """Say where the replica's name is not free yet."""
    return f"an earlier replica is still being deleted on: {', '.join(clusters)}"


def no_client(cluster: str) -> str:
    """Say that a nominated worker is not connected."""
    return f"cluster {cluster}: no remote client for nominated cluster"


MULTIKUEUE_EVENT: Final = "MultiKueue"
"""The reason of Events on Workloads."""
SIBLINGS_APART: Final = "siblings are on several clusters"
GATES_NOT_KNOWN_YET: Final = "it is not known yet whether its Kueue honours preemption gates"
GATES_NOT_HONOURED: Final = "its Kueue does not honour preemption gates"
OUTGROWN: Final = (
    "The elastic job requests more pods than this Workload has quota for, so it is not started on its cluster; "
    "it starts when the job fits again, or through the Workload that has quota for its new size"
)
LOST: Final = "Admitting remote lost"
GONE: Final = "Admitting remote no longer exists"
NO_CLUSTER: Final = (
    "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
)


def evicted_on_manager(hub_message: str) -> str:
    """Say on the worker why its replica is deactivated."""
    return f"Evicted on manager: {hub_message}"
