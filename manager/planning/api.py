"""`POST /v1/plan`: a manifest in, its plan out. Reads only."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web

from gates.jobs.reading import ManifestFieldError
from manager.planning.hubside import PlanError
from manager.planning.planner import Planner
from workerclient.errors import ClusterError


def plan_handler(planner: Planner) -> Callable[[web.Request], Awaitable[web.Response]]:
    """Return what answers requests for plans; the application's own limit bounds the manifest's size."""

    async def plan(request: web.Request) -> web.Response:
        try:
            question = _question(await request.read())
            found = await planner.plan(
                question["manifest"], str(question.get("namespace") or "default"), _pod_set(question)
            )
        except web.HTTPRequestEntityTooLarge as error:
            return _answer({"error": f"the manifest is too large: {error.text}"}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except (ManifestFieldError, PlanError) as error:
            return _answer({"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY)
        except ClusterError as error:
            return _answer({"error": f"the hub cannot be asked: {error}"}, HTTPStatus.SERVICE_UNAVAILABLE)
        return _answer(found)

    return plan


def _question(body: bytes) -> dict[str, Any]:
    try:
        question = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ManifestFieldError("the request is not JSON") from None
    if not isinstance(question, dict) or "manifest" not in question:
        raise ManifestFieldError("the request is not a map with `manifest`")
    return question


def _pod_set(question: dict[str, Any]) -> str | None:
    return str(question["podSet"]) if question.get("podSet") else None


def _answer(document: object, status: int = HTTPStatus.OK) -> web.Response:
    return web.Response(body=orjson.dumps(document), status=status, content_type="application/json")
