"""Metrics of the process rather than of a daemon in it: build, configuration, journal, log, memory, garbage."""

import platform
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from config.api.meta import NANOSECONDS
from config.names import DISTRIBUTION
from manager.logging.logs import suppressed_lines
from manager.metrics import catalogue
from manager.metrics.families import only


class JournalStatus(Protocol):
    """A journal, as far as it is shown."""

    dropped: int
    is_degraded: bool

    @property
    def waiting(self) -> int:
        """Return how many entries wait to be written to the file."""
        ...


class Reloads:
    """Records the result of each reload of the configuration."""

    def __init__(self, registry: CollectorRegistry, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._results = catalogue.RELOADS.counter(registry)
        self._successful = catalogue.RELOAD_SUCCESSFUL.gauge(registry)
        self._time = catalogue.RELOAD_TIME.gauge(registry)
        for result in ("success", "failure"):
            self._results.labels(result)
        self._successful.set(1)
        self._time.set(now_ns() / NANOSECONDS)

    def note(self, succeeded: bool) -> None:
        """Record that a configuration is in effect, or was refused so that the old one stays."""
        self._results.labels("success" if succeeded else "failure").inc()
        self._successful.set(int(succeeded))
        if succeeded:
            self._time.set(self._now_ns() / NANOSECONDS)


class ProcessMetrics:
    """The registry of one process; the journal is None where there is none."""

    def __init__(self, now_ns: Callable[[], int], journal: JournalStatus | None) -> None:
        self.registry = CollectorRegistry()
        self.reloads = Reloads(self.registry, now_ns)
        self.note_hold = catalogue.LOOP_HOLD.histogram(self.registry).observe
        """Takes for how long the event loop was held."""
        catalogue.BUILD_INFO.gauge(self.registry).labels(_version(), platform.python_version()).set(1)
        self.registry.register(_State(journal))
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)


class _State(Collector):
    def __init__(self, journal: JournalStatus | None) -> None:
        self._journal = journal

    def describe(self) -> list[Metric]:
        """Return nothing, so that registration does not collect."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield what is read when it is asked for."""
        yield only(catalogue.LINES_SUPPRESSED, suppressed_lines())
        if self._journal is not None:
            yield only(catalogue.JOURNAL_DROPPED, self._journal.dropped)
            yield only(catalogue.JOURNAL_DEGRADED, self._journal.is_degraded)
            yield only(catalogue.JOURNAL_WAITING, self._journal.waiting)


def _version() -> str:
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "unknown"
