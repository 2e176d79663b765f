"""The page on loopback, for one user: serves its files, and passes questions on to a daemon with the user's rights.

Who may ask has the secret, which is made anew for each server and reaches the browser in the fragment of the address,
so that it is in no log and no header of a navigation. Requests from other origins, and under other names of this host,
are refused before the secret is looked at.
"""

import asyncio
import hmac
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final

import aiohttp
from aiohttp import web

from manager.page.assets import HEADERS, page_routes

LOOPBACK: Final = "127.0.0.1"
_MOST_BYTES: Final = 64 << 10
_PASSED_ON: Final = ("Accept", "Content-Type", "Last-Event-ID")
_PASSED_BACK: Final = ("Content-Type", "Retry-After", "Cache-Control")
_PIECE: Final = 64 << 10
_CONNECT_SECONDS: Final = 10.0

AnyHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class PageTarget:
    """The daemon that is asked: on a socket, or at an address."""

    socket: Path | None = None
    url: str = "http://daemon"
    token: str = field(default="", repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Return where it is, for messages."""
        return str(self.socket) if self.socket is not None else self.url


class LoopbackPage:
    """Shows the page; the daemon behind it may be another one later."""

    def __init__(self, target: PageTarget) -> None:
        self.target = target
        self.secret = secrets.token_urlsafe(32)
        self.port = 0

    @property
    def address(self) -> str:
        """Return what to open; it holds the secret."""
        return f"http://{LOOPBACK}:{self.port}/ui/#k={self.secret}"

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator[None]:
        """Answer during the enclosed block; raises OSError if the port cannot be had."""
        application = web.Application(middlewares=[self._guarded], client_max_size=_MOST_BYTES)
        application.add_routes(page_routes())
        application.add_routes(
            [web.get("/v1/{question:.+}", self._ask, allow_head=False), web.post("/v1/plan", self._ask)]
        )
        runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, LOOPBACK, port)
            await site.start()
            _, self.port = runner.addresses[0][:2]
            yield
        finally:
            await runner.cleanup()

    @web.middleware
    async def _guarded(self, request: web.Request, handler: AnyHandler) -> web.StreamResponse:
        if request.headers.get("Host") not in (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"):
            return _refusal(HTTPStatus.FORBIDDEN, "this server answers only under its own address")
        if request.path.startswith("/v1/"):
            if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
                return _refusal(HTTPStatus.FORBIDDEN, "this server answers no other site")
            scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(secret.encode(), self.secret.encode()):
                return _refusal(HTTPStatus.UNAUTHORIZED, "open the address that `turnstile ui` printed")
        return await handler(request)

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        target = self.target
        connector = aiohttp.UnixConnector(str(target.socket)) if target.socket is not None else None
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        if target.token:
            headers["Authorization"] = f"Bearer {target.token}"
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False) as session:
            try:
                answer = await session.request(
                    request.method,
                    f"{target.url}{request.rel_url}",
                    data=await request.read(),
                    headers=headers,
                    ssl=target.tls if target.tls is not None else True,
                    allow_redirects=False,
                )
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                told = f"no daemon answers on {target.place} ({_reason(error)})"
                return _refusal(HTTPStatus.BAD_GATEWAY, told)
            async with answer:
                return await self._pass_back(request, answer)

    async def _pass_back(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        kept = {name: answer.headers[name] for name in _PASSED_BACK if name in answer.headers}
        response = web.StreamResponse(status=answer.status, headers={**HEADERS, **kept})
        await response.prepare(request)
        try:
            async for piece in answer.content.iter_any():
                for start in range(0, len(piece), _PIECE):
                    await response.write(piece[start : start + _PIECE])
        except (aiohttp.ClientError, ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()  # so that the page sees that something is missing
        return response


def _refusal(status: HTTPStatus, words: str) -> web.Response:
    return web.json_response({"error": words}, status=status, headers=HEADERS)


def _reason(error: Exception) -> str:
    if isinstance(error, asyncio.TimeoutError):
        return "no answer in time"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
