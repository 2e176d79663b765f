"""The daemon's local socket: answers the `turnstile` commands on this machine, read-only.

Only the user that the daemon runs as may open it. If the socket cannot be created, commands fail and a warning is
logged; if its path is taken, the daemon exits, because then the configuration is wrong.
"""

import asyncio
import socket
from pathlib import Path

from aiohttp import web

from manager.logging.logs import get_log
from manager.serving.inspection import Inspector
from manager.serving.local_socket import local_socket
from manager.serving.routes import api_routes


async def serve_api(path: Path, inspector: Inspector) -> None:
    """Answer on a socket until cancelled; raises `StartupError` before anything else if its place is taken."""
    try:
        with local_socket(path) as listening:
            await _serve(listening, inspector)
    except OSError as error:
        get_log().warning("api.unavailable", path=str(path), error=error.strerror or str(error))


async def _serve(listening: socket.socket, inspector: Inspector) -> None:
    application = web.Application()
    application.add_routes(api_routes(inspector))
    application.on_shutdown.append(lambda _application: inspector.streams.end())
    runner = web.AppRunner(application, access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
