"""What a change of an object on a cluster means for the story. Pure: two versions in, sightings out."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Any, Final

from config.api.meta import Raw, conditions, is_true
from config.api.quantity import parse_quantity
from config.names import FIELD_MANAGER, MULTIKUEUE_NAME
from engine.forecasting.verification import ForecastResult
from gates.model import marks
from gates.model.forecasts import ForecastRecord, parse_record
from gates.wire.annotations import LedgerError, parse_openings

SIGNALS: Final = ("BlockedOnPreemptionGates", "QuotaReservationBlocked")
"""By which a worker asks to preempt: Kueue v0.19.1's spelling and KEP-8303's."""
GATE_FIELDS: Final = ("position", "state")
"""In which a worker keeps whether a gate is open, in the same two spellings."""


class SightingKind(StrEnum):
    """What was seen."""

    COPIED = "copied"
    ASKED = "asked"
    RECORDED = "recorded"
    FORECAST = "forecast"
    VERIFIED = "verified"
    OPENED = "opened"
    EVICTED = "evicted"
    STOPPED = "stopped"
    ADMITTED = "admitted"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    REMOVED = "removed"
    JOB_REMOVED = "job removed"
    TOUCHED = "touched"


class JobPhase(StrEnum):
    """How far a Job is, as its status shows."""

    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ClusterSighting:
    """Something that was seen on a cluster."""

    at_ns: int
    cluster: str
    what: SightingKind
    job: str
    detail: str = ""
    """What belongs to it: the spelling of a signal or gate, the cluster of a record, the outcome of a job; of a
    forecast the cluster and the victims, and then the cluster and the result."""
    since_ns: int = 0
    """For a record: when the window began."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A sighting without its time, place and job."""

    what: SightingKind
    detail: str = ""
    since_ns: int = 0


def seen_on_hub(kind: str, old: Raw | None, new: Raw | None) -> Iterator[Seen]:
    """Yield what a change of a Workload or Job on the hub shows."""
    if new is None:
        return
    if kind == "Job":
        yield from _success(old, new)
        return
    yield from _forecast(_forecast_record(old), _forecast_record(new))
    for opening in set(_openings(new)) - set(_openings(old)):
        yield Seen(SightingKind.RECORDED, opening.cluster, opening.opened_ns)


def seen_on_worker(kind: str, old: Raw | None, new: Raw | None) -> Iterator[Seen]:
    """Yield what a change of a Workload or Job on a worker shows."""
    if not is_copy(new if new is not None else old):
        yield from _interference(old, new)
    if kind == "Job":
        yield from _job(old, new)
    elif is_copy(new if new is not None else old):
        yield from _copy(old, new)
    elif new is not None and is_evicted(new) and not is_evicted(old):
        yield Seen(SightingKind.EVICTED)


def is_copy(obj: Raw | None) -> bool:
    """Return whether the daemon made this object on a worker."""
    return obj is not None and bool(marks.hub_of(obj["metadata"]))


def is_evicted(workload: Raw | None) -> bool:
    """Return whether a Workload was told to make room for another one."""
    evicted = conditions(workload).get("Evicted") if workload is not None else None
    return evicted is not None and evicted.is_true and evicted.reason == "Preempted"


def signal(workload: Raw | None) -> str:
    """Return the condition by which a worker asks to preempt, empty while it does not."""
    known = conditions(workload or {})
    return next((name for name in SIGNALS if is_true(known, name)), "")


def open_gate(workload: Raw | None) -> str:
    """Return the field that says that the gate is open, empty while it is closed."""
    for entry in ((workload or {}).get("status") or {}).get("preemptionGates") or ():
        if entry["name"] == MULTIKUEUE_NAME:
            return next((name for name in GATE_FIELDS if entry.get(name) == "Open"), "")
    return ""


def phase(job: Raw | None) -> JobPhase:
    """Return how far a Job is."""
    known = conditions(job or {})
    if job is None:
        return JobPhase.WAITING
    if is_true(known, "Complete") or is_true(known, "Failed"):
        return JobPhase.ENDED
    if not (job.get("status") or {}).get("active"):
        return JobPhase.WAITING
    return JobPhase.STOPPING if job["spec"].get("suspend") else JobPhase.RUNNING


