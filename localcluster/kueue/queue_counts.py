"""How many Workloads wait in, reserve in and are admitted by each queue, kept up to date change by change."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from config.api.meta import ObjectKey
from engine.cycles.object_events import WorkloadPhase
from localcluster.kueue.following import ObjectChange

PENDING = "pendingWorkloads"
RESERVING = "reservingWorkloads"
ADMITTED = "admittedWorkloads"


class QueueCountKey(NamedTuple):
    """One count of one queue; a ClusterQueue has no namespace."""

    queue: ObjectKey
    field: str


class QueueCounts:
    """Counts by queue."""

    def __init__(self) -> None:
        self._counts: Counter[QueueCountKey] = Counter()

    def take(self, change: ObjectChange) -> set[ObjectKey]:
        """Take a change of a Workload; return the queues whose counts it changed."""
        before, after = Counter(_tallies(change.old)), Counter(_tallies(change.new))
        changed = before.keys() | after.keys()
        for tally in changed:
            self._counts[tally] += after[tally] - before[tally]
            if not self._counts[tally]:
                del self._counts[tally]
        return {tally.queue for tally in changed if before[tally] != after[tally]}

    def of(self, queue: ObjectKey, field: str) -> int:
        """Return one count."""
        return self._counts[QueueCountKey(queue, field)]


def _tallies(raw: Mapping[str, Any] | None) -> Iterator[QueueCountKey]:
    if raw is None:
        return
    spec, phase = raw["spec"], WorkloadPhase.of(raw)
    local_queue = ObjectKey(raw["metadata"]["namespace"], spec.get("queueName") or "")
    if phase is WorkloadPhase.PENDING and spec.get("active") is not False:
        yield QueueCountKey(local_queue, PENDING)
    if not phase.holds_quota:
        return
    admission = (raw["status"].get("admission") or {}).get("clusterQueue") or ""
    for queue in (local_queue, ObjectKey("", admission)):
        yield QueueCountKey(queue, RESERVING)
        if phase is WorkloadPhase.ADMITTED:
            yield QueueCountKey(queue, ADMITTED)
