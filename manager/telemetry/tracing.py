"""Sends one trace for each Workload to an OpenTelemetry collector, from a thread of the library's own.

The loop only puts finished spans into a bounded queue. A collector that is slow or away costs spans and a warning.
"""

import logging
import threading
from typing import TYPE_CHECKING, Final

from manager.errors import StartupError
from manager.logs import current_cause, get_log
from manager.reconciler import Deed
from manager.telemetry.spans import Span, is_end, root_id, root_span, spans_of, trace_id
from workerclient.kind import Key

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

    def note_deed(self, deed: Deed) -> None:
        """Tell of something that was done."""
        for span in spans_of(deed):
            self._send(deed, span)
        if is_end(deed):
            self._send(deed, root_span(deed.look.group, deed.ended_ns), is_root=True)

    def close(self) -> None:
        """Send what is waiting, but not for longer than a few seconds; what a collector does not take then is lost."""
        ending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(_CLOSE_SECONDS)

    def _send(self, deed: Deed, span: Span, *, is_root: bool = False) -> None:
        workload = deed.look.group.workload
        context = None if is_root else self._ids.inside(trace_id(workload.uid), root_id(workload.uid))
        if is_root:
            self._ids.begin(trace_id(workload.uid), root_id(workload.uid))
        attributes = {
            "workload": str(Key(workload.namespace, workload.name)),
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
