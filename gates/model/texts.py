"""Messages on the admission check, with Kueue's wording where Kueue has one."""

from typing import Final

MESSAGE_LIMIT: Final = 32768
EVENT_LIMIT: Final = 1024
_CUT: Final = " ..."


def cut(text: str, limit: int) -> str:
    """Shorten a message to the API's limit, visibly."""
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


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


def admitted(cluster: str) -> str:
    """Say which cluster won."""
    return f'The workload was admitted on "{cluster}"'


def chosen_unreachable(cluster: str, until: str) -> str:
    """Say why no other worker may run the Workload for now; the time is exact, so that the message does not change."""
    return f'Admitted on "{cluster}", which cannot be reached: its job may be running, so others wait until {until}'


def job_leaving(cluster: str) -> str:
    """Say that a job of an earlier attempt is in the way, and will go by itself."""
    return f'Admitted on "{cluster}", where an earlier job of the same name is still being deleted'


def losers_unfinished(cluster: str, losers: list[str], problems: list[str]) -> str:
    """Say which jobs have to be gone before the winner's may start, and what blocks their removal."""
    names = ", ".join(f'"{name}"' for name in losers)
    text = f'Admitted on "{cluster}"; its job starts when the job on {names} is gone'
    return "; ".join((text, *(problem for problem in problems if problem)))


def given_up(cluster: str, losers: list[str]) -> str:
    """Say that a job starts although another one may still be running."""
    names = ", ".join(f'"{name}"' for name in losers)
    return f'The job starts on "{cluster}" although the job on {names} was not removed in time and may still run'


def evicted_on_worker(cluster: str, state: str) -> str:
    """Say that the winner evicted the Workload."""
    return f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission. Previously: "{state}"'


def out_of_sync(cluster: str) -> str:
    """Say that the worker finds the job different from its replica."""
    return f'Remote workload on worker cluster "{cluster}" is out of sync with its user job, resetting for re-dispatch'


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
    """Tell the worker why its replica is deactivated."""
    return f"Evicted on manager: {hub_message}"
