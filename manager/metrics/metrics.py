"""What the daemon counts. Each daemon has a registry of its own, so that several can live in one process."""

from collections.abc import Callable, Collection
from enum import StrEnum

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from config.api.identifiers import WorkerName
from engine.forecasting.verification import ForecastResult
from gates.diagnosis.auditing import Invariant, OpeningReason
from gates.model.forecasts import ForecastRecord
from manager.metrics import catalogue

_CLUSTER = "cluster"


class Role(StrEnum):
    """The part that this instance plays, as Kueue names it."""

    LEADER = "leader"
    STANDALONE = "standalone"


class Metrics:
    """The counters of one daemon."""

    def __init__(self, role: Role, workers: Callable[[], Collection[WorkerName]] = frozenset) -> None:
        """Count; `workers` are those whose series are shown."""
        self.registry = registry = CollectorRegistry()
        registry.register(_Housekeeper(self, workers))  # before the others, because they are collected in this order
        self._role = role
        self._dispatched = catalogue.DISPATCHED.counter(registry)
        self._admitted = catalogue.ADMITTED.counter(registry)
        self._rejected = catalogue.REJECTED.counter(registry)
        self._openings = catalogue.OPENINGS.counter(registry)
        self._signal_to_open = catalogue.SIGNAL_TO_OPEN.histogram(registry)
        self._open_to_admission = catalogue.OPEN_TO_ADMISSION.histogram(registry)
        self._violations = catalogue.VIOLATIONS.counter(registry)
        self._verdicts = catalogue.VERDICTS.counter(registry)
        self._forecasts = catalogue.FORECASTS.counter(registry)
        self._pod_forecasts = catalogue.POD_FORECASTS.counter(registry)
        self._victims_forecast = catalogue.VICTIMS_FORECAST.counter(registry)
        self._victims_observed = catalogue.VICTIMS_OBSERVED.counter(registry)
        self._failures = catalogue.ACTION_FAILURES.counter(registry)
        self._reconciles = catalogue.RECONCILE_SECONDS.histogram(registry)
        self._errors = catalogue.RECONCILE_ERRORS.counter(registry)
        self._decision_loops = catalogue.DECISION_LOOPS.counter(registry)
        self._contended = catalogue.CONTENDED.counter(registry)
        self._by_cluster = (
            *(self._dispatched, self._admitted, self._openings, self._signal_to_open, self._open_to_admission),
            *(self._verdicts, self._forecasts, self._victims_forecast, self._victims_observed, self._failures),
            self._pod_forecasts,
        )
        self._clusters: set[str] = set()
        for invariant in Invariant:
            self._violations.labels(invariant)  # an increase can only be seen from a zero

    # --- Workloads

    def count_dispatched(self, cluster_queue: str, cluster: WorkerName) -> None:
        """Count a replica that was created."""
        self._dispatched.labels(cluster_queue, self._named(cluster), self._role).inc()

    def count_admitted(self, cluster_queue: str, cluster: WorkerName) -> None:
        """Count a check that became Ready."""
        self._admitted.labels(cluster_queue, self._named(cluster), self._role).inc()

    def count_rejected(self, cluster_queue: str) -> None:
        """Count a check that became Rejected."""
        self._rejected.labels(cluster_queue).inc()

    # --- gates

    def count_opening(self, cluster: WorkerName, reason: OpeningReason) -> None:
        """Count a gate that was opened."""
        self._openings.labels(self._named(cluster), reason).inc()

    def time_signal_to_open(self, cluster: WorkerName, seconds: float) -> None:
        """Observe the time from the preemption signal to the opening."""
        self._signal_to_open.labels(self._named(cluster)).observe(max(0.0, seconds))

    def time_open_to_admission(self, cluster: WorkerName, seconds: float) -> None:
        """Observe the time from the opening to the admission."""
        self._open_to_admission.labels(self._named(cluster)).observe(max(0.0, seconds))

    def count_violation(self, invariant: Invariant) -> None:
        """Count the violation of an invariant."""
        self._violations.labels(invariant).inc()

    # --- forecasts

    def count_verdict(self, record: ForecastRecord) -> None:
        """Count a forecast that a gate was opened on."""
        self._verdicts.labels(self._named(record.cluster), record.forecast.verdict).inc()

    def count_result(self, record: ForecastRecord) -> None:
        """Count a forecast that has an outcome."""
        self._forecasts.labels(self._named(record.cluster), record.result).inc()

    def count_pod_result(self, cluster: WorkerName, result: ForecastResult) -> None:
        """Count a forecast of pods that has an outcome."""
        self._pod_forecasts.labels(self._named(cluster), result).inc()

    def count_victims(self, cluster: WorkerName, forecast: int, observed: int) -> None:
        """Count predicted and observed victims."""
        self._victims_forecast.labels(self._named(cluster)).inc(forecast)
        self._victims_observed.labels(cluster).inc(observed)

    # --- work

    def count_failure(self, cluster: WorkerName) -> None:
        """Count an action on a worker that failed."""
        self._failures.labels(self._named(cluster)).inc()

    def time_reconcile(self, seconds: float, *, failed: bool) -> None:
        """Observe how long a reconcile lasted, and whether it failed."""
        self._reconciles.observe(seconds)
        if failed:
            self._errors.inc()

    def count_decision_loop(self) -> None:
        """Count a Workload that was paused because its decisions formed a loop."""
        self._decision_loops.inc()

    def count_contended(self) -> None:
        """Count a decision that was delayed because its Workload had been acted on too often."""
        self._contended.inc()

    def show_only(self, clusters: Collection[WorkerName]) -> None:
        """Show these workers, with zeros where nothing happened yet, and drop the series of others."""
        for name in clusters:
            self._failures.labels(self._named(name))  # an increase can only be seen from a zero
            for reason in OpeningReason:
                self._openings.labels(name, reason)
        for gone in [name for name in self._clusters if name not in clusters]:
            self._clusters.discard(gone)
            for family in self._by_cluster:
                family.remove_by_labels({_CLUSTER: gone})

    def value(self, name: str, **labels: str) -> float:
        """Return the value of one of Kueue's counters; 0 if it never counted."""
        return self.registry.get_sample_value(name, {**labels, "replica_role": self._role}) or 0.0

    def _named(self, cluster: WorkerName) -> str:
        self._clusters.add(cluster)
        return cluster


class _Housekeeper(Collector):
    """Shows nothing of its own; puts the counters in order before they are shown."""

    def __init__(self, metrics: Metrics, workers: Callable[[], Collection[WorkerName]]) -> None:
        self._metrics = metrics
        self._workers = workers

    def describe(self) -> list[Metric]:
        """Return nothing, so that registration does not collect."""
        return []

    def collect(self) -> list[Metric]:
        """Put the counters in order."""
        self._metrics.show_only(self._workers())
        return []
