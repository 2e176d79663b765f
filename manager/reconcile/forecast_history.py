"""How often the forecasts of each worker were right, as far as this process has seen."""

from collections import deque
from typing import Final

from config.api.identifiers import WorkerName
from config.sections.sections import ForecastSection
from config.sections.settings import Configuration
from engine.forecasting.verification import ForecastResult
from gates.decision.reliability import is_reliable
from gates.model.forecasts import ForecastRecord
from manager.logging.logs import get_log

_KEPT_PER_WORKER: Final = 4
"""How many times the window of results is remembered, because not all results are counted."""


class ForecastHistory:
    """The last results of forecasts by worker."""

    def __init__(self, section: ForecastSection) -> None:
        self._section = section
        self._results: dict[WorkerName, deque[ForecastResult]] = {}
        self._pod_results: dict[WorkerName, deque[ForecastResult]] = {}

    def reconfigure(self, configuration: Configuration) -> None:
        """Judge forecasts by another configuration; the results so far are kept."""
        self._section = configuration.forecast
        size = self._section.hit_rate_window * _KEPT_PER_WORKER
        self._results = _resized(self._results, size)
        self._pod_results = _resized(self._pod_results, size)

    def is_reliable(self, worker: WorkerName) -> bool:
        """Tell whether the forecasts for a worker may be used."""
        results = self._results.get(worker, ())
        return is_reliable(tuple(results), self._section.minimum_hit_rate, self._section.hit_rate_window)

    def results(self, worker: WorkerName) -> tuple[ForecastResult, ...]:
        """Return the last results for a worker, oldest first."""
        return tuple(self._results.get(worker, ()))

    def pod_results(self, worker: WorkerName) -> tuple[ForecastResult, ...]:
        """Return the last results of outlooks for the pods on a worker, oldest first."""
        return tuple(self._pod_results.get(worker, ()))

    def note_record(self, record: ForecastRecord) -> None:
        """Take a record that was written, and its result if it has one."""
        if record.result is ForecastResult.PENDING:
            return
        size = self._section.hit_rate_window * _KEPT_PER_WORKER
        if record.pods is not None and record.pods.verified_ns is not None:
            # The quota was counted when it was judged, which is always before its pods are.
            self._pod_results.setdefault(record.cluster, deque(maxlen=size)).append(record.pods.result)
            return
        was_reliable = self.is_reliable(record.cluster)
        self._results.setdefault(record.cluster, deque(maxlen=size)).append(record.result)
        if was_reliable != self.is_reliable(record.cluster):
            state = "unreliable" if was_reliable else "reliable"
            get_log().warning("forecasts.judged", worker=record.cluster, forecast=state)


def _resized(kept: dict[WorkerName, deque[ForecastResult]], size: int) -> dict[WorkerName, deque[ForecastResult]]:
    return {worker: deque(results, maxlen=size) for worker, results in kept.items()}
