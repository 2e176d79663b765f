"""Metric families as values: declared once, made from the declaration, and listed in the docs from it."""

from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series per counter, which is not needed


class MetricType(StrEnum):
    """What a family measures."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """A metric: its full name, what it means, and its labels."""

    name: str
    kind: MetricType
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def counter(self, registry: CollectorRegistry) -> Counter:
        """Make what counts."""
        return Counter(self.name, self.meaning, self.labels, registry=registry)

    def gauge(self, registry: CollectorRegistry) -> Gauge:
        """Make what is set."""
        return Gauge(self.name, self.meaning, self.labels, registry=registry)

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        """Make what observes."""
        return Histogram(self.name, self.meaning, self.labels, registry=registry, buckets=self.buckets)

    def read(self) -> "Reading":
        """Start an observation of its current value."""
        if self.kind is MetricType.COUNTER:
            return Reading(self, CounterMetricFamily(self.name, self.meaning, labels=self.labels))
        return Reading(self, GaugeMetricFamily(self.name, self.meaning, labels=self.labels))


@dataclass(frozen=True, slots=True)
class Reading:
    """The samples of one family at one moment."""

    family: Family
    collected: GaugeMetricFamily | CounterMetricFamily

    def add(self, value: float, *labels: str) -> None:
        """Add a sample."""
        self.collected.add_metric(labels, value)


def only(family: Family, value: float) -> GaugeMetricFamily | CounterMetricFamily:
    """Return a family without labels that has a value."""
    reading = family.read()
    reading.add(value)
    return reading.collected
