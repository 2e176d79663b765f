"""The paths under which the daemon answers the `turnstile` commands: the same on its socket and on an address.

Every answer has `now`, the daemon's time, because ages mean nothing beside another clock. An error is
`{"error": "one sentence"}`.
"""

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from manager.inspection import Inspector
from workerclient.kind import Key

if TYPE_CHECKING:
    from collections.abc import Callable

Obj = dict[str, Any]


def api_routes(inspector: Inspector) -> list[web.RouteDef]:
    """Return what answers questions; nothing here changes anything."""
    lists: dict[str, Callable[[str | None], object]] = {
        "workers": lambda _namespace: inspector.workers(),
        "workloads": inspector.workloads,
        "gates": inspector.gates,
        "forecasts": inspector.forecasts,
    }

    async def listing(request: web.Request) -> web.Response:
        subject = request.match_info["subject"]
        if subject not in lists:
            return _unknown(f"there is no list of {subject}")
        return answer({"now": inspector.now(), subject: lists[subject](_namespace(request))})

    async def overview(request: web.Request) -> web.Response:
        return answer({"now": inspector.now(), **inspector.overview(_namespace(request))})

    async def explanation(request: web.Request) -> web.Response:
        key = _key(request)
        found = inspector.explain(key)
        return _no_workload(key) if found is None else answer({"now": inspector.now(), **found})

    async def timeline(request: web.Request) -> web.Response:
        key = _key(request)
        found: Obj = await asyncio.to_thread(inspector.timeline(key))
        return answer({"now": inspector.now(), **found}) if found["events"] else _no_workload(key)

    async def job(request: web.Request) -> web.Response:
        return answer({"workloads": inspector.workloads_of_job(request.match_info["kind"], _key(request))})

    return [
        web.get("/v1/overview", overview),
        web.get("/v1/{subject}", listing),
        web.get("/v1/workloads/{namespace}/{name}/explanation", explanation),
        web.get("/v1/workloads/{namespace}/{name}/timeline", timeline),
        web.get("/v1/jobs/{kind}/{namespace}/{name}", job),
    ]


def answer(document: object, status: int = 200) -> web.Response:
    """Answer with a document."""
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")


def _no_workload(key: Key) -> web.Response:
    return _unknown(f"there is no Workload {key} on the hub")


def _unknown(sentence: str) -> web.Response:
    return answer({"error": sentence}, 404)


def _namespace(request: web.Request) -> str | None:
    return request.query.get("namespace") or None


def _key(request: web.Request) -> Key:
    return Key(request.match_info["namespace"], request.match_info["name"])
