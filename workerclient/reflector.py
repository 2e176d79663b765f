"""Keeps the cache of one kind in step with one cluster: a list, then a watch from where the list ended, for ever.

A watch that the cluster ends in good order, or that drops and opens again at once, is routine. The kind is *lost*
only when an attempt to list or to open fails, and then since the first drop, however many attempts fail after it.
After a loss, after 410 and after garbage everything is listed anew, and what vanished meanwhile is reported like any
other change.
Invariants: `cache.synced` is true only while nothing is known to be missing; every change of the cache that the
cluster caused is told to `on_change`; a stream that says nothing for `liveness_seconds` is given up.
"""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from workerclient import codec
from workerclient.backoff import Backoff, Jitter
from workerclient.budget import Lane
from workerclient.clock import Clock
from workerclient.codec import Page, WatchEvent
from workerclient.errors import (
    CircuitOpen,
    ClusterError,
    Expired,
    Forbidden,
    NotServed,
    Operation,
    ProtocolViolation,
    Retryable,
    TimedOut,
    Unavailable,
    error_for,
)
from workerclient.lines import LineSplitter, LineTooLongError
from workerclient.resource import CachedKind, Line, Resource
from workerclient.session import Request, Stream

Value = TypeVar("Value")

_PATIENCE_WITH_OLD_LISTS: Final = 3
_MOST_PATIENCE: Final = 3.0
"""How many times the usual deadline a list or the opening of a watch gets in the end."""
_LONGEST_PAUSE_SECONDS: Final = 60.0
"""A server that asks for more patience than this is asked again nevertheless."""


class Phase(StrEnum):
    """Where the cache of a kind stands."""

    SYNCING = "Syncing"
    LIVE = "Live"
    LOST = "Lost"
    NOT_SERVED = "NotServed"
    FORBIDDEN = "Forbidden"


@dataclass(frozen=True, slots=True)
class KindState:
    """The phase, since when the kind is out of step, and why."""

    phase: Phase
    lost_since_ns: int | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ReflectorLimits:
    """The times and sizes of one reflector."""

    page_size: int = 500
    watch_seconds: int = 300
    """The cluster is asked to end a watch after this, up to twice as long."""
    liveness_seconds: float = 150.0
    """Longer than twice the minute between two bookmarks."""
    relist_seconds: float = 3600.0
    """The next watch that ends after this is followed by a list, in case an event got lost."""
    settled_seconds: float = 1.0
    """A watch that lasts shorter counts as a failure for the pace of the next attempt."""
    absent_kind_seconds: float = 60.0
    """How long to wait before asking again for a kind that is not served or that we may not see."""
    max_event_bytes: int = 16 << 20


@dataclass(slots=True)
class ReflectorCounts:
    """What happened so far, for metrics."""

    events: int = 0
    lists: int = 0
    watches: int = 0
    drops: int = 0
    garbage: int = 0
    failures: int = 0
    last_drop: str = ""
    """Why the last watch that broke did so."""


