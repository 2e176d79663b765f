"""Names to look at: each at most once at a time, in order, now or later.

A name that is added while it is being looked at is looked at once more afterwards. Names that are urgent pass the
others. Adding a name never says what happened to it: whoever takes it reads the state by himself.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from itertools import count
from typing import Final, Generic, TypeVar

from workerclient.clock import Clock

Name = TypeVar("Name", bound=Hashable)

_ROUNDING: Final = 1e-6


class KeyedQueue(Generic[Name]):
    """A queue of names."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ready: deque[Name] = deque()
        self._urgent: deque[Name] = deque()
        self._waiting: set[Name] = set()
        self._taken: set[Name] = set()
        self._again: dict[Name, bool] = {}
        self._due: dict[Name, float] = {}
        self._alarms: list[tuple[float, int, Name]] = []
        self._order = count()
        self._filled = asyncio.Event()
        self._alarm_set = asyncio.Event()
        self._is_closed = False
        self.emptied = asyncio.Event()
        """Set when the queue is closed and nothing is being looked at any more."""

    def __len__(self) -> int:
        return len(self._waiting) + len(self._taken)

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is ready and nothing is being looked at; names for later do not count."""
        return not self._waiting and not self._taken

    def add(self, name: Name, *, urgent: bool = False) -> None:
        """Have a name looked at now."""
        if self._is_closed:
            return
        if name in self._taken:
            self._again[name] = urgent or self._again.get(name, False)
            return
        if name in self._waiting:
            if urgent and name in self._ready:
                self._ready.remove(name)
                self._urgent.append(name)
            return
        self._waiting.add(name)
        (self._urgent if urgent else self._ready).append(name)
        self._filled.set()

    def add_after(self, name: Name, seconds: float) -> None:
        """Have a name looked at after so many seconds, unless that is to happen earlier anyway."""
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
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        name = self._urgent.popleft() if self._urgent else self._ready.popleft()
        self._waiting.remove(name)
        self._taken.add(name)
        return name

    def done(self, name: Name) -> None:
        """Let a name be taken again."""
        self._taken.remove(name)
        if name in self._again:
            self.add(name, urgent=self._again.pop(name))
        self._tell_if_empty()

    def close(self) -> None:
        """Hand out nothing more."""
        self._is_closed = True
        self._ready.clear()
        self._urgent.clear()
        self._waiting.clear()
        self._tell_if_empty()

    def _tell_if_empty(self) -> None:
        if self._is_closed and not self._taken:
            self.emptied.set()

    async def serve(self, look: Callable[[Name], Awaitable[None]]) -> None:
        """Hand out names until cancelled, each to a task of its own."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._ring())
            while True:
                group.create_task(self._look(await self.take(), look))

    async def _look(self, name: Name, look: Callable[[Name], Awaitable[None]]) -> None:
        try:
            await look(name)
        finally:
            self.done(name)

    async def _ring(self) -> None:
        """Add names when they fall due."""
        while True:
            self._alarm_set.clear()
            now = self._clock.monotonic()
            while self._alarms and self._alarms[0][0] <= now + _ROUNDING:
                due, _, name = heapq.heappop(self._alarms)
                if self._due.get(name) == due:
                    del self._due[name]
                    self.add(name)
            if not self._alarms:
                await self._alarm_set.wait()
                continue
            try:
                async with self._clock.timeout(self._alarms[0][0] - now):
                    await self._alarm_set.wait()
            except TimeoutError:
                continue
