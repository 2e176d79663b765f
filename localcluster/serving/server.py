"""Answers the requests of one cluster: asks faults, authentication and authorization, and finds who serves them.

Free of any HTTP library: `localcluster.serving.http` carries requests and answers over sockets, a simulation in memory.
Decisions are made elsewhere; here is what has to wait: versions that are still to come, and the opening of watches.
"""

import asyncio
import logging
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache

import orjson

from localcluster.access.auth import Attributes, TokenUser, Users, refuse_if_forbidden
from localcluster.access.service_accounts import ServiceAccounts
from localcluster.kinds.api_errors import (
    ApiError,
    expired,
    internal,
    method_not_allowed,
    no_such_path,
    too_large_version,
)
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
from localcluster.serving.representation import View, negotiated
from localcluster.serving.requests import Reply, ServerRequest, reply_to
from localcluster.serving.routes import ReviewTarget, Routes, RouteTarget, attributes_of, verb_of
from localcluster.serving.tables import include_object
from localcluster.serving.traffic import Traffic
from localcluster.serving.watch import Watches, WatchStream, WatchView
from localcluster.store.ledger import Change, Collection
from localcluster.store.store import Store

_FRESHNESS_SECONDS = 3.0
_HEALTH = ("/healthz", "/livez", "/readyz")
_PROGRAMMING_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What an object of unforeseen shape can provoke; the client gets a 500 and the log the traceback."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedWatch:
    """A watch that was begun; who reads it closes it."""

    stream: WatchStream
    content_type: str
    effects: tuple[Effect, ...]
    """What befalls it after some of it was sent."""


@dataclass(frozen=True, slots=True)
class SeveredAnswer:
    """The connection ends after these bytes, which need not be HTTP."""

    content: bytes = b""


ServerAnswer = Reply | OpenedWatch | SeveredAnswer


class _SeveredError(Exception):
    """A fault ends the connection."""

    def __init__(self, content: bytes = b"") -> None:
        super().__init__()
        self.content = content


class ApiServer:
    """Answers the requests of one cluster."""

    def __init__(
        self, store: Store, users: Users, accounts: ServiceAccounts, faults: Faults, *, watch_buffer: int
    ) -> None:
        self.faults = faults
        self.traffic = Traffic()
        self.is_silent = False
        """While true nothing is answered, as on the far side of a partition."""
        kinds = tuple(collection.kind for collection in store.ledger.collections.values())
        self._store = store
        self._users = users
        self._handlers = Handlers(store, users, accounts)
        self._routes = Routes(store.ledger.collections.values())
        self.discovery = DiscoveryDocuments(kinds)
        self._openapi = OpenApi(kinds)
        self.watches = Watches(store.ledger.collections, store.clock, lambda: store.ledger.revision, watch_buffer)

    async def answer(self, request: ServerRequest) -> ServerAnswer:
        """Answer one request."""
        try:
            return await self._answer(request)
        except ApiError as error:
            return reply_to(error)
        except _SeveredError as severed:
            return SeveredAnswer(severed.content)
        except _PROGRAMMING_ERRORS as error:
            _log.exception("request.failed %s %s", request.method, request.path)
            return reply_to(internal(f"{type(error).__name__}: {error}"))

    def date(self) -> str:
        """Return the cluster's time as a header tells it."""
        return _http_date(int(self._store.clock.now().timestamp()))

    async def _answer(self, request: ServerRequest) -> ServerAnswer:
        if self.is_silent:
            await _forever()
        if request.path in _HEALTH:
            return Reply(b"ok", content_type="text/plain; charset=utf-8")
        user = self._users.authenticate(request.authorization)
        target = self._routes.find(request.path)
        if target is None:
            return await self._answer_document(request, user)
        if isinstance(target, ReviewTarget):
            if self.faults:
                await self._strike(Strikable(request.path, "create", target.review.plural))
            return self._review(target, request, user)
        verb = verb_of(request.method, target, request.query)
        self.traffic.note(request.user_agent, verb, target.collection.kind.plural, target.subresource)
        refuse_if_forbidden(user, attributes_of(verb, target))
        effects = await self._strike(_strikable(request.path, verb, target)) if self.faults else []
        view = self._view(request)
        if verb == "watch":
            return await self._watch(target, request, view, effects)
        return await self._serve(verb, target, request, view, effects)

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
        self, target: RouteTarget, request: ServerRequest, view: View, effects: list[Effect]
    ) -> OpenedWatch:
        collection = target.collection
        options = list_options(collection.kind, request.query, target.name)
        if options.resource_version and not options.resource_version.isdecimal():
            asked = options.resource_version
            why = f'Invalid value: "{asked}": strconv.ParseUint: parsing "{asked}": invalid syntax'
            raise ApiError(500, "", f"resourceVersion: {why}")
        lines = WatchView(collection.kind, view.representation, view.include, self._store.clock.now)
        failure = await self._watch_failure(options, effects)
        watcher = self.watches.open(collection, target.namespace, options, lines, failure)
        return OpenedWatch(watcher, view.representation.media_type, tuple(effects))

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

    async def _answer_document(self, request: ServerRequest, user: TokenUser) -> Reply:
        self.traffic.note(request.user_agent, request.method.lower(), "")
        refuse_if_forbidden(user, Attributes(request.method.lower(), path=request.path))
        if self.faults:
            await self._strike(Strikable(request.path))
        if request.path.rstrip("/") == "/openapi/v3" or request.path.startswith("/openapi/v3/"):
            found = self._openapi.find(request.path)
        else:
            document = self.discovery.find(request.path, request.accept)
            found = (orjson.dumps(document[0]), document[1]) if document is not None else None
        if found is None:
            raise no_such_path()
        if request.method != "GET":
            raise method_not_allowed()
        return Reply(found[0], content_type=found[1])

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

    async def _strike(self, struck: Strikable) -> list[Effect]:
        """Suffer the faults that strike before an answer; return those that shape it."""
        left: list[Effect] = []
        for effect in self.faults.striking(struck):
            error = refusal(effect)
            if error is not None:
                raise error
            if isinstance(effect, Latency):
                await self._pass(effect.seconds)
            elif isinstance(effect, RawAnswer):
                raise _SeveredError(effect.content)
            elif isinstance(effect, Drop) and (struck.verb != "watch" or not effect.after_chunks):
                raise _SeveredError
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

    def _view(self, request: ServerRequest) -> View:
        representation = negotiated(request.accept)
        return View(representation, include_object(text(request.query, "includeObject")), self._store.clock.now())


@lru_cache(maxsize=4)
def _http_date(seconds: int) -> str:
    return formatdate(seconds, usegmt=True)


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def _asked_revision(request: ServerRequest) -> int:
    asked = text(request.query, "resourceVersion")
    return parse_revision(asked) if asked else 0


def _strikable(path: str, verb: str, target: RouteTarget) -> Strikable:
    plural = target.collection.kind.plural
    return Strikable(path, verb, plural, target.namespace or "", target.name, target.subresource)
