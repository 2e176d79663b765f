"""The paths under which the daemon answers the `turnstile` commands: the same on its socket and on an address.

Every answer has `now`, the daemon's time, because ages mean nothing beside another clock. An error is
`{"error": "one sentence"}`. Each class of requests is limited, so that the daemon's own work goes on
under any load; a rejected client is told when to try again (429). Lists come in pages: an answer with `continue` is not
the end, and that text, given back, leads to the next page.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from typing import Final

import orjson
from aiohttp import web

from config.api.meta import Obj, ObjectKey
from manager.journal.timelines import Before
from manager.logging.redaction import visible
from manager.planning.api import answer_plan
from manager.process.worker_thread import WorkerThread
from manager.serving.inspection import Inspector
from manager.serving.pages import PAGE, ListPage, PageRequest
from manager.serving.questions import RETRY_AFTER_SECONDS, QuestionSlots, TooManyQuestionsError

_JsonHandler = Callable[[web.Request], Awaitable[web.Response]]

_LONGEST_PLACE: Final = 1024


class BadQuestionError(ValueError):
    """A parameter that cannot be used; the message names it and what is allowed."""


def api_routes(inspector: Inspector) -> list[web.RouteDef]:
    """Return what answers questions; nothing here changes anything."""
    pages = inspector.pages
    lists: dict[str, Callable[[PageRequest], Awaitable[ListPage]]] = {
        "workers": inspector.worker_page,
        "workloads": pages.workloads,
        "gates": pages.gates,
        "forecasts": pages.forecasts,
    }

    async def listing(request: web.Request) -> web.Response:
        subject = request.match_info["subject"]
        if subject not in lists:
            return _unknown(f"there is no list of {subject}")
        page = await lists[subject](_asked(request))
        place = f"{page.last.namespace}/{page.last.name}" if page.last is not None else ""
        return answer({"now": inspector.now(), subject: page.items, "continue": place})

    async def overview(request: web.Request) -> web.Response:
        return answer({"now": inspector.now(), **await inspector.overview(_namespace(request))})

    async def shadow(_request: web.Request) -> web.Response:
        report = inspector.shadow()
        if report is None:
            return _unknown("this daemon does not run in shadow mode; start one with `turnstile run --shadow`")
        now = inspector.now()
        return await _thought(inspector.thread, lambda: {"now": now, **report()})

    async def explanation(request: web.Request) -> web.Response:
        key = _key(request)
        found = await inspector.explain(key)
        return _no_workload(key) if found is None else answer({"now": inspector.now(), **found})

    async def timeline(request: web.Request) -> web.Response:
        key = _key(request)
        found = await inspector.timeline(key, _before(request))
        if not found["events"]:
            return _no_workload(key)
        return await _thought(inspector.thread, lambda: {"now": inspector.now(), **found})

    async def job(request: web.Request) -> web.Response:
        return answer({"workloads": await pages.workloads_of_job(request.match_info["kind"], _key(request))})

    async def plan(request: web.Request) -> web.Response:
        found, status = await answer_plan(inspector.planner, await request.read())
        return await _thought(inspector.planner.thread, lambda: found, status)

    turns = inspector.questions
    return [
        web.post("/v1/plan", _in_turn(turns.plans, plan)),
        web.get("/v1/overview", _in_turn(turns.lists, overview)),
        web.get("/v1/shadow", _in_turn(turns.lists, shadow)),
        web.get("/v1/{subject}", _in_turn(turns.lists, listing)),
        web.get("/v1/workloads/{namespace}/{name}/explanation", _in_turn(turns.lists, explanation)),
        web.get("/v1/workloads/{namespace}/{name}/timeline", _in_turn(turns.timelines, timeline)),
        web.get("/v1/jobs/{kind}/{namespace}/{name}", _in_turn(turns.lists, job)),
    ]


def _in_turn(turns: QuestionSlots, handler: _JsonHandler) -> _JsonHandler:
    @wraps(handler)
    async def respond(request: web.Request) -> web.Response:
        try:
            await request.read()  # a slow client holds no slot meanwhile
            async with turns.take():
                return await handler(request)
        except TooManyQuestionsError as error:
            response = answer({"error": str(error)}, HTTPStatus.TOO_MANY_REQUESTS)
            response.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
            return response
        except web.HTTPRequestEntityTooLarge as error:
            return answer({"error": f"the manifest is too large: {error.text}"}, HTTPStatus.BAD_REQUEST)
        except BadQuestionError as error:
            return answer({"error": str(error)}, HTTPStatus.BAD_REQUEST)

    return respond


def answer(document: object, status: int = 200) -> web.Response:
    """Answer with a document; it is to be small, for it is made printable and written on the loop."""
    return _response(_encoded(document), status)


async def _thought(thread: WorkerThread, document: Callable[[], Obj], status: int = 200) -> web.Response:
    """Answer with a document that may be large."""
    return _response(await thread.run(lambda _: _encoded(document())), status)


def _encoded(document: object) -> bytes:
    return orjson.dumps(visible(document))


def _response(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _no_workload(key: ObjectKey) -> web.Response:
    return _unknown(f"there is no Workload {key} on the hub")


def _unknown(sentence: str) -> web.Response:
    return answer({"error": sentence}, 404)


def _namespace(request: web.Request) -> str | None:
    return request.query.get("namespace") or None


def _asked(request: web.Request) -> PageRequest:
    limit, place = request.query.get("limit") or str(PAGE), request.query.get("continue") or ""
    if not limit.isascii() or not limit.isdecimal() or not 1 <= len(limit) <= 9 or not 1 <= int(limit) <= PAGE:
        raise BadQuestionError(f"limit {limit[:64]!r} is not allowed: must be a number from 1 to {PAGE}")
    namespace, slash, name = place.partition("/")
    if len(place) > _LONGEST_PLACE or bool(place) != bool(slash):
        raise BadQuestionError(f"continue {place[:64]!r} is not allowed: must be what an answer said")
    return PageRequest(_namespace(request), ObjectKey(namespace, name) if place else None, int(limit))


def _before(request: web.Request) -> Before | None:
    place = request.query.get("continue") or ""
    try:
        return Before.parse(place[:_LONGEST_PLACE]) if place else None
    except ValueError as error:
        raise BadQuestionError(str(error)) from None


def _key(request: web.Request) -> ObjectKey:
    return ObjectKey(request.match_info["namespace"], request.match_info["name"])
