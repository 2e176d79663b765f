"""What this process learnt about Workloads on one worker beside the worker's objects."""

from dataclasses import dataclass, field
from typing import Final

from config.api.meta import ObjectKey
from gates.model.job_plan import PlannedJob
from gates.model.shape import SpecShape


@dataclass(slots=True)
class Remembered:
    """What this process learnt about one Workload on one worker; after a restart the worker is asked again."""

    foreign_workload_until: float = 0.0
    foreign_job_until: float = 0.0
    answers_until: float = 0.0
    """Until when an answer to a probe is believed."""
    confirmed: set[str] = field(default_factory=set)
    settled_jobs: dict[str, PlannedJob] = field(default_factory=dict)
    """By UID, what was done about a remote job without changing anything."""
    settled_spec: tuple[str, int, SpecShape] | None = None
    """The replica and its generation that the worker did not let be brought in line with this spec of the hub."""


class WorkerMemory:
    """What is remembered of each Workload."""

    def __init__(self) -> None:
        self._workloads: dict[ObjectKey, Remembered] = {}

    def remember(self, key: ObjectKey) -> Remembered:
        """Return what was learnt about a Workload, to be read and changed."""
        return self._workloads.setdefault(key, Remembered())

    def recall(self, key: ObjectKey) -> Remembered:
        """Return what was learnt about a Workload, to be read."""
        return self._workloads.get(key) or _NOTHING

    def forget(self, key: ObjectKey) -> None:
        """Keep nothing of a Workload."""
        self._workloads.pop(key, None)


_NOTHING: Final = Remembered()
