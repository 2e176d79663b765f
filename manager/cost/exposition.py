"""The metrics of a cost controller that runs by itself, over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from config.sections import Http
from manager.logs import get_log


@asynccontextmanager
async def exposed(registry: CollectorRegistry, settings: Http) -> AsyncIterator[None]:
    """Serve `/metrics` and `/healthz` during the enclosed block; raises `OSError` if the port is taken."""

    async def metrics(_request: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def health(_request: web.Request) -> web.Response:
        return web.Response(text="ok")

    application = web.Application()
    application.add_routes([web.get("/metrics", metrics), web.get("/healthz", health)])
    runner = web.AppRunner(application, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        site = web.TCPSite(runner, settings.bind_address, settings.port)
        await site.start()
        get_log().info("http.listening", addresses=[f"{address[0]}:{address[1]}" for address in runner.addresses])
        yield
    finally:
        await runner.cleanup()
