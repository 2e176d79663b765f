"""One request and its answer over a pooled connection, with nothing in between that an API server does not need.

Connections, TLS, proxies and the parser of answers are those of aiohttp. Its sessions are left out, because they make a
dozen objects for each request: for redirects, cookies, traces, forms. See `python -m benchmarks worker_client`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ssl import SSLContext
from typing import Final

import aiohttp
from aiohttp.connector import Connection
from aiohttp.http import RawResponseMessage
from yarl import URL

from workerclient.wire.answers import read_body

READ_BUFFER: Final = 1 << 18
HEADERS: Final[Mapping[str, str]] = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "turnstile",
}
NO_TIMEOUTS: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None)

_SENT_AGAIN: Final = frozenset({"GET", "PUT", "DELETE"})
"""The server may have closed a connection that was kept; these do no harm when they are carried out twice."""
_FIRST_FINAL_CODE: Final = 200
_BREAKS: Final = ("\r", "\n", "\0")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a cluster is and how to be sure of it."""

    server: str
    tls: SSLContext
    server_name: str | None = None
    """The name to expect in the certificate, where that differs from the host in `server`."""
    proxy: str | None = None


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer as it came."""

    code: int
    headers: Mapping[str, str]
    body: bytes
    sent_ns: int
    """When the request was handed to the connection."""


class Exchanges:
    """The connections for requests to one endpoint; to be made inside the running loop."""

    def __init__(self, endpoint: Endpoint, connections: int, keep_alive_seconds: float) -> None:
        self._pool = aiohttp.TCPConnector(limit=connections, ssl=endpoint.tls, keepalive_timeout=keep_alive_seconds)
        base = URL(endpoint.server.rstrip("/"), encoded=True)
        proxy = URL(endpoint.proxy) if endpoint.proxy is not None else None
        self._route = aiohttp.ClientRequest(
            "GET", base, headers=HEADERS, proxy=proxy, server_hostname=endpoint.server_name, loop=self._pool._loop
        )
        """What aiohttp's pool wants to know of a request to connect it."""
        is_absolute = proxy is not None and base.scheme == "http"
        self._prefix = str(base) if is_absolute else base.raw_path.rstrip("/")
        fields = {"Host": self._route.headers["Host"], **HEADERS}
        self._fields = "".join(f"{name}: {value}\r\n" for name, value in fields.items())

    @property
    def is_closed(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._pool.closed

    async def close(self) -> None:
        """End all connections."""
        await self._pool.close()

    async def exchange(
        self,
        method: str,
        target: str,
        fields: Mapping[str, str],
        body: bytes,
        *,
        limit: int,
        before_sending: Callable[[], int],
    ) -> HttpAnswer:
        """Return the answer; `before_sending` raises if the request must not be sent, and returns the time."""
        head = self._head(method, target, fields, body)
        may_repeat = method in _SENT_AGAIN
        while True:
            connection = await self._pool.connect(self._route, [], NO_TIMEOUTS)
            try:
                answer = await _converse(connection, head + body, limit, before_sending)
            except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError):
                connection.close()
                if not may_repeat:
                    raise
                may_repeat = False
            except BaseException:
                connection.close()
                raise
            else:
                connection.release()
                return answer

    def _head(self, method: str, target: str, fields: Mapping[str, str], body: bytes) -> bytes:
        own = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if _is_safe(value))
        if proxied := self._route.headers.get("Proxy-Authorization"):
            own += f"Proxy-Authorization: {proxied}\r\n"
        if body:
            own += f"Content-Length: {len(body)}\r\n"
        _is_safe(target)
        return f"{method} {self._prefix}{target} HTTP/1.1\r\n{self._fields}{own}\r\n".encode()


async def _converse(
    connection: Connection, content: bytes, limit: int, before_sending: Callable[[], int]
) -> HttpAnswer:
    protocol = connection.protocol
    transport = connection.transport
    if protocol is None or transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(read_until_eof=True, auto_decompress=False, read_bufsize=READ_BUFFER)
    sent_ns = before_sending()
    transport.write(content)
    message, payload = await _final(protocol)
    return HttpAnswer(message.code, message.headers, await read_body(message.headers, payload, limit), sent_ns)


async def _final(protocol: aiohttp.client_proto.ResponseHandler) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    """Return the answer after those that only announce it."""
    while True:
        message, payload = await protocol.read()
        if message.code >= _FIRST_FINAL_CODE:
            return message, payload


def _is_safe(value: str) -> bool:
    """Refuse what would end a header."""
    if any(each in value for each in _BREAKS):
        raise ValueError("a header must not hold a line break")
    return True
