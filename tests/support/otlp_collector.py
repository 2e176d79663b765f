"""A small OTLP/HTTP collector: keeps the spans that it is sent."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)


@dataclass(frozen=True)
class Received:
    """One span."""

    name: str
    trace: bytes
    span: bytes
    parent: bytes
    began_ns: int
    ended_ns: int
    attributes: dict[str, str]


@dataclass
class Collector:
    """What was sent so far, and where to."""

    address: str = ""
    spans: list[Received] = field(default_factory=list)
    status: int = 200
    """What it answers."""

    @property
    def endpoint(self) -> str:
        return f"{self.address}/v1/traces"

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if self.status != 200:
            return web.Response(status=self.status)
        if body[:2] == b"\x1f\x8b":
            body = gzip.decompress(body)
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    attributes = {each.key: each.value.string_value for each in span.attributes}
                    times = (span.start_time_unix_nano, span.end_time_unix_nano)
                    ids = (span.trace_id, span.span_id, span.parent_span_id)
                    self.spans.append(Received(span.name, *ids, *times, attributes))
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """Listen on loopback."""
    collector = Collector()
    application = web.Application()
    application.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        collector.address = "http://{}:{}".format(*runner.addresses[0][:2])
        yield collector
    finally:
        await runner.cleanup()
