"""Keeps the cache of one kind in step with one cluster: a list, then a watch from where the list ended, for ever.

A watch that the cluster ends in good order, or that drops and opens again at once, is routine. The kind is *lost* only
when an attempt to list or to open fails, and then since the first drop, however many attempts fail after it. After a
loss, after 410 and after an invalid response everything is listed again, and what vanished meanwhile is reported like
any other change. A list changes the cache when it is complete, so that one that breaks off time and again leaves
nothing behind, and what one cluster shows is bounded.
Invariants: `cache.synced` is true only while nothing is known to be missing; every change of the cache that the
cluster caused is reported to `on_change`; a stream that says nothing for `liveness_seconds` is given up.
"""

from collections import deque
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from config.api.meta import Obj, ObjectKey
from workerclient.base.backoff import Backoff, Failures, Jitter, LongestOf, RetryAfter
from workerclient.base.clock import Clock
from workerclient.base.errors import (
    CircuitOpen,
    ClusterError,
    Expired,
    Forbidden,
    NotServed,
    Operation,
    Overfull,
    ProtocolViolation,
    TimedOut,
    Unavailable,
    error_for,
)
from workerclient.base.holdings import Share
from workerclient.base.turns import LoopTurns
from workerclient.objects.cache import version_number
from workerclient.objects.kind_state import CachePhase, KindState, ReflectorCounts
from workerclient.objects.reflector_context import ReflectorLimits, ReflectorNotices
from workerclient.objects.resource import CachedKind, Connection, Resource
from workerclient.transport.budget import RequestPriority
from workerclient.transport.session import Request, Stream
from workerclient.wire import codec
from workerclient.wire.codec import Identity, ListChunk, WatchEvent
from workerclient.wire.lines import LineSplitter, LineTooLongError

if TYPE_CHECKING:
    from workerclient.objects.cache import Unreadable

Value = TypeVar("Value")

_PATIENCE_WITH_OLD_LISTS: Final = 3
_MOST_PATIENCE: Final = 3.0
"""How many times the usual deadline a list or the opening of a watch gets in the end."""
_LONGEST_PAUSE_SECONDS: Final = 60.0
"""The longest wait that a server may ask for."""


