"""Health, readiness, metrics and what the daemon tells, over HTTP. Nothing here changes anything, or holds a secret.

Healthy means that the loop answers. Ready means that the hub can be read: a lost worker or a standby is no reason to
take the daemon out of service. Both are open to everybody who can connect; the rest is for whom the guard lets.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from manager.guards import Guard, Verdict

if TYPE_CHECKING:
    from manager.door import Door

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_REFUSALS: Final = {
    Verdict.UNKNOWN: (401, "a bearer token is needed that is known here"),
    Verdict.FORBIDDEN: (403, "the bearer of this token may not get this path"),
    Verdict.UNSURE: (503, "the token cannot be checked now"),
}
_LARGEST_FIELD: Final = 8190
_MOST_FIELDS: Final = 64
_QUIET: Final = logging.getLogger("turnstile.http")
_QUIET.disabled = True  # what strangers send must not fill our log


class Board:
    """What is shown; until something is put on it, the process is healthy and not ready."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        """Who decides about readers; None lets everybody read the metrics."""
        self.doors: list[Door] = []
        self._registries: tuple[CollectorRegistry, ...] = ()
        self._unready: Callable[[], str] = lambda: "starting"
        self._told: tuple[web.RouteDef, ...] = ()
        self._runners: list[web.AppRunner] = []

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return where it is shown."""
        return tuple(door.address for door in self.doors)

    async def show(
        self, registries: Iterable[CollectorRegistry], unready: Callable[[], str], told: Iterable[web.RouteDef] = ()
    ) -> None:
        """Show these metrics, and ready unless `unready` returns a reason; to known readers also what is told."""
        self._registries = tuple(registries)
        self._unready = unready
        self._told = tuple(told)
        if self.doors:
            self.doors[0].answering = await self.answering()

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
            routes.append(_get("/metrics", self._guarded(self.metrics)))
        if not probes_only and self.guard is not None:  # others than the daemon's own user must be known
            routes += [web.RouteDef(each.method, each.path, self._guarded(each.handler), {}) for each in self._told]
        application.add_routes(routes)
        runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
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

    def _guarded(self, handler: Handler) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            if self.guard is None:
                return await handler(request)
            scheme, _, token = request.headers.get("Authorization", "").partition(" ")
            verdict = await self.guard.judge(token.strip() if scheme.lower() == "bearer" else "", request.path)
            if verdict is Verdict.ALLOWED:
                return await handler(request)
            status, words = _REFUSALS[verdict]
            headers = {"WWW-Authenticate": "Bearer"} if verdict is Verdict.UNKNOWN else {}
            return web.json_response({"error": words}, status=status, headers=headers)

        return answer


def _get(path: str, handler: Handler) -> web.RouteDef:
    return web.get(path, handler, allow_head=False)


async def _close_after(_request: web.Request, response: web.StreamResponse) -> None:
    response.force_close()
    response.headers["Connection"] = "close"
    response.headers["Server"] = "turnstile"  # which versions it is made of is nobody's business
