"""What the cost controller counts, by cluster, in a registry of its own."""

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry

from manager.telemetry.families import Family, Kind


class Origin(StrEnum):
    """Where a value that makes no sense came from."""

    ANNOTATION = "annotation"
    MODEL = "model"


_CLUSTER: Final = ("cluster",)
UPDATES: Final = Family("turnstile_cost_updates_total", Kind.COUNTER, "Costs written on Jobs.", _CLUSTER)
ERRORS: Final = Family(
    "turnstile_cost_reconcile_errors_total",
    Kind.COUNTER,
    "Looks of the cost controller at a Job that failed.",
    _CLUSTER,
)
INVALID: Final = Family(
    "turnstile_cost_invalid_values_total",
    Kind.COUNTER,
    "Costs that were no cost, by where they came from: annotation, model.",
    ("cluster", "origin"),
)
IGNORED: Final = Family(
    "turnstile_cost_ignored_by_worker",
    Kind.GAUGE,
    "1 where Kueue does not copy costs to Workloads, and so takes no account of them.",
    _CLUSTER,
)
COST_CATALOGUE: Final = (UPDATES, ERRORS, INVALID, IGNORED)


class CostMetrics:
    """The counters of all clusters of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._updates = UPDATES.counter(self.registry)
        self._errors = ERRORS.counter(self.registry)
        self._invalid = INVALID.counter(self.registry)
        self._ignored = IGNORED.gauge(self.registry)

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