class Reflector(Generic[Value]):
    """Follows one kind on one cluster."""

    def __init__(
        self,
        line: Connection,
        cached: CachedKind[Value],
        clock: Clock,
        jitter: Jitter,
        limits: ReflectorLimits,
        share: Share,
        notices: ReflectorNotices,
    ) -> None:
        self._line = line
        self._watched = cached.watched
        self._cache = cached.cache
        self._resource = Resource(line, cached.watched.kind, cached)
        self._clock = clock
        self._jitter = jitter
        self._limits = limits
        self._share = share
        self._turns = LoopTurns(clock)
        self._notices = notices
        self._version: str | None = None
        wait = LongestOf(RetryAfter(_LONGEST_PAUSE_SECONDS), Backoff(jitter))
        self._failures = Failures("watch", wait, notices.on_retry, line.cluster)
        self._old_lists = 0
        self._patience = 1.0
        self._listed_at = 0.0
        self._dropped_ns: int | None = clock.now_ns()
        self._dropped_at = self._heard_at = clock.monotonic()
        self.state = KindState(CachePhase.SYNCING, self._dropped_ns, lost_at=self._dropped_at)
        self.counts = ReflectorCounts()

    @property
    def is_required(self) -> bool:
        """Return whether the cluster counts as connected only with this kind."""
        return self._watched.required

    @property
    def silence_seconds(self) -> float:
        """Return since when nothing was heard on the watch."""
        return self._clock.monotonic() - self._heard_at

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        while True:
            await self._clock.sleep(await self._attempt())

    def restart(self) -> None:
        """Believe nothing that was learnt so far: the address or the identity changed. Not while `run` is running."""
        self._cache.start_new_history()
        self._lose_track()
        self._failures.reset()
        self._patience = 1.0

    def doubt(self) -> None:
        """Trust no absence any more: everything is about to be listed again."""
        self._cache.synced = False

    def stop(self, problem: str) -> None:
        """Record that the kind is no longer followed."""
        self._lose_track()
        self._move(CachePhase.LOST, problem)

    async def _attempt(self) -> float:
        """List if needed and watch until that ends; return the seconds to wait before the next attempt."""
        try:
            if self._version is None:
                await self._list()
            if await self._watch():
                self._failures.reset()
                return 0.0
            return self._failures.next_wait()
        except Expired as error:
            self._lose_track()
            return self._failures.next_wait(error)
        except NotServed as error:
            return self._absent(CachePhase.NOT_SERVED, error)
        except Forbidden as error:
            return self._absent(CachePhase.FORBIDDEN, error)
        except ClusterError as error:
            return self._lose(error)

    # --- list

    async def _list(self) -> None:
        listing, newest = self._cache.begin_list(), self._cache.newest
        version = ""
        pages = self._resource.pages(
            label_selector=self._watched.label_selector,
            namespace=self._watched.namespace,
            page_size=self._limits.page_size,
            priority=RequestPriority.URGENT,  # a crowd of writes must not make a cluster look lost
            patience=self._patience,
        )
        operation, share = self._operation("list"), self._share.begin_list()
        found: list[tuple[Identity, Value | Unreadable]] = []
        async with aclosing(pages):
            async for page in pages:
                if not version:
                    version = page.resource_version
                    self._check_age(page, newest)
                    listing.date(version)
                size, weight = (part // max(1, len(page.items)) for part in (page.size, page.weight))
                for identity, item in page.items:
                    share.put(operation, identity.key, weight)
                    known = self._cache.get(identity.key)
                    if known is not None and self._cache.holds(identity):
                        listing.add(identity, known)
                    else:
                        found.append((identity, self._watched.read(identity, item, page.size)))
                    await self._turns.after_item(size)
        await self._notices.confirm_list()
        for identity, value in found:
            known_before = listing.has_new_history
            if listing.add(identity, value):
                self._watched.on_change(identity.key)
            if listing.has_new_history and not known_before:
                self._report_new_history()
            await self._turns.after_item(0)
        gone = deque(listing.finish(version))
        self._share.finish_list(share)
        await self._report_all(gone)
        self._version = version
        self._listed_at = self._clock.monotonic()
        self.counts.lists += 1

    async def _report_all(self, gone: deque[ObjectKey]) -> None:
        """Report what vanished; all of it even when cancelled, because no later list would miss it again."""
        try:
            while gone:
                self._watched.on_change(gone.popleft())
                await self._turns.after_item(0)
        finally:
            while gone:
                self._watched.on_change(gone.popleft())

    def _check_age(self, page: ListChunk, newest: int) -> None:
        """Refuse a list from the past a few times; if it stays so, the cluster was restored or replaced: believe it."""
        version = version_number(page.resource_version)
        is_old = version is not None and version < newest
        if not is_old and not self._cache.is_behind(page.resource_version):
            self._old_lists = 0
            return
        self._old_lists += 1
        if self._old_lists <= _PATIENCE_WITH_OLD_LISTS:
            raise Unavailable(self._operation("list"), "the list is older than what the cluster reported before")
        self._old_lists = 0
        self._cache.start_new_history()
        self._report_new_history()

    def _report_new_history(self) -> None:
        self.counts.new_histories += 1
        self._notices.on_new_history(self._watched.kind)

    # --- watch

    async def _watch(self) -> bool:
        """Watch until that ends, and return whether it lasted long enough for all to be well."""
        async with self._line.transport.watch(self._watch_request()) as stream:
            opened_at = self._clock.monotonic()
            self.counts.watches += 1
            self._dropped_ns = None
            self._heard_at = opened_at
            self._patience = 1.0
            self._move(CachePhase.LIVE)
            try:
                await self._consume(stream)
            except ProtocolViolation:
                self.counts.garbage += 1
                self._drop()
                self._lose_track()
            except TimeoutError:
                self._drop()
                self._version = None  # a restored cluster is silent until it has counted up to where we are
            except Expired:
                raise
            except ClusterError:
                self._drop()
            now = self._clock.monotonic()
        if now - self._listed_at >= self._limits.relist_seconds:
            self._version = None
        return now - opened_at >= self._limits.settled_seconds

    async def _consume(self, stream: Stream) -> None:
        operation = self._operation("watch")
        splitter = LineSplitter(self._limits.max_event_bytes)
        try:
            async with self._clock.timeout(self._limits.liveness_seconds) as deadline:
                while chunk := await stream.read():
                    deadline.extend(self._limits.liveness_seconds)
                    self._heard_at = self._clock.monotonic()
                    for line in splitter.feed(chunk):
                        self._apply(operation, codec.decode_event(operation, line), line)
                        await self._turns.after_item(len(line))
        except LineTooLongError as error:
            raise ProtocolViolation(operation, str(error)) from error

    def _apply(self, operation: Operation, event: WatchEvent, line: bytes) -> None:
        if event.type == "ERROR":
            # It may be about the version to watch from: a restored cluster has not come that far, and never says 410.
            self._version = None
            raise error_for(operation, codec.status_code_of(event.object), codec.status_of(event.object))
        codec.check_kind(operation, event.object, self._watched.kind)
        if event.type == "BOOKMARK":
            version = codec.bookmark_version(operation, event.object)
            if self._cache.is_behind(version):
                # A watch from a version that is still to come shows nothing: a restored cluster may count from before.
                raise Expired(operation, "the watch is behind what the cluster reported before")
            self._version = version
            self._cache.observe_progress(version)
            return
        self.counts.events += 1
        identity = codec.identity_of(operation, event.object)
        if event.type == "DELETED":
            is_news = self._cache.observe_deletion(identity)
            if self._cache.identity(identity.key) is None:
                self._share.remove(identity.key)
        elif event.type not in ("ADDED", "MODIFIED"):
            raise ProtocolViolation(operation, f"expected a known type of watch event, got {event.type!r}")
        else:
            self._share.put(operation, identity.key, codec.weight_of(line))
            is_news = self._observe(identity, event.object, len(line))
        self._version = identity.resource_version
        if is_news:
            self._watched.on_change(identity.key)

    def _observe(self, identity: Identity, raw: Obj, size: int) -> bool:
        if self._cache.holds(identity):  # most often the echo of our own write
            self._cache.observe_progress(identity.resource_version)
            return False
        return self._cache.observe(identity, self._watched.read(identity, raw, size))

    def _watch_request(self) -> Request:
        seconds = self._limits.watch_seconds * (1.0 + self._jitter())
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version or "",
            "timeoutSeconds": str(int(seconds)),
        }
        if self._watched.label_selector:
            parameters["labelSelector"] = self._watched.label_selector
        path = self._watched.kind.collection_path(self._watched.namespace)
        return Request(self._operation("watch"), "GET", path, parameters, patience=self._patience)

    # --- where we stand

    def _drop(self) -> None:
        self.counts.drops += 1
        self._note_drop()

    def _note_drop(self) -> None:
        self._dropped_ns, self._dropped_at = self._clock.now_ns(), self._clock.monotonic()

    def _lose_track(self) -> None:
        """Take note that events may have been missed: list again, and until then absence means nothing."""
        self._version = None
        self._cache.synced = False

    def _lose(self, error: ClusterError) -> float:
        if isinstance(error, TimedOut):
            # A cluster that is only slow would never be reached with the same deadline again and again.
            self._patience = min(2.0 * self._patience, _MOST_PATIENCE)
        self.counts.failures += 1
        self._lose_track()
        # An open breaker says no more than what opened it; repeating that keeps the reported cause still.
        if not (isinstance(error, CircuitOpen) and self.state.phase is CachePhase.LOST):
            self._move(CachePhase.LOST, str(error), is_overfull=isinstance(error, Overfull))
        return self._failures.next_wait(error)

    def _absent(self, phase: CachePhase, error: ClusterError) -> float:
        self._lose_track()
        self._move(phase, str(error))
        return self._limits.absent_kind_seconds * (0.5 + self._jitter() / 2)

    def _move(self, phase: CachePhase, problem: str = "", *, is_overfull: bool = False) -> None:
        if phase is CachePhase.LIVE:
            state = KindState(phase, None)
        else:
            if self._dropped_ns is None:
                self._note_drop()
            state = KindState(phase, self._dropped_ns, problem, self._dropped_at, is_overfull)
        if state != self.state:
            self.state = state
            self._notices.on_state()

    def _operation(self, verb: str) -> Operation:
        return Operation(self._line.cluster, verb, self._watched.kind.resource, self._watched.namespace)
