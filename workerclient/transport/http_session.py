"""The HTTP connections to one cluster: HTTP/1.1 over TLS, deadlines, size limits, and the cluster's idea of the time.

Watches have a pool of their own, so that they never take a connection from requests. Redirects are not followed (they
could carry the token elsewhere), cookies are not kept, and proxies that the environment names are ignored.
Invariant: whatever happens on the wire leaves here as a `ClusterError`, and no error holds the token. That includes
unexpected errors: an HTTP library is a parser too, and a malformed header may raise anything in it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from workerclient.base.errors import Fenced, TimedOut, TooLate, Unavailable
from workerclient.transport.session import Answer, Request, SessionContext
from workerclient.wire.answers import media_type, number_in, read_body, told_as_cluster_errors, without_token
from workerclient.wire.exchanges import HEADERS, NO_TIMEOUTS, READ_BUFFER, Endpoint, Exchanges
from workerclient.wire.skew import Skew, SkewEstimator


class HttpSession:
    """The connections to one cluster; to be created and closed inside the running loop."""

    def __init__(self, endpoint: Endpoint, context: SessionContext) -> None:
        self._endpoint = endpoint
        self._context = context
        self._clock = context.clock
        self._limits = context.limits
        self._skew = SkewEstimator()
        self._base = endpoint.server.rstrip("/")
        self._exchanges = Exchanges(endpoint, context.limits.connections, context.limits.keep_alive_seconds)
        self._watches = self._client()
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def skew(self) -> Skew | None:
        """Return how far the cluster's clock is from ours."""
        return self._skew.estimate()

    async def send(self, request: Request, authorization: str | None) -> Answer:
        """Return the answer; raise when there is none in time, none at all, or one that is too large."""
        self._context.refuse_unless_allowed(request)
        self._in_flight += 1
        self._idle.clear()
        try:
            with told_as_cluster_errors(request.operation, authorization):
                try:
                    async with self._clock.timeout(self._context.deadline(request)):
                        return await self._exchange(request, authorization)
                except TimeoutError as error:
                    raise self._timed_out(request, executed=True) from error
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    @asynccontextmanager
    async def stream(self, request: Request, authorization: str | None) -> AsyncIterator["HttpStream"]:
        """Open a watch: the deadline is for its first answer, the caller watches over what comes after."""
        with told_as_cluster_errors(request.operation, authorization):
            try:
                async with self._clock.timeout(self._context.deadline(request)):
                    response = await self._open(request, authorization)
            except TimeoutError as error:
                raise self._timed_out(request) from error
        try:
            yield HttpStream(self, request, response, authorization)
        finally:
            response.close()  # never back into the pool: a watch ends in the middle of its body

    async def close(self, *, drain: bool = False) -> None:
        """End all connections; with `drain` after the requests on their way, which their deadlines bound."""
        if drain:
            await self._idle.wait()
        await self._watches.close()
        await self._exchanges.close()

    async def _exchange(self, request: Request, authorization: str | None) -> Answer:
        if self._exchanges.is_closed:
            raise self._closed(request)
        answer = await self._exchanges.exchange(
            request.method,
            _target(request),
            _fields(request, authorization),
            request.body or b"",
            limit=self._most_bytes(request),
            before_sending=lambda: self._sending(request),
        )
        self._observe_date(answer.headers, answer.sent_ns)
        return _answer(answer.code, answer.headers, without_token(answer.body, authorization))

    def _sending(self, request: Request) -> int:
        """Return the time, or raise if the request must not be sent any more.

        A process can be stopped for any time between a decision and its request, even while the request waits for a
        connection. So permission is asked for again when the bytes are handed to the connection. What remains are the
        instructions between this and the system call; for them every write also carries a precondition that the
        cluster checks.
        """
        if request.is_write and not self._context.may_write():
            raise Fenced(request.operation, "not sent: this instance may no longer write")
        if self._context.is_late(request):
            raise TooLate(request.operation, "not sent, because it would come too late")
        return self._clock.now_ns()

    async def _open(self, request: Request, authorization: str | None) -> aiohttp.ClientResponse:
        if self._watches.closed:
            raise self._closed(request)
        sent_ns = self._clock.now_ns()
        response = await self._watches.get(
            URL(f"{self._base}{_target(request)}", encoded=True),
            headers=_fields(request, authorization),
            allow_redirects=False,
            proxy=self._endpoint.proxy,
            server_hostname=self._endpoint.server_name,
        )
        self._observe_date(response.headers, sent_ns)
        return response

    async def _read_answer(
        self, request: Request, response: aiohttp.ClientResponse, authorization: str | None
    ) -> Answer:
        body = await read_body(response.headers, response.content, self._most_bytes(request))
        return _answer(response.status, response.headers, without_token(body, authorization))

    def _most_bytes(self, request: Request) -> int:
        return min(request.max_bytes or self._limits.max_response_bytes, self._limits.max_response_bytes)

    def _observe_date(self, headers: Mapping[str, str], sent_ns: int) -> None:
        date = headers.get("Date")
        if date is not None:
            self._skew.observe(date, sent_ns, self._clock.now_ns())

    def _closed(self, request: Request) -> Unavailable:
        problem = "the connection was closed, because the address or credentials of the cluster changed"
        return Unavailable(request.operation, problem)

    def _timed_out(self, request: Request, *, executed: bool = False) -> TimedOut:
        return TimedOut(request.operation, f"no answer within {self._context.deadline(request):g} s", executed=executed)

    def _client(self) -> aiohttp.ClientSession:
        """Return what opens watches; they never take a connection from requests."""
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0, ssl=self._endpoint.tls, keepalive_timeout=self._limits.keep_alive_seconds
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=HEADERS,
            timeout=NO_TIMEOUTS,
            trust_env=False,
            read_bufsize=READ_BUFFER,
        )


def _target(request: Request) -> str:
    return f"{request.path}?{urlencode(request.parameters)}" if request.parameters else request.path


def _fields(request: Request, authorization: str | None) -> dict[str, str]:
    fields = {}
    if authorization is not None:
        fields["Authorization"] = authorization
    if request.body is not None:
        fields["Content-Type"] = request.content_type
    return fields


def _answer(code: int, headers: Mapping[str, str], body: bytes) -> Answer:
    return Answer(code, body, media_type(headers), number_in(headers, "Retry-After"))


class HttpStream:
    """The open answer to a watch."""

    def __init__(
        self, session: HttpSession, request: Request, response: aiohttp.ClientResponse, authorization: str | None
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
                async with session._clock.timeout(session._context.deadline(request)):
                    return await session._read_answer(request, self._response, self._authorization)
            except TimeoutError as error:
                raise session._timed_out(request) from error

    async def read(self) -> bytes:
        """Return the bytes that came next, none when the server ended the stream in good order."""
        with told_as_cluster_errors(self._request.operation, self._authorization):
            return await self._response.content.readany()
