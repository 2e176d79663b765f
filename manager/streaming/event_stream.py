"""One viewer's stream of server-sent events: what there is, what changes, and why it ends.

A stream begins with `hello` and either the changes since the position that the viewer names, or everything. `synced`
says that nothing is missing any more: before it nothing may be called empty. A viewer that reads too slowly delays
itself only, and begins again when it has missed changes.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from config.api.meta import Obj, ObjectKey
from manager.base.batching import batched
from manager.streaming.change_ring import RowChange
from manager.streaming.live_feed import PERIOD_SECONDS, LiveFeed
from manager.streaming.watched_workloads import WatchedWorkloads
from workerclient.base.clock import Clock

MOST_STREAMS: Final = 16
LIFETIME_SECONDS: Final = 600.0
_BEAT_SECONDS: Final = 5.0
_REVIEW_SECONDS: Final = 60.0
_SLOWEST_WRITE_SECONDS: Final = 30.0
_MOST_ROWS: Final = 500
_MOST_BYTES: Final = 256 << 10
_RETRY_MS: Final = 1000


class StreamSink(Protocol):
    """Where events are written."""

    async def write(self, data: bytes) -> None:
        """Write, and wait while the viewer does not read."""
        ...


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What a viewer wants to see."""

    topics: frozenset[str]
    workload: ObjectKey | None = None
    last_event_id: str = ""


