"""The OpenTelemetry SDK as far as it is used; importing this needs the extra `tracing`."""

from dataclasses import dataclass

import requests
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags


class Ids(IdGenerator):
    """Gives the next trace the ids that were set; everything else is random."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()
        self._trace: int | None = None
        self._span: int | None = None

    def begin(self, trace_id: int, span_id: int) -> None:
        """Have the next span begin this trace."""
        self._trace, self._span = trace_id, span_id

    def inside(self, trace_id: int, span_id: int) -> Context:
        """Return what makes a span a child of that one."""
        parent = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
        return trace.set_span_in_context(NonRecordingSpan(parent), Context())

    def generate_trace_id(self) -> int:
        """Return the id for a span that has no parent."""
        found, self._trace = self._trace, None
        return found if found is not None else self._random.generate_trace_id()

    def generate_span_id(self) -> int:
        """Return the id for a span."""
        found, self._span = self._span, None
        return found if found is not None else self._random.generate_span_id()


@dataclass(frozen=True, slots=True)
class Sending:
    """How spans are sent."""

    waiting: int = 4096
    """More than so many are not kept for a collector that does not take them."""
    batch: int = 256
    seconds: float = 5.0
    delay_milliseconds: float = 1000.0


def provider(endpoint: str, instance: str, ids: Ids, sending: Sending) -> TracerProvider:
    """Return what makes spans and sends them to the endpoint."""
    session = requests.Session()
    session.trust_env = False  # no proxy of the environment, as everywhere else
    exporter = OTLPSpanExporter(endpoint=endpoint, session=session, timeout=sending.seconds)
    resource = Resource({"service.name": "turnstile", "service.instance.id": instance})
    made = TracerProvider(sampler=ALWAYS_ON, resource=resource, id_generator=ids, shutdown_on_exit=False)
    processor = BatchSpanProcessor(
        exporter,
        max_queue_size=sending.waiting,
        max_export_batch_size=sending.batch,
        schedule_delay_millis=sending.delay_milliseconds,
    )
    made.add_span_processor(processor)
    return made
