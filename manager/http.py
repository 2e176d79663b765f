"""Health, readiness and metrics over HTTP, for probes and Prometheus. Nothing here changes anything, or holds a secret.

Healthy means that the loop answers. Ready means that the hub can be read: a lost worker or a standby is no reason to
take the daemon out of service.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from config.sections import Http
from manager.errors import StartupError


class Board:
    """What is shown; until something is put on it, the process is healthy and not ready."""

    def __init__(self) -> None:
        self.addresses: tuple[str, ...] = ()
        """Where it is shown."""
        self._registries: tuple[CollectorRegistry, ...] = ()
        self._unready: Callable[[], str] = lambda: "starting"

    def show(self, registries: Iterable[CollectorRegistry], unready: Callable[[], str]) -> None:
        """Show these metrics, and ready unless `unready` returns a reason."""
        self._registries = tuple(registries)
        self._unready = unready

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


@asynccontextmanager
async def served(settings: Http) -> AsyncIterator[Board]:
    """Answer during the enclosed block; raises `StartupError` if the port cannot be had."""
    board = Board()
    application = web.Application()
    routes = {"/healthz": board.health, "/readyz": board.readiness, "/metrics": board.metrics}
    application.add_routes([web.get(path, handler) for path, handler in routes.items()])
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, settings.bind_address, settings.port).start()
        except OSError as error:
            place = f"{settings.bind_address}:{settings.port}"
            raise StartupError(f"http.port: {place} cannot be listened on: {error.strerror or error}") from error
        board.addresses = tuple(f"{address[0]}:{address[1]}" for address in runner.addresses)
        yield board
    finally:
        await runner.cleanup()
