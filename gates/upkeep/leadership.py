"""Who may act: one instance at a time holds the Lease; the others wait until it was not renewed for long enough.

How long a Lease has been unchanged is measured on the observer's own steady clock, never by comparing the times that
different machines wrote.
"""

from dataclasses import dataclass
from math import ceil
from typing import Final, assert_never

from config.api.meta import Obj, format_microtime

LEASE_API_VERSION: Final = "coordination.k8s.io/v1"
LEASE_KIND: Final = "Lease"


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """The durations of an election, in seconds."""

    lease_seconds: float = 15.0
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """A Lease as the hub holds it."""

    uid: str
    resource_version: str
    holder: str = ""
    duration_seconds: float | None = None
    acquired: str | None = None
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class LeaseObservation:
    """The Lease as last seen, and since when it is unchanged, on our own steady clock."""

    record: LeaseRecord | None
    since: float


@dataclass(frozen=True, slots=True)
class Create:
    """There is no Lease: make it."""


@dataclass(frozen=True, slots=True)
class Renew:
    """It is ours: go on holding it."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class TakeOver:
    """It has no holder, or its holder has not renewed it for the duration that it states."""

    record: LeaseRecord


@dataclass(frozen=True, slots=True)
class StandBy:
    """Another instance holds it; check again then."""

    holder: str
    seconds: float


Move = Create | Renew | TakeOver | StandBy


def lease_record(raw: Obj) -> LeaseRecord:
    """Read a Lease."""
    metadata, spec = raw["metadata"], raw.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    return LeaseRecord(
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        holder=str(spec.get("holderIdentity") or ""),
        duration_seconds=float(duration) if duration is not None else None,
        acquired=spec.get("acquireTime"),
        transitions=int(spec.get("leaseTransitions") or 0),
    )


def sight(earlier: LeaseObservation | None, record: LeaseRecord | None, now: float) -> LeaseObservation:
    """Take note of the Lease; one that has not changed keeps its age."""
    if earlier is not None and earlier.record == record:
        return earlier
    return LeaseObservation(record, now)


def next_move(sighting: LeaseObservation, me: str, now: float, terms: LeaseTimings) -> Move:
    """Decide what to do about the Lease."""
    record = sighting.record
    if record is None:
        return Create()
    if record.holder == me:
        return Renew(record)
    if not record.holder:
        return TakeOver(record)
    duration = record.duration_seconds if record.duration_seconds is not None else terms.lease_seconds
    remaining = sighting.since + duration - now
    if remaining <= 0:
        return TakeOver(record)
    return StandBy(record.holder, min(remaining, terms.retry_seconds))


def lease_spec(move: Create | Renew | TakeOver, me: str, now_ns: int, terms: LeaseTimings) -> Obj:
    """Return the spec that a move writes."""
    now = format_microtime(now_ns)
    spec: Obj = {
        "holderIdentity": me,
        "leaseDurationSeconds": ceil(terms.lease_seconds),
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": 0,
    }
    match move:
        case Create():
            return spec
        case Renew(record=record):
            return {**spec, "acquireTime": record.acquired or now, "leaseTransitions": record.transitions}
        case TakeOver(record=record):
            return {**spec, "leaseTransitions": record.transitions + 1}
        case _:
            assert_never(move)


def released_spec(record: LeaseRecord, now_ns: int) -> Obj:
    """Return the spec by which a holder gives the Lease up, so that no other instance has to wait for it."""
    now = format_microtime(now_ns)
    return {
        "holderIdentity": "",
        "leaseDurationSeconds": 1,
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": record.transitions,
    }
