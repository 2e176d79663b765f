"""Watches: every change of a kind, in order, to everyone who asked.

A change is encoded once and its bytes go to all plain watchers. A watcher's buffer is bounded: who does not read in
time is cut off and has to come back, so that a slow reader can never hold up the server or the other watchers.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import orjson

from localcluster.kinds.api_errors import ApiError, expired
from localcluster.kinds.clock import ServerClock, Timer
from localcluster.kinds.kinds import ServedKind
from localcluster.serving.lists import matching_versions
from localcluster.serving.options import ListOptions
from localcluster.serving.representation import Representation, View, event_line
from localcluster.serving.tables import IncludeObject
from localcluster.store.ledger import Change, ChangeType, Collection, Version

BUFFER_EVENTS = 1000
BOOKMARK_SECONDS = 60.0
_BOOKMARK_BEFORE_END_SECONDS = 2.0
DEFAULT_TIMEOUT_SECONDS = 1800.0
_INITIAL_BATCH = 100


class WatchStream:
    """One reader of one kind: takes changes synchronously, gives out bytes when asked."""

    def __init__(
        self, collection: Collection, namespace: str | None, options: ListOptions, view: "WatchView", buffer: int
    ) -> None:
        self.kind: ServedKind = collection.kind
        self.namespace = namespace
        self.on_cut: Callable[[], None] = lambda: None
        self.is_muted = False
        self._selector = options.selector
        self._view = view
        self._buffer_limit = buffer
        self._initial: deque[bytes] = deque()
        self._lines: deque[bytes] = deque()
        self._wakened = asyncio.Event()
        self._ended = False
        self._timers: list[Timer] = []

    # Filling

    def begin(self, lines: Iterator[bytes]) -> None:
        """Put the first events before everything that changes later; they do not count against the buffer."""
        self._initial.extend(lines)
        self._wakened.set()

    def notice(self, change: Change, line: Callable[[ChangeType], bytes]) -> None:
        """Take a change; `line` gives its shared encoding."""
        if self.namespace is not None and change.new.key[0] != self.namespace:
            return
        if self._selector or not self._view.is_plain:
            seen = self._seen(change)
            if seen is None:
                return
            type_, version = seen
            self._add(line(type_) if version is change.new and self._view.is_plain else self._view.line(type_, version))
        else:
            self._add(line(change.type))

    def _seen(self, change: Change) -> tuple[ChangeType, Version] | None:
        """Return how the change appears through the selector: coming into sight is ADDED, leaving it DELETED."""
        if not self._selector:
            return change.type, change.new
        was = change.old is not None and self._selector.matches(change.old.obj)
        if change.type is ChangeType.DELETED:
            return (ChangeType.DELETED, change.new) if was else None
        if self._selector.matches(change.new.obj):
            return (ChangeType.MODIFIED if was else ChangeType.ADDED), change.new
        if not was or change.old is None:
            return None
        return ChangeType.DELETED, _restamped(change.old, change.revision)

    def past_lines(self, changes: list[Change]) -> Iterator[bytes]:
        """Yield the lines for changes of the past."""
        for change in changes:
            if self.namespace is None or change.new.key[0] == self.namespace:
                seen = self._seen(change)
                if seen is not None:
                    yield self._view.line(*seen)

    def _add(self, line: bytes) -> None:
        if self._ended:
            return
        if len(self._lines) >= self._buffer_limit:
            self.cut()
            return
        self._lines.append(line)
        self._wakened.set()

    def add_bookmark(self, revision: int) -> None:
        """Send a bookmark: the watcher has seen everything up to here."""
        self._add(self._view.bookmark(revision))

    # Ending

    def schedule(self, timer: Timer) -> None:
        """Keep a timer that dies with the watcher."""
        self._timers.append(timer)

    def end(self) -> None:
        """End after what is buffered."""
        self._ended = True
        self._wakened.set()

    def cut(self) -> None:
        """End at once, whatever is buffered."""
        self._ended = True
        self._initial.clear()
        self._lines.clear()
        self._wakened.set()
        self.on_cut()

    def mute(self) -> None:
        """Say nothing more, but stay connected, as behind a half-open socket."""
        self.is_muted = True

    def close(self) -> None:
        """Release the timers."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    # Reading

    async def next_chunk(self) -> bytes | None:
        """Return all that is ready, joined; wait if nothing is; None when the watch is over."""
        while True:
            if not self.is_muted:
                if self._initial:
                    batch = [self._initial.popleft() for _ in range(min(_INITIAL_BATCH, len(self._initial)))]
                    return b"".join(batch)
                if self._lines:
                    chunk = b"".join(self._lines)
                    self._lines.clear()
                    return chunk
                if self._ended:
                    return None
            elif self._ended:
                return None
            self._wakened.clear()
            await self._wakened.wait()


def _restamped(version: Version, revision: int) -> Version:
    obj = {**version.obj, "metadata": {**version.obj["metadata"], "resourceVersion": str(revision)}}
    return Version(version.key, obj, revision, orjson.dumps(obj))


