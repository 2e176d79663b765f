"""`POST /v1/plan`: a manifest in, its plan out. Reads only."""

from http import HTTPStatus

import orjson

from config.api.meta import Obj
from gates.jobs.reading import ManifestFieldError
from manager.planning.errors import PlanError
from manager.planning.planner import Planner
from workerclient.base.errors import ClusterError


async def answer_plan(planner: Planner, body: bytes) -> tuple[Obj, int]:
    """Return the answer to a request, and its status."""
    try:
        question = await planner.thread.run(lambda _: _question(body))
        namespace, pod_set = str(question.get("namespace") or "default"), question.get("podSet")
        return await planner.plan(question["manifest"], namespace, str(pod_set) if pod_set else None), HTTPStatus.OK
    except ManifestFieldError as error:
        return {"error": str(error)}, HTTPStatus.BAD_REQUEST
    except PlanError as error:
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
