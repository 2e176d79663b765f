"""What the cost controller counts, by cluster, in a registry of its own."""

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry

from manager.metrics.families import Family, MetricType


class Origin(StrEnum):
    """Where an invalid value came from."""

    ANNOTATION = "annotation"
    MODEL = "model"


_CLUSTER: Final = ("cluster",)
UPDATES: Final = Family("turnstile_cost_updates_total", MetricType.COUNTER, "Costs written on Jobs.", _CLUSTER)
ERRORS: Final = Family(
    "turnstile_cost_reconcile_errors_total",
    MetricType.COUNTER,
    "Failed reconciliations of a Job by the cost controller.",
    _CLUSTER,
)
INVALID: Final = Family(
    "turnstile_cost_invalid_values_total",
    MetricType.COUNTER,
    "Invalid costs, by origin: annotation, model.",
    ("cluster", "origin"),
)
IGNORED: Final = Family(
    "turnstile_cost_ignored_by_worker",
    MetricType.GAUGE,
    "1 if the cluster's Kueue does not copy costs to Workloads, and so ignores them.",
    _CLUSTER,
)
RESTARTS: Final = Family(
    "turnstile_cost_restarts_total",
    MetricType.COUNTER,
    "Restarts of a cluster's cost controller after a failure caused by what the cluster sent.",
    _CLUSTER,
)
COST_CATALOGUE: Final = (UPDATES, ERRORS, INVALID, IGNORED, RESTARTS)


class CostMetrics:
    """The counters of all clusters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._updates = UPDATES.counter(self.registry)
        self._errors = ERRORS.counter(self.registry)
        self._invalid = INVALID.counter(self.registry)
        self._ignored = IGNORED.gauge(self.registry)
        self._restarts = RESTARTS.counter(self.registry)

    def begin(self, cluster: str) -> None:
        """Show a cluster with zeros before anything happened there."""
        self._updates.labels(cluster)
        self._errors.labels(cluster)
        self._restarts.labels(cluster)
        for origin in Origin:
            self._invalid.labels(cluster, origin)

    def count_update(self, cluster: str) -> None:
        """Count a cost that was written."""
        self._updates.labels(cluster).inc()

    def count_error(self, cluster: str) -> None:
        """Count a failed reconcile."""
        self._errors.labels(cluster).inc()

    def count_invalid(self, cluster: str, origin: Origin) -> None:
        """Count an invalid value."""
        self._invalid.labels(cluster, origin).inc()

    def count_restart(self, cluster: str) -> None:
        """Count a failure of the whole controller."""
        self._restarts.labels(cluster).inc()

    def show_ignored(self, cluster: str, *, is_ignored: bool) -> None:
        """Show whether a cluster's Kueue takes account of costs."""
        self._ignored.labels(cluster).set(int(is_ignored))

    def value(self, name: str, **labels: str) -> float:
        """Return the value of a metric; 0 if it was never touched."""
        return self.registry.get_sample_value(name, labels) or 0.0
