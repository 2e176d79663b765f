"""The cohort forest: ClusterQueues and Cohorts linked as their specs say, with quota sums kept up to date.

Specs may arrive in any order, name parents that do not exist and even form cycles. Changes only mark what they touch;
the trees concerned are put together and summed up when the next question is asked. Invariant: after `settle`, a node's
parent is the one its spec names, unless following the names upwards would never end.
"""

from collections.abc import Callable

from engine.cluster.cluster_queue import ClusterQueue
from engine.objects.activity import Inactivity
from engine.objects.specs import ClusterQueueSpec, CohortSpec
from engine.quota.quota_tree import CohortNode, QuotaNode, settle_tree
from engine.versions.amounts import EXACT_AMOUNTS, Amounts

WhyInactive = Callable[[ClusterQueueSpec, bool], Inactivity | None]
"""Says why a ClusterQueue is inactive, given its spec and whether its cohorts form a cycle."""


class CohortForest:
    """All ClusterQueues and Cohorts of one cluster."""

    def __init__(self, why_inactive: WhyInactive, amounts: Amounts = EXACT_AMOUNTS) -> None:
        self._amounts = amounts
        self._why_inactive = why_inactive
        self._queues: dict[str, ClusterQueue] = {}
        self._cohorts: dict[str, CohortNode] = {}
        self._specs: dict[str, CohortSpec] = {}
        self._queues_by_cohort: dict[str, dict[str, ClusterQueue]] = {}
        self._cohorts_by_parent: dict[str, dict[str, CohortNode]] = {}
        self._dirty_queues: set[str] = set()
        self._dirty_cohorts: set[str] = set()
        self.counts_generations = True
        """Off while a hypothesis is tried out, so that trying leaves no trace."""

    def queue(self, name: str) -> ClusterQueue:
        """Return a ClusterQueue, which may be no more than a name yet."""
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = ClusterQueue(name, self._amounts)
        return queue

    def find_queue(self, name: str) -> ClusterQueue | None:
        """Return a ClusterQueue that exists, with everything about it up to date."""
        self.settle()
        queue = self._queues.get(name)
        return queue if queue is not None and queue.spec is not None else None

    def queues(self) -> list[ClusterQueue]:
        """Return the ClusterQueues that exist."""
        self.settle()
        return self.declared_queues()

    def declared_queues(self) -> list[ClusterQueue]:
        """Return the ClusterQueues that exist, without bringing anything up to date."""
        return [queue for queue in self._queues.values() if queue.spec is not None]

    def cohorts(self) -> list[CohortNode]:
        """Return the Cohorts that exist or are referred to."""
        self.settle()
        return list(self._cohorts.values())

    def cohort_spec(self, name: str) -> CohortSpec | None:
        """Return what a Cohort object says; None where there is none."""
        return self._specs.get(name)

    def find_cohort(self, name: str) -> CohortNode | None:
        """Return a Cohort that exists or is referred to."""
        self.settle()
        return self._cohorts.get(name)

    def set_queue(self, name: str, spec: ClusterQueueSpec | None) -> None:
        """Take a new, changed or removed ClusterQueue."""
        queue = self.queue(name)
        old = queue.spec
        if old == spec:
            return
        if old is not None and old.cohort:
            self._queues_by_cohort[old.cohort].pop(name, None)
            self._dirty_cohorts.add(old.cohort)
        queue.spec = spec
        queue.quotas = spec.quotas if spec is not None else {}
        queue.weight = spec.weight if spec is not None else 1.0
        if spec is not None and spec.cohort:
            self._queues_by_cohort.setdefault(spec.cohort, {})[name] = queue
        self._dirty_queues.add(name)

    def set_cohort(self, name: str, spec: CohortSpec | None) -> None:
        """Take a new, changed or removed Cohort."""
        old = self._specs.get(name)
        if old == spec:
            return
        if old is not None and old.parent:
            self._cohorts_by_parent[old.parent].pop(name, None)
            self._dirty_cohorts.add(old.parent)
        if spec is None:
            del self._specs[name]
        else:
            self._specs[name] = spec
            if spec.parent:
                self._cohorts_by_parent.setdefault(spec.parent, {})[name] = self._cohort(name)
        node = self._cohort(name)
        node.quotas = spec.quotas if spec is not None else {}
        node.weight = spec.weight if spec is not None else 1.0
        self._dirty_cohorts.add(name)

    def activity_changed(self, queue: ClusterQueue) -> None:
        """Determine again whether a ClusterQueue is active."""
        self._dirty_queues.add(queue.name)

    def settle(self) -> None:
        """Put together and sum up every tree that a change has touched."""
        if not self._dirty_queues and not self._dirty_cohorts:
            return
        queues, cohorts = self._connected()
        self._dirty_queues.clear()
        self._dirty_cohorts.clear()
        for cohort in cohorts.values():
            cohort.parent = None
            cohort.child_cohorts, cohort.child_queues, cohort.active_queues = [], [], []
        for name, cohort in cohorts.items():
            self._link_cohort(name, cohort)
        for queue in queues.values():
            self._link_queue(queue)
        for node in (*cohorts.values(), *queues.values()):
            if node.parent is None:
                settle_tree(node)
        for name in cohorts:
            if not self._is_referred_to(name):
                del self._cohorts[name]
        if self.counts_generations:
            for queue in queues.values():
                queue.generation += 1

    def _cohort(self, name: str) -> CohortNode:
        cohort = self._cohorts.get(name)
        if cohort is None:
            cohort = self._cohorts[name] = CohortNode(name, self._amounts)
        return cohort

    def _is_referred_to(self, name: str) -> bool:
        return name in self._specs or bool(self._cohorts_by_parent.get(name) or self._queues_by_cohort.get(name))

    def _parent_name(self, cohort: str) -> str:
        spec = self._specs.get(cohort)
        return spec.parent if spec is not None else ""

    def _connected(self) -> tuple[dict[str, ClusterQueue], dict[str, CohortNode]]:
        """Return everything that hangs together with something that changed."""
        queues = {name: self._queues[name] for name in self._dirty_queues}
        pending = list(self._dirty_cohorts)
        pending.extend(queue.spec.cohort for queue in queues.values() if queue.spec is not None and queue.spec.cohort)
        cohorts: dict[str, CohortNode] = {}
        while pending:
            name = pending.pop()
            if name in cohorts:
                continue
            cohorts[name] = self._cohort(name)
            queues.update(self._queues_by_cohort.get(name, {}))
            pending.extend(self._cohorts_by_parent.get(name, {}))
            if self._parent_name(name):
                pending.append(self._parent_name(name))
        return queues, cohorts

    def _is_in_cycle(self, name: str) -> bool:
        seen = set()
        while name:
            if name in seen:
                return True
            seen.add(name)
            name = self._parent_name(name)
        return False

    def _link_cohort(self, name: str, cohort: CohortNode) -> None:
        parent_name = self._parent_name(name)
        if parent_name and not self._is_in_cycle(name):
            cohort.parent = self._cohorts[parent_name]
            cohort.parent.child_cohorts.append(cohort)

    def _link_queue(self, queue: ClusterQueue) -> None:
        spec = queue.spec
        queue.parent = None
        queue.inactivity = None
        if spec is None:
            return
        is_in_cycle = self._is_in_cycle(spec.cohort)
        queue.inactivity = self._why_inactive(spec, is_in_cycle)
        if spec.cohort and not is_in_cycle:
            queue.parent = self._cohorts[spec.cohort]
            queue.parent.child_queues.append(queue)
            if queue.is_active:
                queue.parent.active_queues.append(queue)


def root_of(node: QuotaNode) -> QuotaNode:
    """Return the top of the tree that a node belongs to."""
    while node.parent is not None:
        node = node.parent
    return node
