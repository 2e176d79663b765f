"""What is counted in shadow mode."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from gates.hindsight import Episode, news
from manager.shadow.book import Book


class ShadowMetrics:
    """The counters of one shadow."""

    def __init__(self, book: Book) -> None:
        self.registry = CollectorRegistry()
        self._starts = Counter(
            "turnstile_shadow_starts_total",
            "Copies that were let preempt, by worker; gated is false where there was no gate.",
            ("cluster", "gated"),
            registry=self.registry,
        )
        self._breaches = Counter(
            "turnstile_shadow_breaches_total",
            "Times that two clusters were let preempt for one Workload within one timeout.",
            ("gated",),
            registry=self.registry,
        )
        self._victims = Counter(
            "turnstile_shadow_victims_total", "Workloads preempted, by worker.", ("cluster",), registry=self.registry
        )
        self._forecasts = Counter(
            "turnstile_shadow_forecasts_total",
            "Forecasts held against what happened, by worker and result.",
            ("cluster", "result"),
            registry=self.registry,
        )
        self.registry.register(_Spared(book))

    def note(self, before: Episode | None, after: Episode) -> None:
        """Count what an episode has that it did not have before."""
        found = news(before, after)
        for start in found.starts:
            self._starts.labels(start.cluster, str(start.gated).lower()).inc()
        for start in found.judged:
            self._forecasts.labels(start.cluster, str(start.result)).inc()
        for cluster, count in found.victims:
            self._victims.labels(cluster).inc(count)
        for breach in found.breaches:
            self._breaches.labels(str(breach.gated).lower()).inc()


class _Spared(Collector):
    """Reads the book when it is collected."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def collect(self) -> Iterator[Metric]:
        """Yield what each policy would have spared."""
        victims = GaugeMetricFamily(
            "turnstile_shadow_spared_victims",
            "Workloads that a policy would have spared, of those in the book.",
            labels=["policy"],
        )
        pod_seconds = GaugeMetricFamily(
            "turnstile_shadow_spared_pod_seconds",
            "Pods times running time that a policy would have spared.",
            labels=["policy"],
        )
        for each in self._book.tally().policies:
            victims.add_metric([each.policy], float(each.spared.victims))
            pod_seconds.add_metric([each.policy], float(each.spared.pod_seconds))
        yield victims
        yield pod_seconds
