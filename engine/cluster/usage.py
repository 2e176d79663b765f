"""How much of their quota the ClusterQueues of one cluster use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from config.api.quantity import UNLIMITED, add
from engine.cluster.cluster_queue import ClusterQueue
from engine.quota.quota_tree import QuotaNode


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """What is granted and used of one resource, in the unit that Kueue counts it in."""

    flavor: str
    """Empty for all flavors together."""
    resource: str
    nominal: int
    used: int

    @property
    def share(self) -> float | None:
        """Return the part that is used; None where nothing, or everything, is granted."""
        return self.used / self.nominal if 0 < self.nominal < UNLIMITED else None


def queue_usage(queue: ClusterQueue) -> Iterator[QuotaUse]:
    """Yield what one ClusterQueue has and uses, ordered by resource and flavor."""
    for fr in sorted(queue.cells, key=lambda each: (each.resource, each.flavor)):
        cell = queue.cells[fr]
        if cell.is_known or cell.usage:
            yield QuotaUse(fr.flavor, fr.resource, cell.nominal, cell.usage)


class UsageSums:
    """Adds up quota and usage by resource, node by node."""

    def __init__(self) -> None:
        self._nominal: dict[str, int] = {}
        self._used: dict[str, int] = {}

    def add_quota(self, node: QuotaNode) -> None:
        """Add what the spec of a ClusterQueue or a Cohort grants."""
        for fr, quota in node.quotas.items():
            self._nominal[fr.resource] = add(self._nominal.get(fr.resource, 0), quota.nominal)

    def add_usage(self, queue: ClusterQueue) -> None:
        """Add what the workloads of a ClusterQueue use."""
        for fr, cell in queue.cells.items():
            if cell.usage:
                self._used[fr.resource] = add(self._used.get(fr.resource, 0), cell.usage)

    def totals(self) -> list[QuotaUse]:
        """Return the sums, ordered by resource."""
        resources: Iterable[str] = sorted({*self._nominal, *self._used})
        return [QuotaUse("", each, self._nominal.get(each, 0), self._used.get(each, 0)) for each in resources]
