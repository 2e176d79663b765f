"""Names to reconcile: each at most once at a time, in order, now or later.

A name that is added while it is being reconciled is reconciled once more afterwards. Urgent names pass the others.
Adding a name never says what happened to it: the consumer reads the current state itself.
"""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from itertools import count
from typing import Final, Generic, TypeVar

from manager.base.batching import batched
from workerclient.base.clock import Clock

Name = TypeVar("Name", bound=Hashable)

_ROUNDING: Final = 1e-6
_IN_ONE_PIECE: Final = 1_000


class KeyedQueue(Generic[Name]):
    """A queue of names."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: OrderedDict[Name, None] = OrderedDict()
        self._urgent: OrderedDict[Name, None] = OrderedDict()
        self._groups: OrderedDict[Hashable, tuple[Callable[[], Iterable[Name]], float]] = OrderedDict()
        self._is_spreading = False
        self._taken: set[Name] = set()
        self._again: dict[Name, bool] = {}
        self._due: dict[Name, float] = {}
        self._alarms: list[tuple[float, int, Name]] = []
        self._order = count()
        self._filled = asyncio.Event()
        self._group_added = asyncio.Event()
        self._alarm_set = asyncio.Event()
        self._is_closed = False
        self.emptied = asyncio.Event()
        """Set when the queue is closed and no reconcile runs any more."""

    def __len__(self) -> int:
        return len(self._ready) + len(self._urgent) + len(self._taken)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is ready and no reconcile runs; names for later do not count."""
        return not (self._ready or self._urgent or self._taken or self._groups or self._is_spreading)

    def add(self, name: Name, *, urgent: bool = False) -> None:
        """Have a name reconciled now."""
        if self._is_closed:
            return
        if name in self._taken:
            self._again[name] = urgent or self._again.get(name, False)
            return
        if name in self._urgent:
            return
        if urgent:
            self._ready.pop(name, None)
        (self._urgent if urgent else self._ready)[name] = None
        self._filled.set()

    def add_all(self, group: Hashable, names: Callable[[], Iterable[Name]], seconds: float = 0.0) -> None:
        """Have all names of a group reconciled after so many seconds: they are read and added in small pieces.

        A group that waits already is not added twice, so that no more is kept when the queue is not served.
        """
        if not self._is_closed:
            _, earlier = self._groups.get(group, (names, seconds))
            self._groups[group] = (names, min(seconds, earlier))
            self._group_added.set()

    def add_after(self, name: Name, seconds: float) -> None:
        """Have a name reconciled after so many seconds, unless that is to happen earlier anyway."""
        if seconds <= 0:
            self.add(name)
            return
        due = self._clock.monotonic() + seconds
        if self._due.get(name, due + 1) <= due:
            return
        self._due[name] = due
        heapq.heappush(self._alarms, (due, next(self._order), name))
        self._alarm_set.set()

    async def take(self) -> Name:
        """Return the next name; `done` must follow."""
        while not self._urgent and not self._ready:
            self._filled.clear()
            await self._filled.wait()
        name, _ = (self._urgent or self._ready).popitem(last=False)
        self._taken.add(name)
        return name

    def done(self, name: Name) -> None:
        """Let a name be taken again."""
        self._taken.remove(name)
        if name in self._again:
            self.add(name, urgent=self._again.pop(name))
        self._notify_if_empty()

    def close(self) -> None:
        """Hand out nothing more."""
        self._is_closed = True
        self._ready.clear()
        self._urgent.clear()
        self._groups.clear()
        self._notify_if_empty()

    def _notify_if_empty(self) -> None:
        if self._is_closed and not self._taken:
            self.emptied.set()

    async def serve(self, reconcile: Callable[[Name], Awaitable[None]]) -> None:
        """Hand out names until cancelled, each to a task of its own."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._ring())
            group.create_task(self._spread())
            while True:
                group.create_task(self._reconcile(await self.take(), reconcile))
                await self._clock.sleep(0)  # many names must not keep everything else waiting, nor urgent ones

    async def _reconcile(self, name: Name, reconcile: Callable[[Name], Awaitable[None]]) -> None:
        try:
            await reconcile(name)
        finally:
            self.done(name)

    async def _spread(self) -> None:
        """Add the names of groups, piece by piece."""
        while True:
            self._group_added.clear()
            while self._groups:
                _, (names, seconds) = self._groups.popitem(last=False)
                self._is_spreading = True
                try:
                    for piece in batched(names(), _IN_ONE_PIECE):
                        for name in piece:
                            self.add_after(name, seconds)
                        await self._clock.sleep(0)
                finally:
                    self._is_spreading = False
            await self._group_added.wait()

    async def _ring(self) -> None:
        """Add names when they fall due."""
        while True:
            self._alarm_set.clear()
            now = self._clock.monotonic()
            rung = 0
            while self._alarms and self._alarms[0][0] <= now + _ROUNDING and rung < _IN_ONE_PIECE:
                due, _, name = heapq.heappop(self._alarms)
                rung += 1
                if self._due.get(name) == due:
                    del self._due[name]
                    self.add(name)
            if rung == _IN_ONE_PIECE:
                await self._clock.sleep(0)
                continue
            if not self._alarms:
                await self._alarm_set.wait()
                continue
            try:
                async with self._clock.timeout(self._alarms[0][0] - now):
                    await self._alarm_set.wait()
            except TimeoutError:
                continue
