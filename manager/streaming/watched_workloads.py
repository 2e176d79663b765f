"""The documents of single Workloads that somebody looks at, made once for all who look at the same one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import orjson

from config.api.meta import Obj, ObjectKey
from manager.logging.redaction import visible
from workerclient.base.clock import Clock

_MOST_WATCHED: Final = 64
_FRESH_SECONDS: Final = 0.5
"""How often a Workload that changes is read again."""
_STALE_SECONDS: Final = 5.0
"""How often it is read again although nothing of it changed: forecasts depend on its neighbours."""


@dataclass(slots=True)
class _Watched:
    viewers: int = 0
    version: int = 0
    body: bytes = b"null"
    """The document as JSON; `null` while there is no such Workload."""
    is_marked: bool = True
    read_at: float = float("-inf")
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class WatchedWorkloads:
    """Bounded: beyond the limit a Workload is not followed."""

    def __init__(self, document: Callable[[ObjectKey], Awaitable[Obj | None]], clock: Clock) -> None:
        self._document = document
        self._clock = clock
        self._watched: dict[ObjectKey, _Watched] = {}

    def arrive(self, key: ObjectKey) -> bool:
        """Follow a Workload for one more viewer; returns False if too many are followed already."""
        if key not in self._watched and len(self._watched) >= _MOST_WATCHED:
            return False
        self._watched.setdefault(key, _Watched()).viewers += 1
        return True

    def leave(self, key: ObjectKey) -> None:
        """Follow a Workload for one viewer less."""
        watched = self._watched[key]
        watched.viewers -= 1
        if watched.viewers == 0:
            del self._watched[key]

    def mark(self, key: ObjectKey) -> None:
        """Have a Workload read again, if it is followed."""
        if (watched := self._watched.get(key)) is not None:
            watched.is_marked = True

    async def read(self, key: ObjectKey) -> tuple[int, bytes]:
        """Return the document of a Workload that is followed, and a number that grows whenever it changes."""
        watched = self._watched[key]
        async with watched.turn:
            age = self._clock.monotonic() - watched.read_at
            if age >= (_FRESH_SECONDS if watched.is_marked else _STALE_SECONDS):
                watched.is_marked = False
                body = orjson.dumps(visible(await self._document(key)))
                watched.read_at = self._clock.monotonic()
                if body != watched.body or watched.version == 0:
                    watched.body = body
                    watched.version += 1
            return watched.version, watched.body