class WatchView:
    """Writes the lines of one watcher in its representation."""

    def __init__(
        self, kind: ServedKind, representation: Representation, include: IncludeObject, now: Callable[[], datetime]
    ) -> None:
        self._kind = kind
        self._representation = representation
        self._include = include
        self._now = now
        self._headers = True
        self.is_plain = representation.is_plain

    def line(self, type_: str, version: Version) -> bytes:
        """Return one event; the first one of a table carries its headers."""
        view = View(self._representation, self._include, self._now())
        line = view.encode_event(self._kind, type_, version, headers=self._headers)
        self._headers = False
        return line

    def bookmark(self, revision: int, *, ends_initial_events: bool = False) -> bytes:
        """Return a bookmark."""
        meta: dict[str, Any] = {"resourceVersion": str(revision)}
        if ends_initial_events:
            meta["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj = {"kind": self._kind.kind, "apiVersion": self._kind.api_version, "metadata": meta}
        if self.is_plain:
            return event_line("BOOKMARK", orjson.dumps(obj))
        meta["name"] = ""
        return self.line("BOOKMARK", Version(("", ""), obj, revision, b""))


class WatchHub:
    """The watchers of one kind."""

    def __init__(self, collection: Collection) -> None:
        self.collection = collection
        self.watchers: dict[WatchStream, None] = {}
        collection.listen(self._dispatch)

    def _dispatch(self, change: Change) -> None:
        if not self.watchers:
            return
        lines: dict[ChangeType, bytes] = {}

        def line(type_: ChangeType) -> bytes:
            found = lines.get(type_)
            if found is None:
                found = lines[type_] = event_line(type_, change.new.encoded)
            return found

        for watcher in tuple(self.watchers):
            watcher.notice(change, line)


class Watches:
    """All watches of a cluster: opens them at the right place in history and ends them in time."""

    def __init__(
        self,
        collections: dict[str, Collection],
        clock: ServerClock,
        revision: Callable[[], int],
        buffer: int = BUFFER_EVENTS,
    ) -> None:
        self.buffer = buffer
        self._clock = clock
        self._revision = revision
        self._hubs = {name: WatchHub(collection) for name, collection in collections.items()}

    def open(
        self,
        collection: Collection,
        namespace: str | None,
        options: ListOptions,
        view: WatchView,
        failure: ApiError | None = None,
    ) -> WatchStream:
        """Start a watch; a refusal is sent as its first event, as the protocol requires."""
        watcher = WatchStream(collection, namespace, options, view, self.buffer)
        hub = self._hubs[collection.id]
        try:
            if failure is not None:
                raise failure
            watcher.begin(self._first_lines(watcher, collection, namespace, options, view))
        except ApiError as error:
            watcher.begin(iter([event_line("ERROR", error.encoded())]))
            watcher.end()
            return watcher
        hub.watchers[watcher] = None
        self._set_timers(watcher, options)
        return watcher

    def close(self, watcher: WatchStream) -> None:
        """Forget a watch whose reader has gone."""
        watcher.close()
        for hub in self._hubs.values():
            hub.watchers.pop(watcher, None)

    def active(self) -> list[WatchStream]:
        """Return the watches that are open now."""
        return [watcher for hub in self._hubs.values() for watcher in hub.watchers]

    def _first_lines(
        self, watcher: WatchStream, collection: Collection, namespace: str | None, options: ListOptions, view: WatchView
    ) -> Iterator[bytes]:
        wants_state = (
            options.resource_version in ("", "0") if options.initial_events is None else options.initial_events
        )
        if wants_state:
            return self._state_lines(collection, namespace, options, view)
        if options.resource_version in ("", "0"):
            return iter(())
        asked = int(options.resource_version)
        if collection.forgotten > asked:
            raise expired(f"too old resource version: {asked} ({collection.forgotten})")
        return watcher.past_lines(collection.changes_since(asked))

    def _state_lines(
        self, collection: Collection, namespace: str | None, options: ListOptions, view: WatchView
    ) -> Iterator[bytes]:
        versions = matching_versions(collection, namespace, options.selector)
        lines = [view.line(ChangeType.ADDED, version) for version in versions]
        if options.initial_events and options.bookmarks:
            lines.append(view.bookmark(self._revision(), ends_initial_events=True))
        return iter(lines)

    def _set_timers(self, watcher: WatchStream, options: ListOptions) -> None:
        timeout = float(options.timeout_seconds or DEFAULT_TIMEOUT_SECONDS)
        watcher.schedule(self._clock.call_later(timeout, watcher.end))
        if not options.bookmarks:
            return
        if timeout > _BOOKMARK_BEFORE_END_SECONDS:
            before_end = timeout - _BOOKMARK_BEFORE_END_SECONDS
            watcher.schedule(self._clock.call_later(before_end, lambda: watcher.add_bookmark(self._revision())))
        self._bookmark_regularly(watcher)

    def _bookmark_regularly(self, watcher: WatchStream) -> None:
        def add() -> None:
            watcher.add_bookmark(self._revision())
            self._bookmark_regularly(watcher)

        watcher.schedule(self._clock.call_later(BOOKMARK_SECONDS, add))
