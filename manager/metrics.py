"""What the daemon counts. Each daemon has a registry of its own, so that several can live in one process.

The two counters are called and labelled as Kueue's controller calls and labels them: dashboards keep working.
"""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter

_LABELS = ("cluster_queue", "cluster", "replica_role")


class Role(StrEnum):
    """The part that this instance plays, as Kueue names it."""

    LEADER = "leader"
    STANDALONE = "standalone"


class Metrics:
    """The counters of one daemon."""

    def __init__(self, role: Role) -> None:
        self.registry = CollectorRegistry()
        self._role = role
        self._dispatched = Counter(
            "multikueue_workloads_dispatched_total",
            "Replicas created, by the hub's ClusterQueue and by worker.",
            _LABELS,
            registry=self.registry,
        )
        self._admitted = Counter(
            "multikueue_workloads_admitted_total",
            "Workloads whose admission check became Ready, by the hub's ClusterQueue and by worker.",
            _LABELS,
            registry=self.registry,
        )

    def count_dispatched(self, cluster_queue: str, cluster: str) -> None:
        """Count a replica that was created."""
        self._dispatched.labels(cluster_queue, cluster, self._role).inc()

    def count_admitted(self, cluster_queue: str, cluster: str) -> None:
        """Count a check that became Ready."""
        self._admitted.labels(cluster_queue, cluster, self._role).inc()

    def value(self, name: str, **labels: str) -> float:
        """Return what a counter stands at; 0 if it never counted."""
        return self.registry.get_sample_value(name, {**labels, "replica_role": self._role}) or 0.0
