"""What becomes of a Job's status while its pods would run: the part of Kubernetes' job controller and of the kubelet.

Pure. Nothing really runs: all pods start at once, and the Job's annotations say when they succeed and how long they
take to stop. A Job that another controller manages is left to it.
"""

from dataclasses import dataclass
from typing import Any, Final

from config.api.meta import Obj, format_time, parse_time
from localcluster.kinds.columns import find_condition, has_condition
from localcluster.kueue.annotations import AnnotationError, run_ns, stop_ns, stop_ns_or_zero

JOB_CONTROLLER: Final = "kubernetes.io/job-controller"

_REACHED: Final = ("CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(frozen=True, slots=True)
class Run:
    """What is to be written now, or when to reconcile again."""

    status: Obj | None = None
    due_ns: int | None = None


NOTHING: Final = Run()


def is_over(job: Obj) -> bool:
    """Return whether the Job succeeded or failed."""
    return has_condition(job, "Complete") or has_condition(job, "Failed")


def next_run(job: Obj, now_ns: int) -> Run:
    """Return what happens next to a Job."""
    spec = job["spec"]
    is_ours = spec.get("managedBy", JOB_CONTROLLER) == JOB_CONTROLLER
    if not is_ours or is_over(job) or "deletionTimestamp" in job["metadata"]:
        return NOTHING
    if spec.get("suspend"):
        return _stop(job, now_ns)
    try:
        running_ns, _ = run_ns(job), stop_ns(job)
    except AnnotationError as error:
        return Run(_failed(job, str(error), now_ns))
    started = (job.get("status") or {}).get("startTime")
    if started is None or has_condition(job, "Suspended"):
        return Run(_started(job, now_ns))
    if running_ns is None:
        return NOTHING
    due_ns = parse_time(started) + running_ns
    return Run(_succeeded(job, now_ns)) if due_ns <= now_ns else Run(due_ns=due_ns)


def _stop(job: Obj, now_ns: int) -> Run:
    status = job.get("status") or {}
    suspended = find_condition(job, "Suspended")
    stopping_ns = stop_ns_or_zero(job)
    if suspended is None or suspended["status"] != "True":
        idle = {name: value for name, value in status.items() if name != "startTime"}
        conditions = _with_condition(job, now_ns, "Suspended", "True", "JobSuspended", "Job suspended")
        active = status.get("active", 0) if stopping_ns != 0 else 0
        return Run({**idle, "conditions": conditions, "active": active, "ready": 0})
    if not status.get("active") or stopping_ns is None:
        return NOTHING
    due_ns = parse_time(suspended["lastTransitionTime"]) + stopping_ns
    return Run({**status, "active": 0}) if due_ns <= now_ns else Run(due_ns=due_ns)


def _started(job: Obj, now_ns: int) -> Obj:
    status, pods = job.get("status") or {}, job["spec"]["parallelism"]
    started = {**status, "startTime": format_time(now_ns), "active": pods, "ready": pods}
    if not has_condition(job, "Suspended"):
        return started
    return {**started, "conditions": _with_condition(job, now_ns, "Suspended", "False", "JobResumed", "Job resumed")}


def _succeeded(job: Obj, now_ns: int) -> Obj:
    status, spec = job["status"], job["spec"]
    met = _with_condition(job, now_ns, "SuccessCriteriaMet", "True", *_REACHED)
    done = _with_condition({"status": {"conditions": met}}, now_ns, "Complete", "True", *_REACHED)
    succeeded = spec.get("completions", spec["parallelism"])
    completed = {"completionTime": format_time(now_ns), "succeeded": succeeded, "active": 0, "ready": 0}
    return {**status, **completed, "conditions": done}


def _failed(job: Obj, why: str, now_ns: int) -> Obj:
    status = job.get("status") or {}
    target = _with_condition(job, now_ns, "FailureTarget", "True", "InvalidAnnotation", why)
    failed = _with_condition({"status": {"conditions": target}}, now_ns, "Failed", "True", "InvalidAnnotation", why)
    started = status.get("startTime") or format_time(now_ns)
    return {**status, "startTime": started, "active": 0, "ready": 0, "conditions": failed}


def _with_condition(job: Obj, now_ns: int, kind: str, status: str, reason: str, message: str) -> list[dict[str, Any]]:
    time = format_time(now_ns)
    entry = {"type": kind, "status": status, "reason": reason, "message": message}
    entry |= {"lastProbeTime": time, "lastTransitionTime": time}
    others: list[Obj] = (job.get("status") or {}).get("conditions") or []
    return [*(other for other in others if other["type"] != kind), entry]
