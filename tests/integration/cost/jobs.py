"""Jobs of a cluster whose costs are kept."""

from tests.integration.cost.world import COST
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, job, workload


def submit(cluster: Cluster, name: str) -> None:
    """Create a Job that was preempted twice."""
    made = cluster.create("jobs", job(name, managed_by=None), "batch", NAMESPACE)
    cluster.create("workloads", workload(name, made), KUEUE, NAMESPACE)
    stats = {"evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 2}]}
    cluster.set_status(name, lambda status: status.update(schedulingStats=stats))


def cost(cluster: Cluster, name: str) -> str | None:
    found: str | None = cluster.get("jobs", name, "batch")["metadata"].get("annotations", {}).get(COST)
    return found
