"""A port that strangers can reach: how many come in, how fast, how long they stay and how much they may say.

A connection is for one short request. When all places are taken the one that stayed longest goes, so that idle
connections never keep a probe out. All limits hold before TLS too.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from ssl import SSLContext
from typing import Final, cast

from manager.logs import get_log
from workerclient.clock import Clock

_REST_SECONDS: Final = 1.0
"""How long to accept nobody after the system refused to."""


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """What strangers may take."""

    connections: int = 64
    seconds: float = 10.0
    """From the first packet to the end of the answer."""
    request_bytes: int = 64 << 10
    per_second: float = 20.0
    """How many may come in; beyond it, and a burst of as many as there are places, they wait."""


class Door:
    """One listening socket; `run` once."""

    def __init__(
        self,
        listener: socket.socket,
        answering: Callable[[], asyncio.Protocol],
        clock: Clock,
        tls: SSLContext | None = None,
        limits: DoorLimits | None = None,
    ) -> None:
        self._listener = listener
        self.answering = answering
        """Makes what answers the next connection."""
        self.tls = tls
        """What the next connection is protected with."""
        self._clock = clock
        self._limits = limits or DoorLimits()
        self._allowance = float(self._limits.connections)
        self._counted_at = clock.monotonic()
        self._inside: dict[asyncio.Task[None], None] = {}

    @property
    def address(self) -> str:
        """Return where the door is."""
        host, port, *_ = self._listener.getsockname()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def inside(self) -> int:
        """Return how many are in."""
        return len(self._inside)

    async def run(self) -> None:
        """Let strangers in until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._pace()
                    stranger = await self._accept()
                    if stranger is not None:
                        self._let_in(group.create_task(self._attend(stranger)))
        finally:
            self._listener.close()

    def _let_in(self, visit: asyncio.Task[None]) -> None:
        self._inside[visit] = None
        visit.add_done_callback(lambda ended: self._inside.pop(ended, None))
        if len(self._inside) > self._limits.connections:
            longest = next(iter(self._inside))
            del self._inside[longest]
            longest.cancel()

    async def _pace(self) -> None:
        """Wait until the next one may come in."""
        now = self._clock.monotonic()
        earned = (now - self._counted_at) * self._limits.per_second
        self._allowance = min(float(self._limits.connections), self._allowance + earned) - 1.0
        self._counted_at = now
        if self._allowance < 0.0:
            await self._clock.sleep(-self._allowance / self._limits.per_second)

    async def _accept(self) -> socket.socket | None:
        try:
            stranger, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError as error:
            get_log().warning("http.unaccepted", error=error.strerror or str(error))
            await self._clock.sleep(_REST_SECONDS)
            return None
        return stranger

    async def _attend(self, stranger: socket.socket) -> None:
        visit = _Visit(self.answering(), self._limits.request_bytes)
        try:
            async with self._clock.timeout(self._limits.seconds):
                loop = asyncio.get_running_loop()
                await loop.connect_accepted_socket(lambda: visit, stranger, ssl=self.tls)
                await visit.over.wait()
        except (TimeoutError, OSError):
            pass  # too slow, or no TLS: nobody here has to know
        finally:
            visit.end()


class _Visit(asyncio.Protocol):
    """Stands between a connection and what answers it, and counts."""

    def __init__(self, answering: asyncio.Protocol, limit: int) -> None:
        self._answering = answering
        self._left = limit
        self._transport: asyncio.Transport | None = None
        self.over = asyncio.Event()

    def end(self) -> None:
        """Break the connection off if it is still there."""
        if self._transport is not None and not self.over.is_set():
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._answering.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self.end()
        else:
            self._answering.data_received(data)

    def eof_received(self) -> bool | None:
        return self._answering.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        self._answering.connection_lost(error)
        self.over.set()

    def pause_writing(self) -> None:
        self._answering.pause_writing()

    def resume_writing(self) -> None:
        self._answering.resume_writing()