class EventStreams:
    """All viewers of one daemon."""

    def __init__(
        self, feed: LiveFeed, watched: WatchedWorkloads, hello: Callable[[], Obj], now: Callable[[], str], clock: Clock
    ) -> None:
        self.feed = feed
        self.watched = watched
        self._hello = hello
        self._now = now
        self._clock = clock
        self._ending = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """Tell whether no more viewers are accepted."""
        return self.feed.viewers >= MOST_STREAMS or self._ending.is_set()

    def mark(self, key: ObjectKey) -> None:
        """Take note of a changed Workload."""
        self.feed.mark(key)
        self.watched.mark(key)

    async def end(self) -> None:
        """End all streams, because the daemon stops."""
        self._ending.set()

    async def run(self, sink: StreamSink, asked: StreamRequest, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        """Send events until the viewer leaves, may not read any more, or has stayed long enough."""
        if asked.workload is not None and not self.watched.arrive(asked.workload):
            await sink.write(_event("bye", {"why": "crowded", "retryMs": 10 * _RETRY_MS}))
            return
        self.feed.arrive()
        try:
            async with self._clock.timeout(_SLOWEST_WRITE_SECONDS) as deadline:
                stream = _Stream(self, sink, asked, lambda: deadline.extend(_SLOWEST_WRITE_SECONDS))
                await stream.run(is_allowed)
        except TimeoutError:
            pass  # the viewer does not read
        finally:
            self.feed.leave()
            if asked.workload is not None:
                self.watched.leave(asked.workload)

    def hello(self) -> Obj:
        """Return what a stream begins with."""
        return {"epoch": self.feed.epoch, "now": self._now(), **self._hello()}

    def now(self) -> str:
        """Return the daemon's time."""
        return self._now()

    def monotonic(self) -> float:
        """Return the time that waiting is measured by."""
        return self._clock.monotonic()

    async def rest(self) -> bool:
        """Wait for the next period; returns whether the daemon goes on."""
        try:
            async with self._clock.timeout(PERIOD_SECONDS):
                await self._ending.wait()
        except TimeoutError:
            return True
        return False


class _Stream:
    def __init__(
        self, streams: EventStreams, sink: StreamSink, asked: StreamRequest, on_written: Callable[[], None]
    ) -> None:
        self._streams = streams
        self._feed = streams.feed
        self._sink = sink
        self._asked = asked
        self._on_written = on_written
        self._epoch = ""
        self._place = 0
        self._version = 0

    async def run(self, is_allowed: Callable[[], Awaitable[bool]]) -> None:
        await self._feed.refresh()
        await self._send(_event("hello", self._streams.hello()))
        await self._begin()
        began = beaten = reviewed = self._streams.monotonic()
        while await self._streams.rest():
            now = self._streams.monotonic()
            if now - began >= LIFETIME_SECONDS:
                return await self._bye("lifetime")
            if now - reviewed >= _REVIEW_SECONDS:
                reviewed = now
                if not await is_allowed():
                    return await self._bye("revoked")
            await self._feed.refresh()
            await self._follow()
            if now - beaten >= _BEAT_SECONDS:
                beaten = now
                await self._send(_event("beat", {"now": self._streams.now(), "viewers": self._feed.viewers}))
            self._on_written()
        return await self._bye("shutdown")

    async def _begin(self) -> None:
        epoch, _, number = self._asked.last_event_id.rpartition("-")
        place = int(number) if number.isascii() and number.isdecimal() and len(number) < 18 else -1
        if epoch == self._feed.epoch and self._feed.ring.holds_all_after(place):
            self._epoch, self._place = epoch, place
            await self._changes()
        else:
            if self._asked.last_event_id:
                await self._send(_event("reset", {"why": "epoch" if epoch != self._feed.epoch else "overrun"}))
            await self._everything()
        await self._workload()
        await self._send(_event("synced", {"topics": sorted(self._asked.topics)}))

    async def _follow(self) -> None:
        if self._epoch != self._feed.epoch or not self._feed.ring.holds_all_after(self._place):
            await self._send(_event("reset", {"why": "epoch" if self._epoch != self._feed.epoch else "lagging"}))
            await self._everything()
            await self._send(_event("synced", {"topics": sorted(self._asked.topics)}))
        else:
            await self._changes()
        await self._workload()

    async def _everything(self) -> None:
        self._epoch, self._place = self._feed.epoch, self._feed.ring.last
        for topic in sorted(self._asked.topics):
            rows = list(self._feed.rows[topic].items())
            for piece in batched(rows, _MOST_ROWS):
                await self._rows([RowChange(self._place, topic, key, row) for key, row in piece])

    async def _changes(self) -> None:
        changes, self._place = self._feed.ring.after(self._place, self._asked.topics), self._feed.ring.last
        for topic in sorted({change.topic for change in changes}):
            of_topic = [change for change in changes if change.topic == topic]
            for piece in batched(of_topic, _MOST_ROWS):
                await self._rows(piece)

    async def _rows(self, changes: list[RowChange]) -> None:
        piece: list[RowChange] = []
        size = 0
        for change in changes:
            if piece and size + change.size > _MOST_BYTES:
                await self._send(self._encoded(piece))
                piece, size = [], 0
            piece.append(change)
            size += change.size
        if piece:
            await self._send(self._encoded(piece))

    def _encoded(self, changes: list[RowChange]) -> bytes:
        """Put rows together that were encoded when they were made."""
        put = (b"[%b,%b]" % (orjson.dumps(each.key), each.row) for each in changes if each.row is not None)
        dropped = orjson.dumps([each.key for each in changes if each.row is None])
        head = b'{"topic":%b,"now":%b' % (orjson.dumps(changes[0].topic), orjson.dumps(self._streams.now()))
        data = head + b',"put":[%b],"drop":%b}' % (b",".join(put), dropped)
        return b"event: rows\nid: %b-%d\ndata: %b\n\n" % (self._epoch.encode(), self._place, data)

    async def _workload(self) -> None:
        if self._asked.workload is None:
            return
        version, body = await self._streams.watched.read(self._asked.workload)
        if version != self._version:
            self._version = version
            key = orjson.dumps(str(self._asked.workload))
            await self._send(b'event: workload\ndata: {"key":%b,"document":%b}\n\n' % (key, body))

    async def _bye(self, why: str) -> None:
        await self._send(_event("bye", {"why": why, "retryMs": _RETRY_MS}))

    async def _send(self, data: bytes) -> None:
        await self._sink.write(data)
        self._on_written()


def _event(name: str, document: Obj) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (name.encode(), orjson.dumps(document))


def topics_of(names: Iterable[str], known: frozenset[str]) -> frozenset[str]:
    """Return the topics that are asked for, all of them if none is named; raises `ValueError` for another one."""
    asked = frozenset(name for name in names if name)
    if unknown := sorted(asked - known):
        raise ValueError(f"topics {unknown[0][:64]!r} is not allowed: must be some of {', '.join(sorted(known))}")
    return asked or known
