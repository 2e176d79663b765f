"""What of a remote job's status goes to the hub's job, and when it has to wait."""

from typing import Final, assert_never

from config.api.meta import Obj
from gates.jobs.kinds import JobKind, StatusSync
from gates.model.fields import compact_json, items, needed_text, text, whole
from gates.model.view import JobSync

_SUSPENDED: Final = "Suspended"
_RUNNING: Final = frozenset({"active", "ready", "terminating", "startTime"})
ENDED: Final = frozenset({"Complete", "Failed"})
_READS_CONDITIONS: Final = frozenset({StatusSync.BATCH_JOB, StatusSync.POD})


def hub_status(kind: JobKind, hub_job: Obj, remote_job: Obj, now: str) -> tuple[JobSync, Obj]:
    """Return what to do and the status that the hub's job should have then."""
    here, there = _status(hub_job), _status(remote_job)
    match kind.status:
        case StatusSync.NOTHING:
            return JobSync.NONE, here
        case StatusSync.BATCH_JOB:
            return _batch_job(hub_job, remote_job, now)
        case StatusSync.POD:
            return _pod(hub_job, here, there)
        case StatusSync.WHOLE:
            return _copied(here, there) if there else (JobSync.NONE, here)
        case _:
            assert_never(kind.status)


def has_ended(kind: JobKind | None, job: Obj) -> bool:
    """Return whether a job is certainly over; of most kinds that is not known."""
    return kind is not None and kind.status is StatusSync.BATCH_JOB and has(_status(job), ENDED)


def checked_status(kind: JobKind, status: Obj) -> Obj:
    """Return a status as it came; raises `FieldError` where the rules of the kind could not read it."""
    if kind.status in _READS_CONDITIONS:
        for place, condition in items(status, "conditions", "status"):
            needed_text(condition, "type", place)
            text(condition, "status", place)
    if kind.status is StatusSync.BATCH_JOB:
        whole(status, "active", "status")
    compact_json(status, "status")  # it has to be written to the hub
    return status


def stopped_status(kind: JobKind, hub_job: Obj, now: str) -> Obj | None:
    """Return the status of a hub's job that runs on no worker any more; None if it needs no change, or not yet."""
    here = _status(hub_job)
    match kind.status:
        case StatusSync.NOTHING | StatusSync.POD:
            return None
        case StatusSync.WHOLE:
            return {} if here else None
        case StatusSync.BATCH_JOB:
            if not _is_suspended(hub_job) or not here.get("active") or has(here, ENDED):
                return None
            idle = {name: value for name, value in here.items() if name not in _RUNNING}
            return {**idle, "conditions": _with_suspended(here, now)}
        case _:
            assert_never(kind.status)


def _batch_job(hub_job: Obj, remote_job: Obj, now: str) -> tuple[JobSync, Obj]:
    """A start time on a suspended hub job would freeze its spec, so a running copy's status waits (KEP-693).

    So does that of a copy which was stopped while the hub's job still runs: a running job's start time cannot be taken
    away, nor changed, as a copy's is that was started again without the hub's knowing.
    """
    here, there = _status(hub_job), _status(remote_job)
    if not _is_suspended(hub_job) and here.get("startTime") and there.get("startTime"):
        there = _started_at(there, here["startTime"])
    if not _is_suspended(hub_job) and "startTime" in here and "startTime" not in there and not has(there, ENDED):
        return JobSync.DEFERRED, here
    if not _is_suspended(hub_job) or _is_suspended(remote_job) or has(there, ENDED):
        return _copied(here, there)
    if has(here, {_SUSPENDED}):
        return JobSync.DEFERRED, here
    return JobSync.COPY_STATUS, {**here, "conditions": _with_suspended(here, now)}


def _started_at(status: Obj, start: str) -> Obj:
    """Return a status with another start time; a job does not end before it."""
    ended = status.get("completionTime")
    moved = {"completionTime": start} if isinstance(ended, str) and ended < start else {}
    return {**status, "startTime": start, **moved}


def _with_suspended(status: Obj, now: str) -> list[Obj]:
    """Kubernetes 1.36 refuses later spec changes of a suspended Job without this condition."""
    suspended = {
        "type": _SUSPENDED,
        "status": "True",
        "reason": "MultiKueueAdapter",
        "message": "Set by MultiKueue adapter",
        "lastTransitionTime": now,
        "lastProbeTime": now,
    }
    return [*(c for c in status.get("conditions") or [] if c.get("type") != _SUSPENDED), suspended]


def _pod(hub_job: Obj, here: Obj, there: Obj) -> tuple[JobSync, Obj]:
    """A gated hub pod that looked unschedulable would make the hub's autoscaler add nodes."""
    if (hub_job.get("metadata") or {}).get("deletionTimestamp"):
        return JobSync.NONE, here
    own = _condition(here, "PodScheduled")
    remote = _condition(there, "PodScheduled")
    gated = bool((hub_job.get("spec") or {}).get("schedulingGates"))
    if gated and own is not None and (remote is None or remote.get("status") != "True"):
        others = [c for c in there.get("conditions") or [] if c.get("type") != "PodScheduled"]
        there = {**there, "conditions": [*others, own]}
    return _copied(here, there)


def _copied(here: Obj, there: Obj) -> tuple[JobSync, Obj]:
    return (JobSync.NONE if here == there else JobSync.COPY_STATUS), there


def _status(job: Obj) -> Obj:
    status = job.get("status")
    return status if isinstance(status, dict) else {}


def _is_suspended(job: Obj) -> bool:
    return bool((job.get("spec") or {}).get("suspend"))


def _condition(status: Obj, type_: str) -> Obj | None:
    return next((c for c in status.get("conditions") or [] if c.get("type") == type_), None)


def has(status: Obj, types: frozenset[str] | set[str]) -> bool:
    """Return whether a condition of one of these types is True; what is no list of conditions has none."""
    found = status.get("conditions")
    entries = (entry for entry in found if isinstance(entry, dict)) if isinstance(found, list) else ()
    return any(entry.get("type") == each for entry in entries if entry.get("status") == "True" for each in types)
