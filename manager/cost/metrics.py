"""What the cost controller counts, by cluster, in a registry of its own."""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge


class Origin(StrEnum):
    """Where a value that makes no sense came from."""

    ANNOTATION = "annotation"
    MODEL = "model"


class CostMetrics:
    """The counters of all clusters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        cluster = ("cluster",)
        self._updates = self._counter("turnstile_cost_updates", "Costs written on Jobs.", cluster)
        self._errors = self._counter("turnstile_cost_reconcile_errors", "Looks at a Job that failed.", cluster)
        self._invalid = self._counter(
            "turnstile_cost_invalid_values", "Costs that were no cost, by where they came from.", ("cluster", "origin")
        )
        self._ignored = Gauge(
            "turnstile_cost_ignored_by_worker",
            "1 where Kueue does not copy costs to Workloads, and so takes no account of them.",
            cluster,
            registry=self.registry,
        )

    def begin(self, cluster: str) -> None:
        """Show a cluster with zeros before anything happened there."""
        self._updates.labels(cluster)
        self._errors.labels(cluster)
        for origin in Origin:
            self._invalid.labels(cluster, origin)

    def count_update(self, cluster: str) -> None:
        """Count a cost that was written."""
        self._updates.labels(cluster).inc()

    def count_error(self, cluster: str) -> None:
        """Count a look that failed."""
        self._errors.labels(cluster).inc()

    def count_invalid(self, cluster: str, origin: Origin) -> None:
        """Count a value that made no sense."""
        self._invalid.labels(cluster, origin).inc()

    def show_ignored(self, cluster: str, *, is_ignored: bool) -> None:
        """Show whether a cluster's Kueue takes account of costs."""
        self._ignored.labels(cluster).set(int(is_ignored))

    def value(self, name: str, **labels: str) -> float:
        """Return what a metric stands at; 0 if it was never touched."""
        return self.registry.get_sample_value(name, labels) or 0.0

    def _counter(self, name: str, meaning: str, labels: tuple[str, ...]) -> Counter:
        return Counter(name, meaning, labels, registry=self.registry)
