"""The HTTP connections to one cluster: HTTP/1.1 over TLS, deadlines, size limits, and the cluster's idea of the time.

Watches have a pool of their own, so that they never take a connection from requests. Redirects are not followed (they
could carry the token elsewhere), cookies are not kept, and proxies that the environment names are ignored.
Invariant: whatever happens on the wire leaves here as a `ClusterError`, and no error holds the token.
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

from workerclient.clock import Clock
from workerclient.errors import ClusterError, Fenced, Operation, ProtocolViolation, TimedOut, TooLarge, Unavailable
from workerclient.fencing import always, fenced_by
from workerclient.skew import Skew, SkewEstimator

_USER_AGENT: Final = "turnstile"
_READ_BUFFER: Final = 1 << 18
_NO_AIOHTTP_TIMEOUTS: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None)

_WIRE_ERRORS: Final = (aiohttp.ClientError, OSError)


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
    max_response_bytes: int = 32 << 20


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
        self._in_flight += 1
        self._idle.clear()
        try:
            async with self._clock.timeout(self._deadline(request)):
                return await self._exchange(request, authorization)
        except TimeoutError as error:
            waited = f"no answer within {self._deadline(request):g} s"
            raise TimedOut(request.operation, waited, executed=True) from error
        except _WIRE_ERRORS as error:
            raise _wire_error(request.operation, error) from error
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    @asynccontextmanager
    async def stream(self, request: Request, authorization: str | None) -> AsyncIterator["Stream"]:
        """Open a watch: the deadline is for its first answer, the caller watches over what comes after."""
        try:
            async with self._clock.timeout(self._deadline(request)):
                response = await self._begin(self._watches, request, authorization)
        except TimeoutError as error:
            waited = f"no answer within {self._deadline(request):g} s"
            raise TimedOut(request.operation, waited) from error
        except _WIRE_ERRORS as error:
            raise _wire_error(request.operation, error) from error
        try:
            yield Stream(request.operation, response, self._limits)
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
            body = await _read(request.operation, response, self._limits.max_response_bytes)
            return _answer(response, body)

    async def _begin(
        self, client: aiohttp.ClientSession, request: Request, authorization: str | None
    ) -> aiohttp.ClientResponse:
        if client.closed:
            raise Unavailable(request.operation, "the connection was closed, because the access to the cluster changed")
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

    def __init__(self, operation: Operation, response: aiohttp.ClientResponse, limits: SessionLimits) -> None:
        self._operation = operation
        self._response = response
        self._limits = limits

    @property
    def code(self) -> int:
        """Return the HTTP status."""
        return self._response.status

    async def answer(self) -> Answer:
        """Read the answer to its end, for one that turned out not to be a watch."""
        try:
            return _answer(
                self._response, await _read(self._operation, self._response, self._limits.max_response_bytes)
            )
        except _WIRE_ERRORS as error:
            raise _wire_error(self._operation, error) from error

    async def read(self) -> bytes:
        """Return the bytes that came next, none when the server ended the stream in good order."""
        try:
            return await self._response.content.readany()
        except _WIRE_ERRORS as error:
            raise _wire_error(self._operation, error) from error


async def _read(operation: Operation, response: aiohttp.ClientResponse, limit: int) -> bytes:
    if (response.content_length or 0) > limit:
        response.close()
        raise TooLarge(operation, f"the answer has {response.content_length} bytes, the limit is {limit}")
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > limit:
            response.close()
            raise TooLarge(operation, f"the answer has more than {limit} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _answer(response: aiohttp.ClientResponse, body: bytes) -> Answer:
    return Answer(response.status, body, response.content_type, _seconds(response.headers.get("Retry-After")))


def _seconds(header: str | None) -> float | None:
    """Return the seconds of a Retry-After header; Kubernetes never sends its other form, a date."""
    return float(header) if header is not None and header.isascii() and header.isdigit() else None


def _wire_error(operation: Operation, error: Exception) -> ClusterError:
    text = str(error) or type(error).__name__
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorCertificateError):
        return Unavailable(operation, text)
    if isinstance(error, aiohttp.ClientResponseError):
        return ProtocolViolation(operation, f"expected HTTP/1.1, got something else: {text}")
    return Unavailable(operation, text, executed=True)
