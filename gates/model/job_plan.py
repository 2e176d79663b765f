"""What to do about the jobs of a Workload on one worker, object by object."""

from dataclasses import dataclass
from enum import StrEnum


class JobOperation(StrEnum):
    """One thing to do about a job of the hub and its remote job."""

    CREATE = "create"
    REPLACE = "replace"
    """Delete the remote job of an earlier hub job of the same name; its successor is created once it is gone."""
    VERIFY_ABSENCE = "verify-absence"
    """The Workload is over and has no remote job: make sure that no foreign job has taken its place."""
    FORWARD = "forward"
    """Pass a change of the hub's job on to the remote job."""
    COPY_STATUS = "copy-status"
    """Copy the remote job's status to the hub's job."""


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """The version of an object that was decided on."""

    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class RemovedJob:
    """A remote job that goes: exactly this object, so that a successor of the same name stays."""

    kind: str
    """Group, version and kind, as `gates.jobs.kinds` names them."""
    name: str
    """It is in the Workload's namespace."""
    uid: str


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """The operations on one job, and the versions of it on hub and worker for which they were decided."""

    name: str
    """Both objects have this name and are in the Workload's namespace."""
    hub: ObjectVersion
    remote: ObjectVersion | None
    operations: tuple[JobOperation, ...]
