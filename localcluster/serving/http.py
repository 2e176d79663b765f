"""The HTTP side of a cluster: reads requests, asks faults, authentication and authorization, and writes answers.

All decisions are made elsewhere; here is only what has to wait: bodies, versions that are still to come, watches.
"""

import asyncio
import logging
from email.utils import formatdate
from functools import lru_cache
from urllib.parse import parse_qs, unquote

import orjson
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from localcluster.kinds.api_errors import (
    ApiError,
    entity_too_large,
    expired,
    internal,
    method_not_allowed,
    no_such_path,
    too_large_version,
)
from localcluster.serving.auth import Attributes, TokenUser, Users, refuse_if_forbidden
from localcluster.serving.discovery import DiscoveryDocuments
from localcluster.serving.faults import (
    Drop,
    Effect,
    Faults,
    Gone,
    HalfOpen,
    Latency,
    RawAnswer,
    StaleList,
    Strikable,
    refusal,
)
from localcluster.serving.handlers import Handlers
from localcluster.serving.lists import needed_revision, parse_revision
from localcluster.serving.openapi import OpenApi
from localcluster.serving.options import ListOptions, list_options, text
from localcluster.serving.representation import JSON, View, negotiated
from localcluster.serving.requests import Reply, ServerRequest, reply_to
from localcluster.serving.routes import ReviewTarget, Routes, RouteTarget, attributes_of, verb_of
from localcluster.serving.streams import send_watch
from localcluster.serving.tables import include_object
from localcluster.serving.traffic import Traffic
from localcluster.serving.watch import Watches, WatchView
from localcluster.store.ledger import Change, Collection
from localcluster.store.store import Store

