"""Kueue's scheduler on a local cluster: the engine's cycles, carried to the store.

Invariant: a cycle only runs when something changed since the last one that led to nothing, so that a head which blocks
its queue, or waits for victims, costs nothing while it waits.
"""

from typing import Final

from config.api.meta import ObjectKey
from engine.cycles.cycle_writes import EntryResult
from engine.cycles.pending_queue import QueuePlace
from engine.cycles.scheduler import CycleResult, Scheduler
from engine.reporting.status_writes import StatusWrite
from engine.vocabulary.errors import InvalidObjectError
from localcluster.kueue.following import ObjectChange
from localcluster.kueue.profile import KueueProfile
from localcluster.kueue.writing import Writer

OBSERVED_KINDS: Final = (
    ("namespaces", ""),
    ("limitranges", ""),
    ("runtimeclasses", "node.k8s.io"),
    ("resourceflavors", "kueue.x-k8s.io"),
    ("admissionchecks", "kueue.x-k8s.io"),
    ("cohorts", "kueue.x-k8s.io"),
    ("clusterqueues", "kueue.x-k8s.io"),
    ("localqueues", "kueue.x-k8s.io"),
    ("topologies", "kueue.x-k8s.io"),
    ("nodes", ""),
    ("pods", ""),
    ("workloads", "kueue.x-k8s.io"),
)
"""What decides about a schedule, in the order in which a start reads it."""

_WITH_COUNTS: Final = ("ClusterQueue", "LocalQueue")
"""Kinds whose status only reports what was decided."""


class Scheduling:
    """Runs cycles while they lead to something."""

    def __init__(self, profile: KueueProfile, writer: Writer) -> None:
        self.scheduler: Final = Scheduler(profile.configuration, dialect=profile.dialect, sees_topology=True)
        self._writer = writer
        self._fruitless = 0

    def observe(self, change: ObjectChange, now_ns: int) -> None:
        """Take a change of an object."""
        if change.respecifies or change.kind not in _WITH_COUNTS:
            self._fruitless = 0
        if change.new is not None:
            try:
                self.scheduler.observe(change.new, now_ns)
            except InvalidObjectError:
                # Kueue would fail to decode it, and go on without it.
                self.scheduler.forget(change.kind, *change.key, now_ns)
        else:
            self.scheduler.forget(change.kind, *change.key, now_ns)

    def work(self, now_ns: int) -> bool:
        """Let time pass and run one cycle, if there is reason to; return whether anything was done."""
        due = self.scheduler.next_wake_ns()
        if due is not None and due <= now_ns:
            self._fruitless = 0
            for change in self.scheduler.wake(now_ns):
                self._writer.write(change)
            return True
        if not self.scheduler.has_heads or self._fruitless > self._patience():
            return False
        result = self.scheduler.run_cycle(now_ns, max_orders=1)
        if result is None:
            return False
        self._fruitless = 0 if self._carry_out(result, now_ns) else self._fruitless + 1
        return True

    def next_ns(self) -> int | None:
        """Return when time alone makes a difference."""
        return self.scheduler.next_wake_ns()

    def settle(self, key: ObjectKey, now_ns: int) -> StatusWrite | None:
        """Return what the workload controller has to say about a waiting workload."""
        return self.scheduler.settle(key, now_ns)

    def _carry_out(self, result: CycleResult, now_ns: int) -> bool:
        """Write what a cycle decided; return whether the next one can lead to anything else."""
        admitted = {entry.key for entry in result.entries if entry.requeue is None}
        is_fruitful = any(map(_is_parked, result.entries))
        for change in result.writes:
            if self._write(change):
                is_fruitful = True
            elif change.key in admitted:
                self.scheduler.withdraw(change.key, now_ns)
        return is_fruitful

    def _write(self, change: StatusWrite) -> bool:
        return change.changes_status and self._writer.write(change)

    def _patience(self) -> int:
        """Return how many fruitless cycles may still lead to another flavor."""
        specs = [queue.existing_spec for queue in self.scheduler.model.forest.queues()]
        return max((len(group.flavors) for spec in specs for group in spec.resource_groups), default=0)


def _is_parked(entry: EntryResult) -> bool:
    return entry.place is QueuePlace.PARKED
