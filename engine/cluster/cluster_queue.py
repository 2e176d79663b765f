"""A ClusterQueue of the cluster model: a leaf of the quota tree together with the workloads that hold its quota."""

from typing import TYPE_CHECKING

from engine.cluster.candidates import CandidateIndex
from engine.quota.quota_tree import QuotaNode, UsageChanges
from engine.versions.amounts import EXACT_AMOUNTS, Amounts

if TYPE_CHECKING:
    from engine.objects.activity import Inactivity
    from engine.objects.specs import ClusterQueueSpec
    from engine.objects.workloads import AdmittedWorkload


class ClusterQueue(QuotaNode):
    """A ClusterQueue; without a spec it is only a name that workloads refer to."""

    __slots__ = ("candidates", "generation", "inactivity", "spec")

    def __init__(self, name: str, amounts: Amounts = EXACT_AMOUNTS) -> None:
        super().__init__(name, amounts)
        self.spec: ClusterQueueSpec | None = None
        self.candidates = CandidateIndex()
        self.generation = 0
        """Grows whenever room may have been made; what a workload remembers of its last flavor scan depends on it."""
        self.inactivity: Inactivity | None = None

    @property
    def is_active(self) -> bool:
        """Return whether the ClusterQueue takes part in scheduling."""
        return self.spec is not None and self.inactivity is None

    @property
    def existing_spec(self) -> "ClusterQueueSpec":
        """The spec of a ClusterQueue that is known to exist."""
        if self.spec is None:
            raise LookupError(f"ClusterQueue {self.name} does not exist")
        return self.spec

    def add_workload(self, workload: "AdmittedWorkload") -> None:
        """Account a workload that holds quota."""
        self.candidates.add(workload)
        changes = UsageChanges()
        for fr, amount in workload.usage:
            changes.add(self.cell(fr), amount)

    def remove_workload(self, workload: "AdmittedWorkload") -> None:
        """Release the quota of a workload."""
        self.candidates.discard(workload)
        changes = UsageChanges()
        for fr, amount in workload.usage:
            changes.remove(self.cell(fr), amount)
