"""`POST /v1/plan`: a manifest in, its plan out. Reads only."""

from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web

from gates.jobs.reading import ManifestFieldError
from manager.planning.hubside import PlanError
from manager.planning.planner import Planner
from workerclient.errors import ClusterError

Obj = dict[str, Any]


async def answer_plan(planner: Planner, request: web.Request) -> tuple[Obj, int]:
    """Return the answer and its status; the application's own limit bounds the size of a manifest."""
    try:
        question = _question(await request.read())
        namespace, pod_set = str(question.get("namespace") or "default"), question.get("podSet")
        return await planner.plan(question["manifest"], namespace, str(pod_set) if pod_set else None), HTTPStatus.OK
    except web.HTTPRequestEntityTooLarge as error:
        return {"error": f"the manifest is too large: {error.text}"}, HTTPStatus.UNPROCESSABLE_ENTITY
    except (ManifestFieldError, PlanError) as error:
        return {"error": str(error)}, HTTPStatus.UNPROCESSABLE_ENTITY
    except ClusterError as error:
        return {"error": f"the hub cannot be asked: {error}"}, HTTPStatus.SERVICE_UNAVAILABLE


def _question(body: bytes) -> Obj:
    try:
        question = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ManifestFieldError("the request is not JSON") from None
    if not isinstance(question, dict) or "manifest" not in question:
        raise ManifestFieldError("the request is not a map with `manifest`")
    return question
