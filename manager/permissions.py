"""What Turnstile has to be allowed to do on a worker, and how it says what it may not."""

from collections.abc import Iterable
from typing import Final

from gates.jobs.kinds import JobKind
from manager.kinds import WORKLOADS, api_kind
from workerclient.preflight import Missing, Need

_FOLLOWED: Final = ("get", "list", "watch", "create", "delete")


def needs_on_worker(kinds: Iterable[JobKind]) -> tuple[Need, ...]:
    """Return every verb that is used on a worker, none more."""
    workloads = (Need(WORKLOADS, (*_FOLLOWED, "patch")), Need(WORKLOADS, ("patch",), "status"))
    return (*workloads, *(Need(api_kind(kind), _verbs(kind)) for kind in kinds))


def _verbs(kind: JobKind) -> tuple[str, ...]:
    """Only kinds whose running copies are changed are patched."""
    return (*_FOLLOWED, "patch") if kind.is_changed_on_workers else _FOLLOWED


def complaint(worker: str, missing: Iterable[Missing]) -> str:
    """Say in one sentence what a worker does not allow and what to do about it; empty if nothing is missing."""
    verbs: dict[str, list[str]] = {}
    for each in missing:
        verbs.setdefault(each.resource, []).append(each.verb)
    if not verbs:
        return ""
    listed = "; ".join(f"{', '.join(found)} on {resource}" for resource, found in verbs.items())
    return (
        f"worker {worker} does not allow in all namespaces: {listed} "
        f"(grant these verbs there to the user of its kubeconfig by a ClusterRole)"
    )
