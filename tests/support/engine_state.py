"""A cluster model reduced to plain data, so that tests can compare two of them, or one before and after."""

from typing import Any

from engine.cluster.cluster_queue import ClusterQueue
from engine.cluster.model import ClusterModel
from engine.quota.quota_tree import QuotaNode


def fingerprint(model: ClusterModel, *, with_generations: bool = True) -> dict[str, Any]:
    """Return everything that can influence an answer; generations tell history, so they are left out on demand."""
    return {
        "queues": {queue.name: _queue(queue, with_generations) for queue in model.forest.queues()},
        "cohorts": {cohort.name: (cohort.height, _node(cohort)) for cohort in model.cohorts()},
        "workloads": sorted((workload.key, type(workload).__name__) for workload in model.workloads()),
    }


def _queue(queue: ClusterQueue, with_generations: bool) -> Any:
    order = [
        (workload.key, repr(workload.usage), workload.order, workload.queue_time_ns) for workload in queue.candidates
    ]
    return queue.inactivity, queue.generation if with_generations else None, order, _node(queue)


def _node(node: QuotaNode) -> Any:
    parent = node.parent.name if node.parent is not None else None
    cells = {
        repr(fr): (cell.nominal, cell.subtree_quota, cell.local_quota, cell.borrowing_limit, cell.usage, cell.potential)
        for fr, cell in node.cells.items()
        if cell.is_known or cell.usage
    }
    return parent, node.weight, dict(sorted(cells.items()))
