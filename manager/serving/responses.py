"""How questions are answered: as JSON, in turn, and with one sentence where they cannot be."""

from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus

import orjson
from aiohttp import web

from config.api.meta import Obj, ObjectKey
from manager.logging.redaction import visible
from manager.process.worker_thread import WorkerThread
from manager.serving.parameters import BadQuestionError
from manager.serving.questions import RETRY_AFTER_SECONDS, QuestionSlots, TooManyQuestionsError

JsonHandler = Callable[[web.Request], Awaitable[web.Response]]


def in_turn(turns: QuestionSlots, handler: JsonHandler) -> JsonHandler:
    """Let a handler answer within the limits of its class of questions."""

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


async def thought(thread: WorkerThread, document: Callable[[], Obj], status: int = 200) -> web.Response:
    """Answer with a document that may be large."""
    return _response(await thread.run(lambda _: _encoded(document())), status)


def _encoded(document: object) -> bytes:
    return orjson.dumps(visible(document))


def _response(body: bytes, status: int) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def no_workload(key: ObjectKey) -> web.Response:
    """Answer that the hub does not have a Workload."""
    return unknown(f"there is no Workload {key} on the hub")


def unknown(sentence: str) -> web.Response:
    """Answer that there is nothing under this path."""
    return answer({"error": sentence}, 404)
