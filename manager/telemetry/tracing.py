"""Sends one trace for each Workload to an OpenTelemetry collector, from a thread of the library's own.

The loop only puts finished spans into a bounded queue. If the collector is slow or
down, spans are dropped and a warning is logged.
"""

import logging
import threading
from typing import TYPE_CHECKING, Final

from manager.base.errors import StartupError
from manager.logging.logs import current_cause, get_log
from manager.reconcile.reconciliation import ExecutedAction
from manager.telemetry.spans import Span, is_end, root_id, root_span, spans_of, trace_id

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_CLOSE_SECONDS: Final = 2.0


class Traces:
    """Listens to a reconciler. Raises `StartupError` if the library is not there."""

    def __init__(self, endpoint: str, instance: str) -> None:
        try:
            from manager.telemetry.otlp import Ids, Sending, provider
        except ImportError as error:
            raise StartupError(
                "tracing.endpoint: traces need OpenTelemetry; install it with "
                f"`pip install 'multikueue-turnstile[tracing]'`, or remove the setting ({error})"
            ) from error
        _listen_to_library()
        self._ids = Ids()
        self._provider: TracerProvider = provider(endpoint, instance, self._ids, Sending())
        self._tracer = self._provider.get_tracer("turnstile")

    def note_executed(self, executed: ExecutedAction) -> None:
        """Record the span of an executed action."""
        for span in spans_of(executed):
            self._send(executed, span)
        if is_end(executed):
            self._send(executed, root_span(executed.reconciliation.group, executed.ended_ns), is_root=True)

    def close(self) -> None:
        """Send what is waiting, but not for longer than a few seconds; what a collector does not take then is lost."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(_CLOSE_SECONDS)

    def _send(self, executed: ExecutedAction, span: Span, *, is_root: bool = False) -> None:
        workload = executed.reconciliation.group.workload
        context = None if is_root else self._ids.inside(trace_id(workload.uid), root_id(workload.uid))
        if is_root:
            self._ids.begin(trace_id(workload.uid), root_id(workload.uid))
        attributes = {
            "workload": str(workload.key),
            "workload.uid": workload.uid,
            "cause": current_cause(),
            **{name: value for name, value in span.attributes.items() if value},
        }
        made = self._tracer.start_span(span.name, context, attributes=attributes, start_time=span.began_ns)
        made.end(span.ended_ns)


class _Passing(logging.Handler):
    """Passes what the library says on to our log."""

    def emit(self, record: logging.LogRecord) -> None:
        get_log().warning("trace.trouble", problem=record.getMessage())


def _listen_to_library() -> None:
    logger = logging.getLogger("opentelemetry")
    logger.propagate = False
    logger.handlers = [_Passing(logging.WARNING)]