def cpus(jobs: Iterable[Raw]) -> int:
    """Add up what jobs ask for, in whole CPUs; one that asks for nothing counts nothing."""
    asked = (
        (container.get("resources") or {}).get("requests", {}).get("cpu", 0)
        for job in jobs
        for container in job["spec"]["template"]["spec"]["containers"]
    )
    return ceil(sum(map(parse_quantity, asked)))


def window_start_ns(workload: Raw, cluster: str) -> int | None:
    """Return when the hub let a cluster begin to preempt for a Workload."""
    return next((each.opened_ns for each in _openings(workload) if each.cluster == cluster), None)


def _copy(old: Raw | None, new: Raw | None) -> Iterator[Seen]:
    if new is None:
        yield Seen(SightingKind.REMOVED)
        return
    if old is None:
        yield Seen(SightingKind.COPIED)
    if signal(new) and not signal(old):
        yield Seen(SightingKind.ASKED, signal(new))
    if open_gate(new) and not open_gate(old):
        yield Seen(SightingKind.OPENED, open_gate(new))
    if is_true(conditions(new), "Admitted") and not is_true(conditions(old or {}), "Admitted"):
        yield Seen(SightingKind.ADMITTED)


def _job(old: Raw | None, new: Raw | None) -> Iterator[Seen]:
    if new is None:
        yield from [Seen(SightingKind.JOB_REMOVED)] if is_copy(old) else []
        return
    before, after = phase(old), phase(new)
    if after is JobPhase.RUNNING and before is not JobPhase.RUNNING:
        yield Seen(SightingKind.STARTED)
    if after is JobPhase.WAITING and before in (JobPhase.RUNNING, JobPhase.STOPPING):
        yield Seen(SightingKind.STOPPED)
    yield from _success(old, new)


def _success(old: Raw | None, new: Raw) -> Iterator[Seen]:
    if is_true(conditions(new), "Complete") and not is_true(conditions(old or {}), "Complete"):
        kept = {name: new["status"].get(name) for name in ("startTime", "completionTime", "succeeded")}
        yield Seen(SightingKind.SUCCEEDED, json.dumps(kept, sort_keys=True))


def _interference(old: Raw | None, new: Raw | None) -> Iterator[Seen]:
    """Yield what happened to an object that Turnstile does not manage and only Kueue should change."""
    if new is None:
        yield Seen(SightingKind.TOUCHED, "it was deleted")
    elif _has_our_fields(new) and not _has_our_fields(old):
        yield Seen(SightingKind.TOUCHED, f"fields of it belong to {FIELD_MANAGER}")


def _has_our_fields(obj: Raw | None) -> bool:
    fields = (obj or {}).get("metadata", {}).get("managedFields") or ()
    return any(each.get("manager") == FIELD_MANAGER for each in fields)


def _forecast(old: ForecastRecord | None, new: ForecastRecord | None) -> Iterator[Seen]:
    if new is None:
        return
    is_same = old is not None and old.is_about(new.cluster, new.replica_uid, new.opened_ns)
    if not is_same:
        jobs = sorted(victim.owner.removeprefix("Job ") for victim in new.forecast.victims)
        yield Seen(SightingKind.FORECAST, f"{new.cluster} {' and '.join(jobs)}", new.opened_ns)
    before = old.result if is_same and old is not None else ForecastResult.PENDING
    if new.result is not ForecastResult.PENDING and before is ForecastResult.PENDING:
        yield Seen(SightingKind.VERIFIED, f"{new.cluster} {new.result}")


def _forecast_record(workload: Raw | None) -> ForecastRecord | None:
    return parse_record(((workload or {}).get("metadata", {}).get("annotations") or {}).get(marks.FORECAST))


def _openings(workload: Raw | None) -> tuple[Any, ...]:
    annotations = (workload or {}).get("metadata", {}).get("annotations") or {}
    try:
        return parse_openings(annotations.get(marks.GATE_OPENINGS))
    except LedgerError:  # a writer other than the daemon changed it
        return ()
