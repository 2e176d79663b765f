"""What of a hub still runs on a worker that is about to be removed."""

from collections.abc import Callable, Collection
from functools import partial

from config.api.meta import Obj, ObjectKey, conditions
from config.names import ORIGIN_LABEL
from gates.jobs.copying import named_workload
from gates.jobs.kinds import SHIPPED, JobKind
from gates.jobs.status import has_ended
from gates.model.marks import hub_of
from manager.base.kinds import WORKLOADS, api_kind
from manager.onboarding.changes import ClusterChanges, key_of
from manager.onboarding.errors import OnboardingError
from manager.onboarding.site import Site
from workerclient.base.errors import ClusterError

_SHOWN = 3


async def refuse_running(there: ClusterChanges, site: Site) -> None:
    """Raise while objects of the hub are unfinished on the worker: afterwards nothing could remove them any more."""
    try:
        found = await _unfinished(there, site.hub_uid)
    except ClusterError as error:
        raise OnboardingError(
            f"cannot see what still runs on {site.name}: {error}; --abandon removes the worker anyway"
        ) from error
    if found:
        shown = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        raise OnboardingError(
            f"{len(found)} objects of this hub are not finished on {site.name} ({shown}); wait until the daemon has "
            "removed them, or leave them there with --abandon"
        )


async def _unfinished(there: ClusterChanges, hub_uid: str) -> list[str]:
    workloads = [each for each in await there.listed(WORKLOADS, label_selector=ORIGIN_LABEL) if _is_of(each, hub_uid)]
    over = {key_of(each) for each in workloads if _certainly(partial(_is_finished, each))}
    found = [f"Workload {key_of(each)}" for each in workloads if key_of(each) not in over]
    served = await there.client.served_kinds([api_kind(kind) for kind in SHIPPED])
    for kind in SHIPPED:
        if not served[api_kind(kind)]:
            continue
        jobs = [
            each for each in await there.listed(api_kind(kind), label_selector=ORIGIN_LABEL) if _is_of(each, hub_uid)
        ]
        running = [job for job in jobs if not _certainly(partial(_has_ended, kind, job, over))]
        found += [f"{kind.kind} {key_of(job)}" for job in running]
    return found


def _has_ended(kind: JobKind, job: Obj, over: Collection[ObjectKey]) -> bool:
    return ObjectKey(job["metadata"].get("namespace", ""), named_workload(job)) in over or has_ended(kind, job)


def _certainly(question: Callable[[], bool]) -> bool:
    """Answer a question about an object with no where it cannot be understood: what may be running counts as that."""
    try:
        return question()
    except Exception:  # noqa: BLE001 - a worker may show anything
        return False


def _is_of(raw: Obj, hub_uid: str) -> bool:
    return hub_of(raw["metadata"]) == hub_uid


def _is_finished(raw: Obj) -> bool:
    finished = conditions(raw.get("status") or {}).get("Finished")
    return finished is not None and finished.status == "True"
