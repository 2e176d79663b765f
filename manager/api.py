"""The daemon's local socket: answers the `turnstile` commands on this machine, read-only.

Only who may open the socket may ask, which is the user that the daemon runs as. A socket that cannot be made costs the
commands and a warning, nothing else.
"""

import asyncio
from pathlib import Path

import orjson
from aiohttp import web

from manager.inspection import Inspector
from manager.logs import get_log
from manager.redaction import visible
from workerclient.kind import Key


async def serve_api(path: Path, inspector: Inspector) -> None:
    """Answer on a socket until cancelled."""
    runner = web.AppRunner(_application(inspector), access_log=None)
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


def api_routes(inspector: Inspector) -> list[web.RouteDef]:
    """Return the paths and what answers them, for the socket and for readers over HTTP."""

    async def workers(_request: web.Request) -> web.Response:
        return _answer({"workers": inspector.workers()})

    async def workloads(_request: web.Request) -> web.Response:
        return _answer({"workloads": inspector.workloads()})

    async def explanation(request: web.Request) -> web.Response:
        key = Key(request.match_info["namespace"], request.match_info["name"])
        found = inspector.explain(key)
        if found is None:
            return _answer({"error": f"there is no Workload {key} on the hub"}, 404)
        return _answer(found)

    return [
        web.get("/v1/workers", workers),
        web.get("/v1/workloads", workloads),
        web.get("/v1/workloads/{namespace}/{name}/explanation", explanation),
    ]


def _application(inspector: Inspector) -> web.Application:
    application = web.Application()
    application.add_routes(api_routes(inspector))
    return application


def _answer(document: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(visible(document)), status=status, content_type="application/json")
