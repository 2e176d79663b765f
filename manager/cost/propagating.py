"""Takes a Job's cost to its Workload where that is asked for: as a copy where Kueue makes none, and as a boost."""

from dataclasses import dataclass
from typing import Final

from engine.cost.facts import JobFacts, WorkloadFacts
from engine.cost.propagation import Changes, bridged_boost, copied_cost, has_foreign_boost
from engine.objects.boost import PREEMPTION_COST_ANNOTATION, PRIORITY_BOOST_ANNOTATION
from manager.cost.complaints import FOREIGN_BOOST, Complaints
from manager.cost.copywatch import Attitude, CopyWatch
from manager.cost.metrics import CostMetrics
from manager.logging.logs import get_log
from workerclient.base.clock import Clock
from workerclient.cluster import WatchedResource
from workerclient.objects.resource import Precondition

_LONGEST_SHOWN: Final = 64


@dataclass(frozen=True, slots=True)
class CostPropagation:
    """What is written on the Workloads of one cluster."""

    copies: bool = False
    bridges: bool = False


class Propagator:
    """Writes on the Workloads of one cluster."""

    def __init__(
        self,
        settings: CostPropagation,
        workloads: WatchedResource[WorkloadFacts],
        complaints: Complaints,
        metrics: CostMetrics,
        clock: Clock,
        cluster: str,
    ) -> None:
        self._settings = settings
        self._workloads = workloads
        self._complaints = complaints
        self._metrics = metrics
        self._clock = clock
        self._cluster = cluster
        self._watch = CopyWatch()

    @property
    def attitude(self) -> Attitude:
        """Return what is known of the cluster's Kueue."""
        return self._watch.attitude

    def forget(self, uid: str) -> None:
        """Drop what is known about a Job that is gone."""
        self._watch.forget(uid)

    async def propagate(self, job: JobFacts, workload: WorkloadFacts) -> float:
        """Bring a Workload up to date; return in how many seconds to check again, 0 for never."""
        missing = copied_cost(job.annotations, workload.annotations)
        again = self._observe(job, is_there=not missing)
        changes: Changes = {}
        if self._settings.copies and self.attitude is Attitude.IGNORES:
            changes |= missing
        if self._settings.bridges:
            changes |= bridged_boost(job, workload)
            if has_foreign_boost(workload):
                await self._complain_about_boost(job, workload)
        if not changes:
            return again
        await self._write(workload, changes)
        if PREEMPTION_COST_ANNOTATION in changes:
            self._watch.forget(job.uid)
            return 0.0
        return again

    def _observe(self, job: JobFacts, *, is_there: bool) -> float:
        before = self.attitude
        again = self._watch.observe(job.uid, job.cost_text, is_there=is_there, now=self._clock.monotonic())
        if self.attitude is not before:
            is_ignored = self.attitude is Attitude.IGNORES
            self._metrics.show_ignored(self._cluster, is_ignored=is_ignored)
            seen_on = f"{job.namespace}/{job.name}"
            if is_ignored:
                get_log().warning("cost.ignored_by_worker", cluster=self._cluster, seen_on=seen_on)
            else:
                get_log().info("cost.copied_by_worker", cluster=self._cluster, seen_on=seen_on)
        return again

    async def _complain_about_boost(self, job: JobFacts, workload: WorkloadFacts) -> None:
        boost = workload.annotations[PRIORITY_BOOST_ANNOTATION][:_LONGEST_SHOWN]
        problem = f'Workload {workload.name} has {PRIORITY_BOOST_ANNOTATION} "{boost}" from another writer'
        await self._complaints.complain(job, FOREIGN_BOOST, f"{problem}; it stays, and the cost does not count there")

    async def _write(self, workload: WorkloadFacts, changes: Changes) -> None:
        key, fence = workload.key, Precondition(workload.uid, workload.resource_version)
        await self._workloads.resource.merge_patch(key, {"metadata": {"annotations": changes}}, fence)
        get_log().info("cost.propagated", cluster=self._cluster, workload=str(key), annotations=changes)
