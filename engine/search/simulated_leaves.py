"""Room on nodes that is given or taken for a while: workloads that are thought away, and what a cycle has decided."""

from typing import TYPE_CHECKING, Final

from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload
from engine.objects.workloads import AdmittedWorkload
from engine.topology.node_inventory import per_pod_amounts, with_pod_slot
from engine.topology.placement import PlacementQuestion
from engine.vocabulary.assignment import Assignment, flavors_of

if TYPE_CHECKING:
    from engine.topology.node_inventory import NodeAmounts
    from engine.topology.tree import FlavorTree, LeafKey


class ReleasedLeaves:
    """Pretends that workloads have left their nodes."""

    def __init__(self, model: ClusterModel) -> None:
        self._model: Final = model
        self._removed: dict[AdmittedWorkload, ClusterQueue] = {}

    def remove(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a workload is gone."""
        if workload.topology:
            self._removed[workload] = queue
            self._release(workload, queue, -1)

    def put_back(self, workload: AdmittedWorkload, queue: ClusterQueue) -> None:
        """Pretend that a removed workload is back."""
        if self._removed.pop(workload, None) is not None:
            self._release(workload, queue, 1)

    def undo(self) -> None:
        """Put back everything that was removed."""
        for workload, queue in self._removed.items():
            self._release(workload, queue, 1)
        self._removed.clear()

    def _release(self, workload: AdmittedWorkload, queue: ClusterQueue, sign: int) -> None:
        flavors = () if queue.spec is None else queue.spec.flavors
        self._model.topology.release(workload.key.namespace, workload.topology, flavors, sign)


class TopologyTest(ReleasedLeaves):
    """Asks after every removal whether the pods of a workload find a place."""

    def __init__(self, model: ClusterModel, question: PlacementQuestion) -> None:
        super().__init__(model)
        self._question: Final = question

    def fits(self) -> bool:
        """Return whether the pods find a place now."""
        return self._question.fits()


class TakenLeaves:
    """Takes room on nodes for what a cycle has decided, in the trees of its own flavors, until it is undone."""

    def __init__(self, model: ClusterModel) -> None:
        self._topology: Final = model.topology
        self._taken: list[tuple[FlavorTree, LeafKey, NodeAmounts, int]] = []

    def take(self, entry: NominatedWorkload, assignment: Assignment) -> None:
        """Take the room that an assignment names."""
        for demand, pod_set in zip(entry.demands, assignment.pod_sets, strict=False):
            if pod_set.topology is None:
                continue
            single = with_pod_slot(per_pod_amounts(demand.pod))
            for flavor in sorted(set(flavors_of(pod_set))):
                keeper = self._topology.keeper(flavor)
                if keeper is None:
                    continue
                for values, count in pod_set.topology.domains:
                    keeper.tree.use(values, single, count)
                    self._taken.append((keeper.tree, values, single, count))

    def undo(self) -> None:
        """Give all of it back."""
        while self._taken:
            tree, values, single, count = self._taken.pop()
            tree.use(values, single, -count)