class Reflector(Generic[Value]):
    """Follows one kind on one cluster."""

    def __init__(
        self,
        line: Line,
        cached: CachedKind[Value],
        clock: Clock,
        jitter: Jitter,
        limits: ReflectorLimits,
        on_state: Callable[[], None],
    ) -> None:
        self._line = line
        self._watched = cached.watched
        self._cache = cached.cache
        self._resource = Resource(line, cached.watched.kind, cached)
        self._clock = clock
        self._jitter = jitter
        self._backoff = Backoff(jitter)
        self._limits = limits
        self._on_state = on_state
        self._version: str | None = None
        self._failures = 0
        self._old_lists = 0
        self._patience = 1.0
        self._listed_at = 0.0
        self._dropped_ns: int | None = clock.now_ns()
        self._heard_at = clock.monotonic()
        self.state = KindState(Phase.SYNCING, self._dropped_ns)
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

    def start_anew(self) -> None:
        """Believe nothing that was learnt so far: the address or the identity changed. Not while `run` is running."""
        self._cache.start_new_history()
        self._lose_track()
        self._failures = 0
        self._patience = 1.0

    def stop(self, problem: str) -> None:
        """Record that nobody follows the kind any longer."""
        self._lose_track()
        self._move(Phase.LOST, problem)

    async def _attempt(self) -> float:
        """List if needed and watch until that ends; return the seconds to wait before the next attempt."""
        try:
            if self._version is None:
                await self._list()
            await self._watch()
        except Expired:
            self._lose_track()
            self._failures += 1
        except NotServed as error:
            return self._absent(Phase.NOT_SERVED, error)
        except Forbidden as error:
            return self._absent(Phase.FORBIDDEN, error)
        except ClusterError as error:
            return self._lose(error)
        return self._backoff.delay(self._failures) if self._failures else 0.0

    # --- list

    async def _list(self) -> None:
        listing = self._cache.begin_list()
        version = ""
        pages = self._resource.pages(
            label_selector=self._watched.label_selector,
            namespace=self._watched.namespace,
            page_size=self._limits.page_size,
            lane=Lane.URGENT,  # a crowd of writes must not make a cluster look lost
            patience=self._patience,
        )
        async with aclosing(pages):
            async for page in pages:
                if not version:
                    version = page.resource_version
                    self._check_age(page)
                for identity, item in page.items:
                    if listing.add(identity, self._watched.read(identity, item)):
                        self._watched.on_change(identity.key)
        for key in listing.finish(version):
            self._watched.on_change(key)
        self._version = version
        self._listed_at = self._clock.monotonic()
        self.counts.lists += 1

    def _check_age(self, page: Page) -> None:
        """Refuse a list from the past a few times; if it stays so, the cluster was restored or replaced: believe it."""
        if not self._cache.is_behind(page.resource_version):
            self._old_lists = 0
            return
        self._old_lists += 1
        if self._old_lists <= _PATIENCE_WITH_OLD_LISTS:
            raise Unavailable(self._operation("list"), "the list is older than what the cluster reported before")
        self._old_lists = 0
        self._cache.start_new_history()

    # --- watch

    async def _watch(self) -> None:
        async with self._line.transport.watch(self._watch_request()) as stream:
            opened_at = self._clock.monotonic()
            self.counts.watches += 1
            self._dropped_ns = None
            self._heard_at = opened_at
            self._patience = 1.0
            self._move(Phase.LIVE)
            try:
                await self._consume(stream)
            except ProtocolViolation as error:
                self.counts.garbage += 1
                self._drop(str(error))
                self._lose_track()
            except TimeoutError:
                self._drop(f"the watch was silent for {self._limits.liveness_seconds:g} s")
            except Expired:
                raise
            except ClusterError as error:
                self._drop(str(error))
            now = self._clock.monotonic()
        self._failures = 0 if now - opened_at >= self._limits.settled_seconds else self._failures + 1
        if now - self._listed_at >= self._limits.relist_seconds:
            self._version = None

    async def _consume(self, stream: Stream) -> None:
        operation = self._operation("watch")
        splitter = LineSplitter(self._limits.max_event_bytes)
        try:
            async with self._clock.timeout(self._limits.liveness_seconds) as deadline:
                while chunk := await stream.read():
                    deadline.extend(self._limits.liveness_seconds)
                    self._heard_at = self._clock.monotonic()
                    for line in splitter.feed(chunk):
                        self._apply(operation, codec.decode_event(operation, line))
        except LineTooLongError as error:
            raise ProtocolViolation(operation, str(error)) from error

    def _apply(self, operation: Operation, event: WatchEvent) -> None:
        if event.type == "ERROR":
            raise error_for(operation, codec.status_code_of(event.object), codec.status_of(event.object))
        codec.check_kind(operation, event.object, self._watched.kind)
        if event.type == "BOOKMARK":
            self._version = codec.bookmark_version(operation, event.object)
            self._cache.observe_progress(self._version)
            return
        self.counts.events += 1
        identity = codec.identity_of(operation, event.object)
        if event.type == "DELETED":
            is_news = self._cache.observe_deletion(identity)
        elif event.type not in ("ADDED", "MODIFIED"):
            raise ProtocolViolation(operation, f"expected a known type of watch event, got {event.type!r}")
        elif self._cache.holds(identity):  # most often the echo of a write of ours
            self._cache.observe_progress(identity.resource_version)
            is_news = False
        else:
            is_news = self._cache.observe(identity, self._watched.read(identity, event.object))
        self._version = identity.resource_version
        if is_news:
            self._watched.on_change(identity.key)

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

    def _drop(self, problem: str) -> None:
        self.counts.drops += 1
        self.counts.last_drop = problem
        self._dropped_ns = self._clock.now_ns()

    def _lose_track(self) -> None:
        """Take note that events may have been missed: list again, and until then absence means nothing."""
        self._version = None
        self._cache.synced = False

    def _lose(self, error: ClusterError) -> float:
        self._failures += 1
        if isinstance(error, TimedOut):
            # A cluster that is only slow would never be reached with the same deadline again and again.
            self._patience = min(2.0 * self._patience, _MOST_PATIENCE)
        self.counts.failures += 1
        self._lose_track()
        # An open breaker says no more than what opened it; repeating that keeps the reported cause still.
        is_known = isinstance(error, CircuitOpen) and self.state.phase is Phase.LOST
        self._move(Phase.LOST, self.state.problem if is_known else str(error))
        asked = error.retry_after if isinstance(error, Retryable) else None
        return max(min(asked or 0.0, _LONGEST_PAUSE_SECONDS), self._backoff.delay(self._failures))

    def _absent(self, phase: Phase, error: ClusterError) -> float:
        self._lose_track()
        self._move(phase, str(error))
        return self._limits.absent_kind_seconds * (0.5 + self._jitter() / 2)

    def _move(self, phase: Phase, problem: str = "") -> None:
        if phase is Phase.LIVE:
            state = KindState(phase, None)
        else:
            self._dropped_ns = self._dropped_ns or self._clock.now_ns()
            state = KindState(phase, self._dropped_ns, problem)
        if state != self.state:
            self.state = state
            self._on_state()

    def _operation(self, verb: str) -> Operation:
        return Operation(self._line.cluster, verb, self._watched.kind.resource, self._watched.namespace)
