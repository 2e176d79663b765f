"""The HTTP connections to one cluster: HTTP/1.1 over TLS, deadlines, size limits, and the cluster's idea of the time.

Watches have a pool of their own, so that they never take a connection from requests. Redirects are not followed (they
could carry the token elsewhere), cookies are not kept, and proxies that the environment names are ignored.
Invariant: whatever happens on the wire leaves here as a `ClusterError`, and no error holds the token. That includes
unexpected errors: an HTTP library is a parser too, and a malformed header may raise anything in it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ssl import SSLContext
from typing import Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from workerclient.base.clock import Clock
from workerclient.base.errors import Fenced, Operation, TimedOut, TooLate, Unavailable
from workerclient.wire.answers import media_type, number_in, read_body, told_as_cluster_errors, without_token
from workerclient.wire.fencing import ExpiredRequestError, always, fenced_by, sent_unless
from workerclient.wire.skew import Skew, SkewEstimator

_USER_AGENT: Final = "turnstile"
_READ_BUFFER: Final = 1 << 18
_NO_AIOHTTP_TIMEOUTS: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a cluster is and how to be sure of it."""

    server: str
    tls: SSLContext
    server_name: str | None = None
    """The name to expect in the certificate, where that differs from the host in `server`."""
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How much one cluster may take of us."""

    connections: int = 40
    """For requests; watches come on top."""
    keep_alive_seconds: float = 60.0
    request_seconds: float = 10.0
    max_response_bytes: int = 4 << 20
    """More than an API server stores in one object. JSON is parsed in one piece, during which nothing else happens."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request without its credentials."""

    operation: Operation
    method: str
    path: str
    parameters: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = ""
    patience: float = 1.0
    """How many times the usual deadline the cluster gets to answer."""
    stores: bool = True
    """Whether a request with a body changes an object; a review of permissions does not."""
    not_after: float | None = None
    """Until when its bytes may leave, on the steady clock, however long it waited for its turn."""
    max_bytes: int | None = None
    """The largest answer that is taken, where that is less than the session's limit."""

    @property
    def is_write(self) -> bool:
        """Tell whether it may be sent only while this instance may write."""
        return self.body is not None and self.stores


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, read to its end."""

    code: int
    body: bytes
    content_type: str
    retry_after: float | None


class Session:
    """The connections to one cluster; to be created and closed inside the running loop."""

    def __init__(
        self,
        endpoint: Endpoint,
        clock: Clock,
        limits: SessionLimits,
        may_write: Callable[[], bool] = always,
        *,
        reads_only: bool = False,
    ) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._limits = limits
        self._may_write = may_write
        self._reads_only = reads_only
        self._skew = SkewEstimator()
        self._base = endpoint.server.rstrip("/")
        pool = self._pool(limits.connections)
        self._requests = self._client(pool)
        self._writes = self._client(pool, fenced_by(may_write))
        self._watches = self._client(self._pool(0))
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        return self._skew.estimate()

    async def send(self, request: Request, authorization: str | None) -> Answer:
        """Return the answer; raise when there is none in time, none at all, or one that is too large."""
        if self._reads_only and request.method != "GET":
            raise Fenced(request.operation, "not sent, because this instance only reads")
        if request.is_write and not self._may_write():
            raise Fenced(request.operation, "not sent, because this instance does not hold the Lease")
        if self._is_late(request):
            raise TooLate(request.operation, "not sent, because it would come too late")
        self._in_flight += 1
        self._idle.clear()
        try:
            with told_as_cluster_errors(request.operation, authorization):
                try:
                    async with self._clock.timeout(self._deadline(request)):
                        with sent_unless(lambda: self._is_late(request)):
                            return await self._exchange(request, authorization)
                except TimeoutError as error:
                    raise self._timed_out(request, executed=True) from error
                except ExpiredRequestError as error:
                    raise TooLate(request.operation, "not sent, because it would come too late") from error
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    @asynccontextmanager
    async def stream(self, request: Request, authorization: str | None) -> AsyncIterator["Stream"]:
        """Open a watch: the deadline is for its first answer, the caller watches over what comes after."""
        with told_as_cluster_errors(request.operation, authorization):
            try:
                async with self._clock.timeout(self._deadline(request)):
                    response = await self._begin(self._watches, request, authorization)
            except TimeoutError as error:
                raise self._timed_out(request) from error
        try:
            yield Stream(self, request, response, authorization)
        finally:
            response.close()  # never back into the pool: a watch ends in the middle of its body

    async def close(self, *, drain: bool = False) -> None:
        """End all connections; with `drain` after the requests on their way, which their deadlines bound."""
        if drain:
            await self._idle.wait()
        await self._watches.close()
        await self._writes.close()
        await self._requests.close()

    async def _exchange(self, request: Request, authorization: str | None) -> Answer:
        response = await self._begin(self._writes if request.is_write else self._requests, request, authorization)
        async with response:
            return await self._read_answer(request, response, authorization)

    async def _read_answer(
        self, request: Request, response: aiohttp.ClientResponse, authorization: str | None
    ) -> Answer:
        limit = min(request.max_bytes or self._limits.max_response_bytes, self._limits.max_response_bytes)
        body = without_token(await read_body(request.operation, response, limit), authorization)
        return Answer(response.status, body, media_type(response), number_in(response, "Retry-After"))

    async def _begin(
        self, client: aiohttp.ClientSession, request: Request, authorization: str | None
    ) -> aiohttp.ClientResponse:
        if client.closed:
            raise Unavailable(
                request.operation,
                "the connection was closed, because the address or credentials of the cluster changed",
            )
        headers = {}
        if authorization is not None:
            headers["Authorization"] = authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        sent_ns = self._clock.now_ns()
        response = await client.request(
            request.method,
            self._url(request),
            data=request.body,
            headers=headers,
            allow_redirects=False,
            proxy=self._endpoint.proxy,
            server_hostname=self._endpoint.server_name,
        )
        date = response.headers.get("Date")
        if date is not None:
            self._skew.observe(date, sent_ns, self._clock.now_ns())
        return response

    def _is_late(self, request: Request) -> bool:
        return request.not_after is not None and self._clock.monotonic() >= request.not_after

    def _timed_out(self, request: Request, *, executed: bool = False) -> TimedOut:
        return TimedOut(request.operation, f"no answer within {self._deadline(request):g} s", executed=executed)

    def _deadline(self, request: Request) -> float:
        return self._limits.request_seconds * request.patience

    def _url(self, request: Request) -> URL:
        if request.parameters:
            return URL(f"{self._base}{request.path}?{urlencode(request.parameters)}", encoded=True)
        return URL(f"{self._base}{request.path}", encoded=True)

    def _pool(self, connections: int) -> aiohttp.TCPConnector:
        return aiohttp.TCPConnector(
            limit=connections, ssl=self._endpoint.tls, keepalive_timeout=self._limits.keep_alive_seconds
        )

    def _client(
        self, pool: aiohttp.TCPConnector, request_class: type[aiohttp.ClientRequest] = aiohttp.ClientRequest
    ) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=pool,
            request_class=request_class,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": _USER_AGENT},
            timeout=_NO_AIOHTTP_TIMEOUTS,
            trust_env=False,
            read_bufsize=_READ_BUFFER,
        )


class Stream:
    """The open answer to a watch."""

    def __init__(
        self, session: Session, request: Request, response: aiohttp.ClientResponse, authorization: str | None
    ) -> None:
        self._session = session
        self._request = request
        self._response = response
        self._authorization = authorization

    @property
    def code(self) -> int:
        """Return the HTTP status."""
        return self._response.status

    async def answer(self) -> Answer:
        """Read the answer to its end, for one that turned out not to be a watch."""
        session, request = self._session, self._request
        with told_as_cluster_errors(request.operation, self._authorization):
            try:
                async with session._clock.timeout(session._deadline(request)):
                    return await session._read_answer(request, self._response, self._authorization)
            except TimeoutError as error:
                raise session._timed_out(request) from error

    async def read(self) -> bytes:
        """Return the bytes that came next, none when the server ended the stream in good order."""
        with told_as_cluster_errors(self._request.operation, self._authorization):
            return await self._response.content.readany()
