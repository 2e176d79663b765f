"""Counts and logs what is tried again after a failure."""

from prometheus_client import CollectorRegistry

from manager.base.retrying import RetriedOperation
from manager.logging.logs import get_log
from manager.metrics import catalogue
from workerclient.base.backoff import Retry


class RetryMetrics:
    """The retries of one process; may be called from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._retries = catalogue.RETRIES.counter(self.registry)
        for operation in RetriedOperation:
            self._retries.labels(operation)  # an increase can only be seen from a zero

    def note(self, retry: Retry) -> None:
        """Record a retry."""
        self._retries.labels(retry.operation).inc()
        get_log().debug(
            "operation.retried",
            operation=retry.operation,
            subject=retry.subject,
            failures=retry.failures,
            retry_seconds=round(retry.seconds, 3),
            error="" if retry.error is None else str(retry.error) or type(retry.error).__name__,
        )
