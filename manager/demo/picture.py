"""What a screen shows of one cluster, read from its objects as they are at the moment."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum

from config.api.meta import NANOSECONDS, Obj, conditions, is_true
from manager.demo import cast
from manager.demo.invariants import victims
from manager.demo.sightings import JobPhase, cpus, is_copy, open_gate, phase, signal, window_start_ns
from manager.demo.stage import Stage


class CopyState(StrEnum):
    """How far the copy of a hub's job is on a worker."""

    SENT = "sent"
    ASKS = "asks"
    OPEN = "open"
    ADMITTED = "admitted"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class JobPicture:
    """A job of the worker's own."""

    name: str
    phase: JobPhase
    at_risk: bool = False
    """It runs, and would be preempted by forecast."""


@dataclass(frozen=True, slots=True)
class CopyPicture:
    """The copy of a hub's job."""

    job: str
    state: CopyState
    left_ns: int | None = None
    """While its gate is open and it waits: how long no other worker may preempt for the job."""


@dataclass(frozen=True, slots=True)
class Bar:
    """CPUs by what they are used for."""

    low: int
    stopping: int
    urgent: int


@dataclass(frozen=True, slots=True)
class WorkerPicture:
    """One worker."""

    bar: Bar
    jobs: tuple[JobPicture, ...]
    copies: tuple[CopyPicture, ...]
    victims: int


@dataclass(frozen=True, slots=True)
class HubPicture:
    """The job that was submitted to the hub last."""

    job: str = ""
    state: str = ""
    message: str = ""


def worker_picture(
    stage: Stage, worker: str, first_sighting: int, now_ns: int, at_risk: Collection[str] = ()
) -> WorkerPicture:
    """Look at a worker; victims are counted from some sighting on. Jobs at risk are those a forecast names."""
    jobs = list(stage.jobs(worker))
    own = [job for job in jobs if not is_copy(job)]
    running = {job["metadata"]["name"] for job in jobs if phase(job) is JobPhase.RUNNING}
    copies = [each for each in stage.workloads(worker) if is_copy(each)]
    return WorkerPicture(
        bar=Bar(
            low=cpus(job for job in own if phase(job) is JobPhase.RUNNING),
            stopping=cpus(job for job in own if phase(job) is JobPhase.STOPPING),
            urgent=cpus(job for job in jobs if is_copy(job) and phase(job) is JobPhase.RUNNING),
        ),
        jobs=tuple(_job_picture(job, at_risk) for job in own),
        copies=tuple(_copy_picture(stage, worker, each, running, now_ns) for each in copies),
        victims=victims(stage.sightings[first_sighting:]).get(worker, 0),
    )


def hub_picture(stage: Stage) -> HubPicture:
    """Look at the hub."""
    workloads = list(stage.workloads(cast.HUB))
    if not workloads:
        return HubPicture()
    latest = max(workloads, key=lambda each: (each["metadata"]["creationTimestamp"], stage.job_of(each)))
    checks = (latest.get("status") or {}).get("admissionChecks") or [{}]
    finished = conditions(latest).get("Finished")
    if finished is not None and finished.is_true:
        return HubPicture(stage.job_of(latest), "Finished", finished.message)
    state = "Admitted" if is_true(conditions(latest), "Admitted") else checks[0].get("state", "")
    return HubPicture(stage.job_of(latest), state, checks[0].get("message", ""))


def _job_picture(job: Obj, at_risk: Collection[str]) -> JobPicture:
    name, now = job["metadata"]["name"], phase(job)
    return JobPicture(name, now, now is JobPhase.RUNNING and name in at_risk)


def _copy_picture(stage: Stage, worker: str, copy: Obj, running: Iterable[str], now_ns: int) -> CopyPicture:
    job = stage.job_of(copy)
    if is_true(conditions(copy), "Admitted"):
        return CopyPicture(job, CopyState.RUNNING if job in running else CopyState.ADMITTED)
    if open_gate(copy):
        return CopyPicture(job, CopyState.OPEN, _left_ns(stage, worker, job, now_ns))
    return CopyPicture(job, CopyState.ASKS if signal(copy) else CopyState.SENT)


def _left_ns(stage: Stage, worker: str, job: str, now_ns: int) -> int | None:
    for workload in stage.workloads(cast.HUB):
        start_ns = window_start_ns(workload, worker) if stage.job_of(workload) == job else None
        if start_ns is not None:
            left_ns = start_ns + cast.TIMEOUT_SECONDS * NANOSECONDS - now_ns
            return left_ns if left_ns > 0 else None
    return None
