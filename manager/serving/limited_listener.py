"""A port that any client can reach: how many connections, how fast, for how long, and how much they may send.

A connection is for one short request. Every connection is accepted at once, so that no backlog forms; those that come
faster than TLS handshakes can be made are closed again. When the limit is reached the oldest connection is closed, and
one address never has more than half of the limit, so that idle connections never keep a probe out. All limits hold
before TLS too.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from ssl import SSLContext
from typing import Final, cast

from manager.logging.logs import get_log
from manager.serving.connection_rate import ConnectionRate, shared_address
from workerclient.base.clock import Clock, Deadline

_REST_SECONDS: Final = 1.0
"""How long to accept nothing after the system refused to."""
_WARNING_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """What all clients together may use; one address half of it."""

    connections: int = 64
    seconds: float = 10.0
    """From the first packet to the end of the answer."""
    request_bytes: int = 64 << 10
    handshakes_per_second: float = 20.0
    """How many may begin TLS, beyond a burst of `connections`. Without TLS there is no such limit."""


class LimitedListener:
    """One listening socket; `run` once."""

    def __init__(
        self,
        listener: socket.socket,
        answering: Callable[[], asyncio.Protocol],
        clock: Clock,
        tls: SSLContext | None = None,
        limits: ListenerLimits | None = None,
    ) -> None:
        self._listener = listener
        self.answering = answering
        """Makes what answers the next connection."""
        self.tls = tls
        """What the next connection is protected with."""
        self._clock = clock
        self._limits = limits or ListenerLimits()
        self._rate = ConnectionRate(clock, self._limits.handshakes_per_second, self._limits.connections)
        self._open: dict[asyncio.Task[None], str] = {}
        """The connections, oldest first, with their addresses."""
        self._serving: dict[_BoundedConnection, tuple[asyncio.Task[None], Deadline]] = {}
        self._silent_until = float("-inf")

    @property
    def address(self) -> str:
        """Return where connections are accepted."""
        host, port, *_ = self._listener.getsockname()
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    @property
    def open_connections(self) -> int:
        """Return how many connections are open."""
        return len(self._open)

    def keep(self, transport: asyncio.BaseTransport | None, seconds: float) -> bool:
        """Let a connection stay for longer; returns whether it is one of this port.

        It takes none of the places of short requests from now on, and no newcomer ends it. How many stay is limited by
        the caller, which knows who they are.
        """
        for connection, (task, deadline) in self._serving.items():
            if transport is not None and connection.transport is transport:
                self._open.pop(task, None)
                deadline.extend(seconds)
                return True
        return False

    async def run(self) -> None:
        """Accept connections until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    accepted = await self._accept()
                    if accepted is None:
                        continue
                    client, address = accepted
                    if self.tls is None or self._rate.admits(address):
                        self._admit(group.create_task(self._serve(client)), address)
                    else:
                        client.close()
                        self._warn(address)
                    await self._clock.sleep(0)  # `accept` does not yield to other tasks while connections wait
        finally:
            self._listener.close()

    def _admit(self, connection: asyncio.Task[None], address: str) -> None:
        self._open[connection] = address
        connection.add_done_callback(lambda ended: self._open.pop(ended, None))
        of_address = [each for each, other in self._open.items() if other == address]
        if len(of_address) > self._limits.connections // 2:
            self._drop(of_address[0])
        elif len(self._open) > self._limits.connections:
            self._drop(next(iter(self._open)))

    def _drop(self, connection: asyncio.Task[None]) -> None:
        del self._open[connection]
        connection.cancel()

    async def _accept(self) -> tuple[socket.socket, str] | None:
        try:
            client, (host, *_) = await asyncio.get_running_loop().sock_accept(self._listener)
        except OSError as error:
            get_log().warning("http.unaccepted", error=error.strerror or str(error))
            await self._clock.sleep(_REST_SECONDS)
            return None
        return client, shared_address(host)

    def _warn(self, address: str) -> None:
        """Log that a connection was closed, but not for every one."""
        now = self._clock.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + _WARNING_SECONDS
            get_log().warning("http.crowded", listener=self.address, client=address)

    async def _serve(self, client: socket.socket) -> None:
        connection = _BoundedConnection(self.answering(), self._limits.request_bytes)
        try:
            async with self._clock.timeout(self._limits.seconds) as deadline:
                loop = asyncio.get_running_loop()
                if (task := asyncio.current_task()) is not None:
                    self._serving[connection] = (task, deadline)
                await loop.connect_accepted_socket(lambda: connection, client, ssl=self.tls)
                await connection.over.wait()
        except (TimeoutError, OSError):
            pass  # too slow, or no TLS: the fault of the client
        finally:
            self._serving.pop(connection, None)
            connection.end()


class _BoundedConnection(asyncio.Protocol):
    """Passes a connection on to what answers it, and bounds the bytes that it sends."""

    def __init__(self, answering: asyncio.Protocol, limit: int) -> None:
        self._answering = answering
        self._left = limit
        self._transport: asyncio.Transport | None = None
        self.over = asyncio.Event()

    @property
    def transport(self) -> asyncio.Transport | None:
        """Return the connection itself; None until it is made."""
        return self._transport

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
