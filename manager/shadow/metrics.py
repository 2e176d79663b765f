"""What is counted in shadow mode."""

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from config.api.identifiers import WorkerName
from gates.shadow.hindsight import Episode, news
from manager.clusters.worker import WorkerLink
from manager.metrics.catalogue import WORKER_RESTARTS
from manager.metrics.families import Family, MetricType
from manager.shadow.episode_log import EpisodeLog

_CLUSTER: Final = ("cluster",)
STARTS: Final = Family(
    "turnstile_shadow_starts_total",
    MetricType.COUNTER,
    "Shadow mode: replicas that were allowed to preempt; `gated` is false if there was no gate.",
    ("cluster", "gated"),
)
BREACHES: Final = Family(
    "turnstile_shadow_breaches_total",
    MetricType.COUNTER,
    "Shadow mode: times that two clusters were allowed to preempt for one Workload within one timeout.",
    ("gated",),
)
VICTIMS: Final = Family(
    "turnstile_shadow_victims_total", MetricType.COUNTER, "Shadow mode: Workloads that were preempted.", _CLUSTER
)
FORECASTS: Final = Family(
    "turnstile_shadow_forecasts_total",
    MetricType.COUNTER,
    "Shadow mode: verified forecasts, by result as in `turnstile_forecasts_total`.",
    ("cluster", "result"),
)
SPARED_VICTIMS: Final = Family(
    "turnstile_shadow_spared_victims",
    MetricType.GAUGE,
    "Shadow mode: Workloads that a policy would have spared, of the episodes that are kept.",
    ("policy",),
)
SPARED_POD_SECONDS: Final = Family(
    "turnstile_shadow_spared_pod_seconds",
    MetricType.GAUGE,
    "Shadow mode: pods times running time that a policy would have spared.",
    ("policy",),
)
SHADOW_CATALOGUE: Final = (STARTS, BREACHES, VICTIMS, FORECASTS, SPARED_VICTIMS, SPARED_POD_SECONDS)


class ShadowMetrics:
    """The counters of one shadow."""

    def __init__(self, episodes: EpisodeLog, links: Mapping[WorkerName, WorkerLink]) -> None:
        self.registry = CollectorRegistry()
        self._starts = STARTS.counter(self.registry)
        self._breaches = BREACHES.counter(self.registry)
        self._victims = VICTIMS.counter(self.registry)
        self._forecasts = FORECASTS.counter(self.registry)
        self.registry.register(_Spared(episodes))
        self.registry.register(_Restarts(links))

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


class _Restarts(Collector):
    """Reads the connections when it is collected."""

    def __init__(self, links: Mapping[WorkerName, WorkerLink]) -> None:
        self._links = links

    def collect(self) -> Iterator[Metric]:
        """Yield how often following each worker failed."""
        restarts = WORKER_RESTARTS.read()
        for name, link in sorted(self._links.items()):
            restarts.add(link.failures, name)
        yield restarts.collected


class _Spared(Collector):
    """Reads the episodes when it is collected."""

    def __init__(self, episodes: EpisodeLog) -> None:
        self._episodes = episodes

    def collect(self) -> Iterator[Metric]:
        """Yield what each policy would have spared."""
        victims, pod_seconds = SPARED_VICTIMS.read(), SPARED_POD_SECONDS.read()
        for each in self._episodes.tally().policies:
            victims.add(float(each.spared.victims), each.policy)
            pod_seconds.add(float(each.spared.pod_seconds), each.policy)
        yield victims.collected
        yield pod_seconds.collected
