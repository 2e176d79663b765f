"""Health, readiness, metrics and the read-only API of the daemon over HTTP. Nothing here holds a secret.

Healthy means that the loop answers. Ready means that the hub can be read: a lost worker or a standby is no reason to
take the daemon out of service. Both are open to every client that can connect; everything else requires authorization.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from manager.page.assets import page_routes
from manager.serving.authorization import AuthorizationResult, Authorizer
from manager.serving.permits import PERMIT

if TYPE_CHECKING:
    from manager.serving.limited_listener import LimitedListener

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_REFUSALS: Final = {
    AuthorizationResult.UNKNOWN: (401, "a valid bearer token is required"),
    AuthorizationResult.FORBIDDEN: (403, "this token does not permit get on this path"),
    AuthorizationResult.UNSURE: (503, "the token cannot be checked now"),
}
_LARGEST_FIELD: Final = 8190
_MOST_FIELDS: Final = 64
_QUIET: Final = logging.getLogger("turnstile.http")
_QUIET.disabled = True  # what clients send must not fill the log


class HttpApp:
    """What is shown; until something is put on it, the process is healthy and not ready."""

    def __init__(self, *, page: bool = False) -> None:
        self._page = page
        self.authorizer: Authorizer | None = None
        """Decides about every request; None leaves the metrics open to all."""
        self.listeners: list[LimitedListener] = []
        self._registries: tuple[CollectorRegistry, ...] = ()
        self._unready: Callable[[], str] = lambda: "starting"
        self._routes: tuple[web.RouteDef, ...] = ()
        self._runners: list[web.AppRunner] = []

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return where requests are accepted."""
        return tuple(listener.address for listener in self.listeners)

    async def show(
        self, registries: Iterable[CollectorRegistry], unready: Callable[[], str], routes: Iterable[web.RouteDef] = ()
    ) -> None:
        """Show these metrics, and ready unless `unready` returns a reason; to authorized readers also these routes."""
        self._registries = tuple(registries)
        self._unready = unready
        self._routes = tuple(routes)
        if self.listeners:
            self.listeners[0].answering = await self.answering()

    async def health(self, _request: web.Request) -> web.Response:
        """Answer a liveness probe."""
        return web.Response(text="ok\n")

    async def readiness(self, _request: web.Request) -> web.Response:
        """Answer a readiness probe."""
        reason = self._unready()
        return web.Response(text=f"{reason}\n", status=503) if reason else web.Response(text="ok\n")

    async def metrics(self, _request: web.Request) -> web.Response:
        """Answer Prometheus."""
        body = b"".join(generate_latest(registry) for registry in self._registries)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def answering(self, *, probes_only: bool = False) -> Callable[[], asyncio.Protocol]:
        """Return what makes the answering side of a connection."""
        application = web.Application()
        application.on_response_prepare.append(_close_after)
        routes = [_get("/healthz", self.health), _get("/readyz", self.readiness)]
        if not probes_only:
            routes.append(_get("/metrics", self._authorized(self.metrics)))
        if not probes_only and self.authorizer is not None:
            routes += [
                web.RouteDef(each.method, each.path, self._authorized(each.handler), {}) for each in self._routes
            ]
            routes += page_routes() if self._page else []
        elif not probes_only:
            routes.append(web.RouteDef("*", "/v1/{question:.*}", _only_on_the_socket, {}))
        application.add_routes(routes)
        runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            handler_cancellation=True,  # the client is gone
            logger=_QUIET,
            max_line_size=_LARGEST_FIELD,
            max_field_size=_LARGEST_FIELD,
            max_headers=_MOST_FIELDS,
            lingering_time=0,
        )
        await runner.setup()
        self._runners.append(runner)
        if runner.server is None:
            raise TypeError("a runner that is set up has a server")
        return runner.server

    async def close(self) -> None:
        """End what answers."""
        for runner in self._runners:
            await runner.cleanup()

    def _authorized(self, handler: Handler) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            if self.authorizer is None:
                return await handler(request)
            permit = _HttpPermit(self, request)
            result = await permit.review()
            if result is AuthorizationResult.ALLOWED:
                request[PERMIT] = permit
                return await handler(request)
            status, words = _REFUSALS[result]
            headers = {"WWW-Authenticate": "Bearer"} if result is AuthorizationResult.UNKNOWN else {}
            return web.json_response({"error": words}, status=status, headers=headers)

        return answer


class _HttpPermit:
    """The right of one request to be answered."""

    def __init__(self, app: HttpApp, request: web.Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        self._token = token.strip() if scheme.lower() == "bearer" else ""
        self._app = app
        self._request = request

    async def review(self) -> AuthorizationResult:
        """Decide about the request, by the rules that hold now."""
        authorizer = self._app.authorizer
        if authorizer is None:
            return AuthorizationResult.FORBIDDEN
        return await authorizer.authorize(self._token, self._request.path)

    async def holds(self) -> bool:
        """Tell whether the right has not been taken back; a hub that cannot be asked takes nothing back."""
        return await self.review() in (AuthorizationResult.ALLOWED, AuthorizationResult.UNSURE)

    def stay(self, seconds: float) -> None:
        """Let the connection last for longer than a short request may."""
        for listener in self._app.listeners:
            listener.keep(self._request.transport, seconds)


async def _only_on_the_socket(_request: web.Request) -> web.Response:
    """Refuse a question: without authorization only the local socket answers them."""
    problem = "this daemon answers no questions over HTTP: http.authorization is None"
    remedy = "set it in the daemon's configuration, or ask on the daemon's machine with --socket"
    return web.json_response({"error": f"{problem}; {remedy}"}, status=404)


def _get(path: str, handler: Handler) -> web.RouteDef:
    return web.get(path, handler, allow_head=False)


async def _close_after(_request: web.Request, response: web.StreamResponse) -> None:
    response.force_close()
    response.headers["Connection"] = "close"
    response.headers["Server"] = "turnstile"  # does not disclose versions
