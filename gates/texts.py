"""Messages on the admission check, with Kueue's wording where Kueue has one."""

from typing import Final

MESSAGE_LIMIT: Final = 32768
EVENT_LIMIT: Final = 1024
_CUT: Final = " ..."


def cut(text: str, limit: int) -> str:
    """Shorten a text to the API's limit, visibly."""
    return text if len(text) <= limit else text[: limit - len(_CUT)] + _CUT


def previously(text: str, state: str) -> str:
    """Append the state that the check leaves."""
    return f'{text}, Previously: "{state}"'


def no_adapter(owner: str) -> str:
    """Say that nobody knows how to run the owner remotely; `owner` is empty for a Workload without owner."""
    return f'No multikueue adapter found for owner kind "{owner}"' if owner else "No multikueue adapter found"


def not_managed(path: str, expected: str, found: str) -> str:
    """Say that the job does not name us as its manager."""
    return f'The owner is not managed by Kueue: Expecting {path} to be "{expected}" not "{found}"'


def unsupported(what: str) -> str:
    """Say that the job asks for what cannot be had across clusters."""
    return f"Not supported with MultiKueue: {what}"


def admitted(cluster: str) -> str:
    """Say who won."""
    return f'The workload was admitted on "{cluster}"'


def chosen_out_of_sight(cluster: str, until: str) -> str:
    """Say why nobody else may run the Workload for now; the time is exact, so that the sentence stays as it is."""
    return f'Admitted on "{cluster}", which cannot be reached: as its job may be running, others wait until {until}'


def evicted_on_worker(cluster: str, state: str) -> str:
    """Say that the winner evicted the Workload."""
    return f'Workload evicted on worker cluster: "{cluster}", resetting for re-admission. Previously: "{state}"'


def out_of_sync(cluster: str) -> str:
    """Say that the worker finds the job different from its replica."""
    return f'Remote workload on worker cluster "{cluster}" is out of sync with its user job, resetting for re-dispatch'


LOST: Final = "Admitting remote lost"
GONE: Final = "Admitting remote no longer exists"
NO_CLUSTER: Final = (
    "Admission check is Ready but no admitting cluster is recorded; this is unexpected, please report it"
)


def evicted_on_manager(hub_message: str) -> str:
    """Tell the worker why its replica is deactivated."""
    return f"Evicted on manager: {hub_message}"
