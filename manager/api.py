"""The daemon's local socket: answers the `turnstile` commands on this machine, read-only.

Only who may open the socket may ask, which is the user that the daemon runs as. A socket that cannot be made costs the
commands and a warning, nothing else.
"""

import asyncio
from pathlib import Path

from aiohttp import web

from manager.answers import api_routes
from manager.inspection import Inspector
from manager.logs import get_log


async def serve_api(path: Path, inspector: Inspector) -> None:
    """Answer on a socket until cancelled."""
    application = web.Application()
    application.add_routes(api_routes(inspector))
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await asyncio.to_thread(path.unlink, missing_ok=True)  # left by a process that was killed
        await web.UnixSite(runner, str(path)).start()
        await asyncio.to_thread(path.chmod, 0o600)
        await asyncio.Event().wait()
    except OSError as error:
        get_log().warning("api.unavailable", path=str(path), error=error.strerror or str(error))
    finally:
        await runner.cleanup()