BODY_LIMIT = 3 * 1024 * 1024
_FRESHNESS_SECONDS = 3.0
_HEALTH = ("/healthz", "/livez", "/readyz")
_PROGRAMMING_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What an object of unforeseen shape can provoke; the client gets a 500 and the log the traceback."""

_log = logging.getLogger(__name__)


class ApiServer:
    """Answers the requests of one cluster."""

    def __init__(self, store: Store, users: Users, faults: Faults, *, watch_buffer: int) -> None:
        self.faults = faults
        self.traffic = Traffic()
        self.is_silent = False
        """While true nothing is answered, as on the far side of a partition."""
        kinds = tuple(collection.kind for collection in store.ledger.collections.values())
        self._store = store
        self._users = users
        self._handlers = Handlers(store, users)
        self._routes = Routes(store.ledger.collections.values())
        self.discovery = DiscoveryDocuments(kinds)
        self._openapi = OpenApi(kinds)
        self.watches = Watches(store.ledger.collections, store.clock, lambda: store.ledger.revision, watch_buffer)

    def protocol_factory(self) -> web.Server:
        """Return what a listening socket needs."""
        return web.Server(
            self.handle,
            request_factory=_make_request,
            handler_cancellation=True,
            access_log=None,
            max_line_size=64 * 1024,
            max_field_size=64 * 1024,
        )

    async def handle(self, raw: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        try:
            return await self._answer(raw)
        except ApiError as error:
            return self._respond(reply_to(error))
        except web.HTTPRequestEntityTooLarge:
            return self._respond(reply_to(entity_too_large(BODY_LIMIT)))
        except _PROGRAMMING_ERRORS as error:
            _log.exception("request.failed %s %s", raw.method, raw.path)
            return self._respond(reply_to(internal(f"{type(error).__name__}: {error}")))

    async def _answer(self, raw: web.BaseRequest) -> web.StreamResponse:
        path, _, query_text = raw.raw_path.partition("?")
        path = unquote(path) if "%" in path else path
        if self.is_silent:
            await _forever()
        if path in _HEALTH:
            return self._respond(Reply(b"ok", content_type="text/plain; charset=utf-8"))
        user = self._users.authenticate(raw.headers.get("Authorization", ""))
        query = parse_qs(query_text, keep_blank_values=True) if query_text else {}
        request = ServerRequest(
            raw.method,
            path,
            query,
            await _read_body(raw),
            raw.headers.get("Content-Type", ""),
            raw.headers.get("User-Agent", ""),
        )
        target = self._routes.find(path)
        if target is None:
            return await self._answer_document(raw, request, user)
        if isinstance(target, ReviewTarget):
            if self.faults:
                await self._strike(raw, Strikable(path, "create", target.review.plural))
            return self._respond(self._review(target, request, user))
        verb = verb_of(raw.method, target, query)
        self.traffic.note(request.user_agent, verb, target.collection.kind.plural, target.subresource)
        refuse_if_forbidden(user, attributes_of(verb, target))
        effects = await self._strike(raw, _strikable(path, verb, target)) if self.faults else []
        view = self._view(raw, request)
        if verb == "watch":
            return await self._watch(raw, target, request, view, effects)
        return self._respond(await self._serve(verb, target, request, view, effects))

    # Verbs

    async def _serve(
        self, verb: str, target: RouteTarget, request: ServerRequest, view: View, effects: list[Effect]
    ) -> Reply:
        match verb:
            case "get":
                await self._reach(_asked_revision(request))
                return self._handlers.get(target, view)
            case "list":
                return await self._list(target, request, view, effects)
            case "create":
                return self._handlers.create(target, request, view)
            case "update":
                return self._handlers.update(target, request, view)
            case "patch":
                return self._handlers.patch(target, request, view)
            case "delete":
                return self._handlers.delete(target, request, view)
            case _:
                return self._handlers.delete_collection(target, request, view)

    async def _list(self, target: RouteTarget, request: ServerRequest, view: View, effects: list[Effect]) -> Reply:
        options = list_options(target.collection.kind, request.query)
        current = self._store.ledger.revision
        for effect in effects:
            if isinstance(effect, Gone):
                raise expired("The resourceVersion for the provided list is too old.")
            if isinstance(effect, StaleList):
                stale = ListOptions(options.selector, resource_version=str(effect.revision), match="Exact")
                return self._handlers.list(target, stale, view, current)
        await self._reach(needed_revision(options))
        return self._handlers.list(target, options, view, self._store.ledger.revision)

    async def _watch(
        self, raw: web.BaseRequest, target: RouteTarget, request: ServerRequest, view: View, effects: list[Effect]
    ) -> web.StreamResponse:
        collection = target.collection
        options = list_options(collection.kind, request.query, target.name)
        if options.resource_version and not options.resource_version.isdecimal():
            asked = options.resource_version
            why = f'Invalid value: "{asked}": strconv.ParseUint: parsing "{asked}": invalid syntax'
            raise ApiError(500, "", f"resourceVersion: {why}")
        lines = WatchView(collection.kind, view.representation, view.include, self._store.clock.now)
        failure = await self._watch_failure(options, effects)
        watcher = self.watches.open(collection, target.namespace, options, lines, failure)
        try:
            return await send_watch(raw, watcher, self._headers(view.representation.media_type), effects)
        finally:
            self.watches.close(watcher)

    async def _watch_failure(self, options: ListOptions, effects: list[Effect]) -> ApiError | None:
        """Return what makes the watch impossible; the protocol tells it in the stream's first event."""
        if any(isinstance(effect, Gone) for effect in effects):
            return expired(f"too old resource version: {options.resource_version} ({self._store.ledger.revision})")
        try:
            await self._reach(needed_revision(options))
        except ApiError as error:
            return error
        return None

    def _review(self, target: ReviewTarget, request: ServerRequest, user: TokenUser) -> Reply:
        if request.method != "POST":
            raise method_not_allowed()
        self.traffic.note(request.user_agent, "create", target.review.plural)
        refuse_if_forbidden(user, Attributes("create", target.review.group, target.review.plural))
        return self._handlers.review(target.review, request, user)

    async def _answer_document(
        self, raw: web.BaseRequest, request: ServerRequest, user: TokenUser
    ) -> web.StreamResponse:
        self.traffic.note(request.user_agent, raw.method.lower(), "")
        refuse_if_forbidden(user, Attributes(raw.method.lower(), path=request.path))
        if self.faults:
            await self._strike(raw, Strikable(request.path))
        if request.path.rstrip("/") == "/openapi/v3" or request.path.startswith("/openapi/v3/"):
            body = self._openapi.find(request.path)
            found = (body, JSON) if body is not None else None
        else:
            document = self.discovery.find(request.path, raw.headers.get("Accept", ""))
            found = (orjson.dumps(document[0]), document[1]) if document is not None else None
        if found is None:
            raise no_such_path()
        if raw.method != "GET":
            raise method_not_allowed()
        return self._respond(Reply(found[0], content_type=found[1]))

    # Waiting

    async def _reach(self, revision: int) -> None:
        """Wait a little for a revision that is still to come, as the real server's cache does."""
        ledger = self._store.ledger
        if revision <= ledger.revision:
            return
        waited = asyncio.Event()

        def notice(_collection: Collection, _change: Change) -> None:
            if revision <= ledger.revision:
                waited.set()

        stop_listening = ledger.listen(notice)
        timer = self._store.clock.call_later(_FRESHNESS_SECONDS, waited.set)
        try:
            await waited.wait()
        finally:
            stop_listening()
            timer.cancel()
        if revision > ledger.revision:
            raise too_large_version(revision, ledger.revision)

    async def _strike(self, raw: web.BaseRequest, struck: Strikable) -> list[Effect]:
        """Suffer the faults that strike before an answer; return those that shape it."""
        left: list[Effect] = []
        for effect in self.faults.striking(struck):
            error = refusal(effect)
            if error is not None:
                raise error
            if isinstance(effect, Latency):
                await self._pass(effect.seconds)
            elif isinstance(effect, RawAnswer):
                _say(raw, effect.content)
                await _forever()
            elif isinstance(effect, Drop) and (struck.verb != "watch" or not effect.after_chunks):
                _abort(raw)
                await _forever()
            elif isinstance(effect, HalfOpen) and (struck.verb != "watch" or not effect.after_chunks):
                await _forever()
            else:
                left.append(effect)
        return left

    async def _pass(self, seconds: float) -> None:
        passed = asyncio.Event()
        timer = self._store.clock.call_later(seconds, passed.set)
        try:
            await passed.wait()
        finally:
            timer.cancel()

    # Writing

    def _view(self, raw: web.BaseRequest, request: ServerRequest) -> View:
        representation = negotiated(raw.headers.get("Accept", ""))
        return View(representation, include_object(text(request.query, "includeObject")), self._store.clock.now())

    def _headers(self, content_type: str) -> CIMultiDict[str]:
        return CIMultiDict(
            {
                "Content-Type": content_type,
                "Cache-Control": "no-cache, private",
                "Date": _http_date(int(self._store.clock.now().timestamp())),
            }
        )

    def _respond(self, reply: Reply) -> web.Response:
        headers = self._headers(reply.content_type)
        for warning in reply.warnings:
            headers.add("Warning", f"299 - {orjson.dumps(warning).decode()}")
        if reply.retry_after is not None:
            headers["Retry-After"] = str(reply.retry_after)
        return web.Response(body=reply.body, status=reply.status, headers=headers)


@lru_cache(maxsize=4)
def _http_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


def _make_request(
    message: RawRequestMessage,
    payload: StreamReader,
    protocol: RequestHandler,
    writer: AbstractStreamWriter,
    task: "asyncio.Task[None]",
) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)


async def _read_body(raw: web.BaseRequest) -> bytes:
    if not raw.can_read_body:
        return b""
    if (raw.content_length or 0) > BODY_LIMIT:
        raise entity_too_large(BODY_LIMIT)
    return await raw.read()


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def _say(raw: web.BaseRequest, content: bytes) -> None:
    if raw.transport is not None:
        raw.transport.write(content)
        raw.transport.close()


def _abort(raw: web.BaseRequest) -> None:
    if raw.transport is not None:
        raw.transport.abort()


def _asked_revision(request: ServerRequest) -> int:
    asked = text(request.query, "resourceVersion")
    return parse_revision(asked) if asked else 0


def _strikable(path: str, verb: str, target: RouteTarget) -> Strikable:
    plural = target.collection.kind.plural
    return Strikable(path, verb, plural, target.namespace or "", target.name, target.subresource)
