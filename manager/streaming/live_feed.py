"""Rows of workers and waiting Workloads, made once for all viewers, and only while there are some.

A change of a cache marks a Workload; it is read again at most twice a second, and its row counts as changed only if its
bytes differ. What a viewer gets is then a copy of bytes. Nothing here waits for a viewer, and no piece of it is long.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Final
from uuid import uuid4

import orjson

from config.api.meta import Obj, ObjectKey
from gates.reports.attention import worker_attention
from manager.base.batching import batched
from manager.logging.redaction import visible
from manager.streaming.change_ring import ChangeRing
from manager.streaming.threats import Threat, Threats
from workerclient.base.clock import Clock

FLEET: Final = "fleet"
WORKERS: Final = "workers"
WAITING: Final = "waiting"
ATTENTION: Final = "attention"
HEADLINES: Final = "headlines"
RISK: Final = "risk"
TOPICS: Final = frozenset({FLEET, WORKERS, WAITING, ATTENTION, HEADLINES, RISK})
MOST_WAITING: Final = 5_000
PERIOD_SECONDS: Final = 0.5
_SLOW_PERIOD_SECONDS: Final = 2.0
"""How often what no event announces is read again: workers, quota, the daemon itself."""
_RESCAN_SECONDS: Final = 30.0
"""How often everything is read again while Workloads are left out, which ones may change."""
_KEPT_SECONDS: Final = 120.0
"""How long rows are kept up to date after the last viewer left, so that one who returns gets only what changed."""
_MOST_MARKED: Final = 500
_IN_ONE_PIECE: Final = 10


@dataclass(frozen=True, slots=True)
class FeedWorkload:
    """A Workload as the feed needs it."""

    phase: str
    row: Obj | None = None
    """What is shown of it while it waits; None once it runs."""
    urgency: tuple[int, int] = (0, 0)
    """Lower is more urgent: by priority, then by age."""
    attention: Obj | None = None
    threats: tuple[Threat, ...] = ()
    """The workloads that it would have preempted."""


@dataclass(frozen=True, slots=True)
class FeedSources:
    """Where rows come from."""

    keys: Callable[[], AsyncIterator[Iterable[ObjectKey]]]
    """Yields the names of all Workloads, in pieces between which other tasks run."""
    workload: Callable[[ObjectKey], FeedWorkload | None]
    workers: Callable[[], Awaitable[list[Obj]]]
    daemon: Callable[[], Obj]
    headlines: Callable[[], list[Obj]]


class LiveFeed:
    """The rows as they were last read, and their changes."""

    def __init__(self, sources: FeedSources, clock: Clock) -> None:
        self._sources = sources
        self._clock = clock
        self._turn = asyncio.Lock()
        self._viewers = 0
        self._wanted_until = float("-inf")
        self._is_stale = True
        self._is_rescan_due = False
        self._rescan_at = float("inf")
        self._next = float("-inf")
        self._next_slow = float("-inf")
        self._marked: dict[ObjectKey, None] = {}
        self._phases: dict[ObjectKey, str] = {}
        self._counts: Counter[str] = Counter()
        self._left_out: set[ObjectKey] = set()
        self._threats = Threats()
        self._start()

    def _start(self) -> None:
        self.epoch = uuid4().hex[:12]
        """Names this feed: positions of another one mean nothing here."""
        self.ring = ChangeRing()
        self.rows: dict[str, dict[str, bytes]] = {topic: {} for topic in TOPICS}

    @property
    def viewers(self) -> int:
        """Return how many are connected."""
        return self._viewers

    def arrive(self) -> None:
        """Keep rows for one more viewer."""
        if self._viewers == 0 and self._clock.monotonic() >= self._wanted_until:
            self._is_stale = True
        self._viewers += 1

    def leave(self) -> None:
        """Keep rows for one viewer less."""
        self._viewers -= 1
        self._wanted_until = self._clock.monotonic() + _KEPT_SECONDS

    def mark(self, key: ObjectKey) -> None:
        """Have a Workload read again, if its row is wanted."""
        if self._is_wanted():
            self._marked[key] = None

    def mark_all(self) -> None:
        """Have all Workloads read again: a worker came or went."""
        self._is_rescan_due = True

    def _is_wanted(self) -> bool:
        return self._viewers > 0 or self._clock.monotonic() < self._wanted_until

    async def refresh(self) -> None:
        """Bring rows up to date, unless that has just been done for another viewer."""
        async with self._turn:
            now = self._clock.monotonic()
            if now < self._next and not self._is_stale:
                return
            if self._is_stale or self._is_rescan_due or now >= self._rescan_at:
                await self._read_all()
            else:
                await self._read_marked()
            if now >= self._next_slow:
                await self._read_workers()
                self._next_slow = now + _SLOW_PERIOD_SECONDS
            self._put(FLEET, "", self._fleet())
            self._next = self._clock.monotonic() + PERIOD_SECONDS

    async def _read_all(self) -> None:
        if self._is_stale:
            self._start()
            self._next_slow = float("-inf")
        self._is_stale = self._is_rescan_due = False
        self._marked.clear()
        found: dict[ObjectKey, FeedWorkload] = {}
        async for keys in self._sources.keys():
            for key in keys:
                if (known := self._sources.workload(key)) is not None:
                    found[key] = known
        for key in [known for known in self._phases if known not in found]:
            self._forget(key)
        waiting = sorted((each.urgency, key) for key, each in found.items() if each.row is not None)
        self._left_out = {key for _, key in waiting[MOST_WAITING:]}
        for piece in batched(found.items(), 10 * _IN_ONE_PIECE):
            for key, known in piece:
                self._take(key, known)
            await self._clock.sleep(0)
        self._rescan_at = self._clock.monotonic() + _RESCAN_SECONDS if self._left_out else float("inf")

    async def _read_marked(self) -> None:
        keys = list(islice(self._marked, _MOST_MARKED))
        for piece in batched(keys, _IN_ONE_PIECE):
            for key in piece:
                self._marked.pop(key, None)
                known = self._sources.workload(key)
                if known is None:
                    self._forget(key)
                    continue
                is_new = key not in self._phases and known.row is not None
                if is_new and len(self.rows[WAITING]) >= MOST_WAITING:
                    self._left_out.add(key)
                self._take(key, known)
            await self._clock.sleep(0)

    def _take(self, key: ObjectKey, known: FeedWorkload) -> None:
        name = str(key)
        self._count(key, known.phase)
        if known.row is None or key in self._left_out:
            self._drop(WAITING, name)
        else:
            self._put(WAITING, name, known.row)
        if known.attention is None:
            self._drop(ATTENTION, f"workload/{name}")
        else:
            self._put(ATTENTION, f"workload/{name}", known.attention)
        self._threaten(key, known.threats)

    def _forget(self, key: ObjectKey) -> None:
        self._count(key, None)
        self._left_out.discard(key)
        self._drop(WAITING, str(key))
        self._drop(ATTENTION, f"workload/{key}")
        self._threaten(key, ())

    def _threaten(self, key: ObjectKey, threats: Iterable[Threat]) -> None:
        for victim in self._threats.replace(key, threats):
            row = self._threats.row(victim)
            if row is None:
                self._drop(RISK, victim)
            else:
                self._put(RISK, victim, row)

    def _count(self, key: ObjectKey, phase: str | None) -> None:
        before = self._phases.pop(key, None)
        if before is not None:
            self._counts[before] -= 1
        if phase is not None:
            self._phases[key] = phase
            self._counts[phase] += 1

    async def _read_workers(self) -> None:
        workers = await self._sources.workers()
        for piece in batched(workers, _IN_ONE_PIECE):
            for worker in piece:
                self._put(WORKERS, str(worker["name"]), worker)
            await self._clock.sleep(0)
        names = {str(worker["name"]) for worker in workers}
        for gone in [name for name in self.rows[WORKERS] if name not in names]:
            self._drop(WORKERS, gone)
        items = worker_attention(workers)
        for key, item in items.items():
            self._put(ATTENTION, key, item)
        over = [key for key in self.rows[ATTENTION] if key not in items and not key.startswith("workload/")]
        for key in over:
            self._drop(ATTENTION, key)
        self._put(HEADLINES, "", {"items": self._sources.headlines()})

    def _fleet(self) -> Obj:
        phases = {phase: number for phase, number in sorted(self._counts.items()) if number}
        return {"daemon": self._sources.daemon(), "phases": phases, "leftOut": len(self._left_out)}

    def _put(self, topic: str, key: str, document: Obj) -> None:
        row, rows = orjson.dumps(visible(document)), self.rows[topic]
        if rows.get(key) != row:
            rows[key] = row
            self.ring.append(topic, key, row)

    def _drop(self, topic: str, key: str) -> None:
        if self.rows[topic].pop(key, None) is not None:
            self.ring.append(topic, key, None)
