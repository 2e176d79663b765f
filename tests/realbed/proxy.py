"""A TCP proxy on loopback that can be cut: between a hub and a worker, whose own address stays reachable for the test.

Runs in a thread of its own, so that a test's event loop neither drives nor delays it.
"""

import asyncio
import threading
from collections.abc import Coroutine
from enum import StrEnum
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
_CHUNK = 65536


class Cut(StrEnum):
    """How the way looks while it is cut."""

    REFUSED = "refused"
    """Connections break, new ones are refused."""
    BLACK_HOLE = "black hole"
    """Connections stay, new ones are accepted, nothing passes."""


class Proxy:
    """Forwards one port to another. Use it as a context manager."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._server: asyncio.Server | None = None
        self._passes = asyncio.Event()
        # No other process holds a connection on which both sides are silent.
        self._serving: set[asyncio.Task[None] | None] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        """Return the address that clients use instead of the target's."""
        return f"https://{HOST}:{self.port}"

    def cut(self, how: Cut) -> None:
        """Let nothing through until `mend`."""
        self._passes.clear()
        if how is Cut.REFUSED:
            self._do(self._close())

    def mend(self) -> None:
        """Let everything through; what was held back while nothing passed is delivered."""
        self._do(self._open())

    def _do(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _open(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]
        self._passes.set()

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets the connections that were broken off be taken down

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._serving.add(task)
        try:
            await self._passes.wait()
            await self._join(reader, writer)
        except* (OSError, asyncio.CancelledError):
            pass  # the client sees a connection that breaks
        finally:
            writer.transport.abort()
            self._serving.discard(task)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass everything both ways until both sides are done, or one breaks."""
        onward, back = await asyncio.open_connection(HOST, self._target_port)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(reader, back))
                group.create_task(self._pump(onward, writer))
        finally:
            back.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        while chunk := await source.read(_CHUNK):
            await self._passes.wait()
            sink.write(chunk)
            await sink.drain()
        sink.write_eof()
