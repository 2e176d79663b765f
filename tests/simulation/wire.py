"""The network between processes and clusters, in memory: what a request and its answer meet on their way.

A request can be lost before it is sent, be delivered after its sender gave up, be carried out while its answer is lost,
or get an answer that no API server sends. A watch can be cut, fall silent, or say things twice or in another order.
Servers go on with what was delivered to them, whatever becomes of the client.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from random import Random
from typing import Final
from urllib.parse import unquote

from config.kubeconfig.access import ClusterAccess
from localcluster.kinds.api_errors import ApiError, internal, too_many_requests, unauthorized
from localcluster.serving.requests import Reply, ServerRequest, reply_to
from localcluster.serving.server import ApiServer, OpenedWatch, ServerAnswer, SeveredAnswer
from tests.simulation.loop import PROCESS, context_of
from workerclient.base.errors import ProtocolViolation, TimedOut, TooLarge, Unavailable
from workerclient.transport.session import Answer, Request, SessionContext
from workerclient.wire.skew import Skew, SkewEstimator

AUTHOR: ContextVar[str] = ContextVar("author", default="")
"""Which process sent the request that a server answers now."""
_LONGEST_HELD: Final = 55.0
"""An API server gives up on a request after a minute, so nothing is delivered later than that."""


class WireFault(StrEnum):
    """What is wrong with the way to a cluster while the fault lasts."""

    REFUSED = "connections are refused"
    REQUESTS_LOST = "requests do not arrive"
    REQUESTS_LATE = "requests arrive late"
    ANSWERS_LOST = "answers do not arrive"
    ANSWERS_LATE = "answers arrive late"
    CONFLICTS = "409 for no reason"
    THROTTLED = "429"
    FAILING = "500"
    FAILING_AFTER = "500 for what was carried out"
    UNAUTHENTICATED = "401"
    FORBIDDEN = "403"
    READ_ONLY = "403 for writes"
    GARBAGE = "malformed answers"
    WATCH_DUPLICATED = "events of watches are told twice"
    WATCH_REORDERED = "events of watches change places"
    WATCH_GARBAGE = "malformed events of watches"
    STALE = "lists show an older state"


_SOMETIMES: Final = {
    WireFault.CONFLICTS: 0.5,
    WireFault.THROTTLED: 0.7,
    WireFault.FAILING: 0.7,
    WireFault.FAILING_AFTER: 0.5,
    WireFault.GARBAGE: 0.5,
    WireFault.WATCH_DUPLICATED: 0.5,
    WireFault.WATCH_REORDERED: 0.5,
    WireFault.WATCH_GARBAGE: 0.3,
    WireFault.REQUESTS_LATE: 0.5,
}
_ODD_ANSWERS: Final = (
    Reply(b"<html>try again later</html>", content_type="text/html"),
    Reply(b"{", content_type="application/json"),
    Reply(b'"text"'),
    Reply(b'{"kind":"List","items":7,"metadata":[]}'),
    Reply(b"null"),
    Reply(b"", status=204, content_type=""),
    Reply(b"moved", status=301, content_type="text/plain"),
    Reply(b'{"kind":"Status","status":"Failure","code":"many"}', status=599),
    Reply(b'{"components":"no","metadata":{},"items":[{}]}'),
)
_ODD_EVENTS: Final = (
    b"nonsense\n",
    b'{"type":"MODIFIED","object":{"metadata":{}}}\n',
    b'{"type":"LATER","object":{}}\n',
    b'{"type":"ADDED"}\n',
    b"[]\n",
)


@dataclass(eq=False)
class ClusterEndpoint:
    """A cluster as the network sees it."""

    name: str
    server: ApiServer
    token: str
    expired: set[str] = field(default_factory=set)
    """Tokens that are not good any more."""


@dataclass(eq=False)
class Way:
    """The way of one process to one cluster."""

    process: str
    endpoint: ClusterEndpoint
    chance: Random
    latency: float
    faults: Callable[[], set[WireFault]]

    def has(self, fault: WireFault) -> bool:
        """Tell whether a fault strikes now."""
        return fault in self.faults() and self.chance.random() < _SOMETIMES.get(fault, 1.0)

    def seconds(self) -> float:
        """Return how long something takes on the way."""
        return self.latency * (0.5 + self.chance.random())

    def refusal(self, request: ServerRequest) -> ApiError | None:
        """Return what the server, or something before it, answers without carrying the request out."""
        if self.has(WireFault.UNAUTHENTICATED) or request.authorization.partition(" ")[2] in self.endpoint.expired:
            return unauthorized()
        if self.has(WireFault.FORBIDDEN) or (request.method != "GET" and self.has(WireFault.READ_ONLY)):
            return ApiError(403, "Forbidden", "the role was taken away", details={})
        if self.has(WireFault.THROTTLED):
            return too_many_requests(self.chance.choice((0, 1, 5)))
        if self.has(WireFault.FAILING):
            return internal("etcdserver: request timed out")
        return None


class Network:
    """All ways."""

    def __init__(self, seed: str, latency: float) -> None:
        self._seed = seed
        self._latency = latency
        self._endpoints: dict[str, ClusterEndpoint] = {}
        self._ways: dict[tuple[str, str], Way] = {}
        self._contexts: dict[tuple[str, str], Context] = {}
        self._dead: set[str] = set()
        self._deliveries: dict[asyncio.Task[None], None] = {}
        self.faults: dict[tuple[str, str], list[WireFault]] = {}
        """By process (all if empty) and cluster."""
        self.streams: dict[SimulatedStream, None] = {}
        self.on_sent: list[Callable[[str, str, Request], None]] = []
        """Called with process, cluster and request whenever the bytes of a write leave."""
        self.stale_revision: dict[str, int] = {}
        """Which state lists show while that fault strikes, by cluster."""

    def connect(self, url: str, endpoint: ClusterEndpoint) -> None:
        """Let an address lead to a cluster from now on."""
        self._endpoints[url] = endpoint

    def open_session(self, access: ClusterAccess, context: SessionContext) -> "SimulatedSession":
        """Implements `workerclient.transport.session.SessionFactory`."""
        return SimulatedSession(self, access.server, PROCESS.get(), context)

    def way(self, process: str, url: str) -> Way | None:
        """Return the way to whatever an address leads to now."""
        endpoint = self._endpoints.get(url)
        if endpoint is None:
            return None
        key = (process, endpoint.name)
        if key not in self._ways:
            chance = Random(f"{self._seed}/wire/{process}/{endpoint.name}")
            self._ways[key] = Way(
                process, endpoint, chance, self._latency, partial(self._striking, process, endpoint.name)
            )
        way = self._ways[key]
        way.endpoint = endpoint
        return way

    def kill(self, process: str) -> None:
        """Let nothing more leave a process."""
        self._dead.add(process)

    def is_dead(self, process: str) -> bool:
        """Tell whether a process was killed."""
        return process in self._dead

    def cut_watches(self, cluster: str) -> None:
        """Break the watches of a cluster that are open now."""
        for stream in [each for each in self.streams if each.way.endpoint.name == cluster]:
            stream.cut()

    def mute_watches(self, cluster: str) -> None:
        """Let the watches of a cluster that are open now say nothing more."""
        for stream in [each for each in self.streams if each.way.endpoint.name == cluster]:
            stream.is_muted = True

    def server_context(self, process: str, cluster: str) -> Context:
        """Return the context in which a cluster answers a process."""
        key = (process, cluster)
        if key not in self._contexts:
            self._contexts[key] = context_of(f"server {cluster}")
            self._contexts[key].run(AUTHOR.set, process)
        return self._contexts[key]

    def deliver(self, delivery: "Delivery") -> None:
        """Carry a request to its cluster, whatever becomes of its sender."""
        context = self.server_context(delivery.way.process, delivery.way.endpoint.name)
        task = asyncio.get_running_loop().create_task(delivery.run(), context=context)
        self._deliveries[task] = None
        task.add_done_callback(self._deliveries.pop)

    def _striking(self, process: str, cluster: str) -> set[WireFault]:
        return {*self.faults.get(("", cluster), ()), *self.faults.get((process, cluster), ())}


class SimulatedSession:
    """Implements `workerclient.transport.session.Session`."""

    def __init__(self, network: Network, url: str, process: str, context: SessionContext) -> None:
        self._network = network
        self._url = url
        self._process = process
        self._context = context
        self._skew = SkewEstimator()
        self._is_closed = False
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        return self._skew.estimate()

    async def send(self, request: Request, authorization: str | None) -> Answer:
        """Return the answer."""
        self._context.refuse_unless_allowed(request)
        self._in_flight += 1
        self._idle.clear()
        try:
            async with self._context.clock.timeout(self._context.deadline(request)):
                _, answer = await self._exchange(request, authorization)
        except TimeoutError as error:
            raise TimedOut(request.operation, "no answer in time", executed=True) from error
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
        return self._read(request, answer)

    @asynccontextmanager
    async def stream(self, request: Request, authorization: str | None) -> AsyncIterator["SimulatedStream"]:
        """Open a watch."""
        try:
            async with self._context.clock.timeout(self._context.deadline(request)):
                way, answer = await self._exchange(request, authorization)
        except TimeoutError as error:
            raise TimedOut(request.operation, "no answer in time") from error
        stream = SimulatedStream(self._network, way, request, answer, partial(self._read, request))
        stream.begin()
        try:
            yield stream
        finally:
            stream.close()

    async def close(self, *, drain: bool = False) -> None:
        """End all connections."""
        if drain:
            await self._idle.wait()
        self._is_closed = True

    async def _exchange(self, request: Request, authorization: str | None) -> tuple[Way, ServerAnswer]:
        way = self._network.way(self._process, self._url)
        sent_ns = self._context.clock.now_ns()
        await asyncio.sleep(0.001 if way is None else way.seconds())
        if self._is_closed or self._network.is_dead(self._process):
            raise Unavailable(request.operation, "the connection was closed")
        if way is None or way.has(WireFault.REFUSED):
            raise Unavailable(request.operation, "connection refused")
        if request.is_write or request.method == "DELETE":
            self._context.refuse_unless_allowed(request)
            for notice in self._network.on_sent:
                notice(self._process, way.endpoint.name, request)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ServerAnswer] = loop.create_future()
        delivery = Delivery(way, _carried(request, authorization), self._network, future)
        self._network.deliver(delivery)
        answer = await future
        if isinstance(answer, SeveredAnswer):
            raise Unavailable(request.operation, "connection reset by peer", executed=True)
        self._skew.observe(way.endpoint.server.date(), sent_ns, self._context.clock.now_ns())
        return way, answer

    def _read(self, request: Request, answer: ServerAnswer) -> Answer:
        if not isinstance(answer, Reply):
            raise ProtocolViolation(request.operation, "a watch that was not asked for")
        if len(answer.body) > min(request.max_bytes or 1 << 62, self._context.limits.max_response_bytes):
            raise TooLarge(request.operation, "the answer is too large")
        retry_after = None if answer.retry_after is None else float(answer.retry_after)
        return Answer(answer.status, answer.body, answer.content_type.partition(";")[0], retry_after)


def _carried(request: Request, authorization: str | None) -> ServerRequest:
    query = {name: [value] for name, value in (request.parameters or {}).items()}
    path = unquote(request.path)
    return ServerRequest(
        request.method,
        path,
        query,
        request.body or b"",
        request.content_type,
        "turnstile",
        authorization or "",
        "application/json",
    )


@dataclass(eq=False)
class Delivery:
    """One request on its way, and its answer; it goes on when the client has given up."""

    way: Way
    request: ServerRequest
    network: Network
    future: "asyncio.Future[ServerAnswer]"

    async def run(self) -> None:
        """Carry the request there and the answer back."""
        if not await self._goes_out():
            return
        answer = await self._answered()
        if answer is not None and await self._comes_back() and not self.future.done():
            self.future.set_result(answer)
        elif isinstance(answer, OpenedWatch):
            self.way.endpoint.server.watches.close(answer.stream)

    async def _goes_out(self) -> bool:
        """Return whether it arrives; what was held back arrives when the way is free again, or never."""
        if self.way.has(WireFault.REQUESTS_LATE):
            await asyncio.sleep(self.way.chance.uniform(1.0, _LONGEST_HELD))
        began = asyncio.get_running_loop().time()
        while self.way.has(WireFault.REQUESTS_LOST):
            await asyncio.sleep(1.0)
            if asyncio.get_running_loop().time() - began > _LONGEST_HELD:
                return False
        return began == asyncio.get_running_loop().time() or self.way.chance.random() < 0.5

    async def _answered(self) -> ServerAnswer | None:
        way, server = self.way, self.way.endpoint.server
        refusal = way.refusal(self.request)
        if refusal is not None:
            return reply_to(refusal)
        if self.request.method in ("PATCH", "PUT") and way.has(WireFault.CONFLICTS):
            return reply_to(ApiError(409, "Conflict", "the object has been modified", details={}))
        if way.has(WireFault.STALE) and self.request.method == "GET" and self._is_list():
            revision = self.network.stale_revision.get(way.endpoint.name, 0)
            stale = {"resourceVersion": [str(revision)], "resourceVersionMatch": ["Exact"]}
            answer = await server.answer(
                ServerRequest(
                    "GET", self.request.path, {**self.request.query, **stale}, authorization=self._authorization()
                )
            )
            if isinstance(answer, Reply) and answer.status == 200:
                return answer
        answer = await server.answer(self.request)
        if isinstance(answer, Reply) and way.has(WireFault.FAILING_AFTER):
            return reply_to(internal("the answer of a webhook was lost"))
        if isinstance(answer, Reply) and way.has(WireFault.GARBAGE):
            return way.chance.choice(_ODD_ANSWERS)
        return answer

    def _is_list(self) -> bool:
        return "watch" not in self.request.query and "limit" in self.request.query

    def _authorization(self) -> str:
        return self.request.authorization

    async def _comes_back(self) -> bool:
        await asyncio.sleep(self.way.seconds())
        if self.way.has(WireFault.ANSWERS_LATE):
            await asyncio.sleep(self.way.chance.uniform(0.5, 15.0))
        return not self.way.has(WireFault.ANSWERS_LOST)


class SimulatedStream:
    """Implements `workerclient.transport.session.Stream`."""

    def __init__(
        self,
        network: Network,
        way: Way,
        request: Request,
        answer: ServerAnswer,
        read: Callable[[ServerAnswer], Answer],
    ) -> None:
        self.way = way
        self.is_muted = False
        self._network = network
        self._request = request
        self._answer = answer
        self._read = read
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None

    @property
    def code(self) -> int:
        """Return the HTTP status."""
        return 200 if isinstance(self._answer, OpenedWatch) else self._answered().status

    async def answer(self) -> Answer:
        """Return an answer that turned out not to be a watch."""
        return self._read(self._answer)

    async def read(self) -> bytes:
        """Return the bytes that came next."""
        if not isinstance(self._answer, OpenedWatch):
            body, self._answer = self._answered().body, Reply(b"")
            return body
        chunk = await self._lines.get()
        if chunk is None:
            raise Unavailable(self._request.operation, "connection reset by peer", executed=True)
        return chunk

    def begin(self) -> None:
        """Let the server send."""
        if isinstance(self._answer, OpenedWatch):
            self._network.streams[self] = None
            self._answer.stream.on_cut = self.cut
            context = self._network.server_context(self.way.process, self.way.endpoint.name)
            self._pump = asyncio.get_running_loop().create_task(self._send(self._answer), context=context)

    def cut(self) -> None:
        """Break the connection."""
        self._lines.put_nowait(None)

    def close(self) -> None:
        """Read no more."""
        self._network.streams.pop(self, None)
        if self._pump is not None:
            self._pump.cancel()
        if isinstance(self._answer, OpenedWatch):
            self.way.endpoint.server.watches.close(self._answer.stream)

    def _answered(self) -> Reply:
        assert isinstance(self._answer, Reply)
        return self._answer

    async def _send(self, watch: OpenedWatch) -> None:
        way = self.way
        while (chunk := await watch.stream.next_chunk()) is not None:
            await asyncio.sleep(way.seconds())
            while self.is_muted or way.has(WireFault.ANSWERS_LOST):
                await asyncio.sleep(1.0)
            self._lines.put_nowait(_spoilt(chunk, way))
        self._lines.put_nowait(b"")


def _spoilt(chunk: bytes, way: Way) -> bytes:
    if not way.faults():
        return chunk
    lines = chunk.splitlines(keepends=True)
    if way.has(WireFault.WATCH_DUPLICATED):
        lines.append(way.chance.choice(lines))
    if way.has(WireFault.WATCH_REORDERED) and len(lines) > 1:
        place = way.chance.randrange(len(lines) - 1)
        lines[place], lines[place + 1] = lines[place + 1], lines[place]
    if way.has(WireFault.WATCH_GARBAGE):
        lines.insert(way.chance.randrange(len(lines) + 1), way.chance.choice(_ODD_EVENTS))
    return b"".join(lines)
