"""A server of raw answers on loopback, in plain HTTP because what is fuzzed is what the encryption carries."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from tests.fuzz.answers import Asked, Ending, Reply, answer_to

_HELD_SECONDS = 2.0
"""Longer than a client with a hurried clock waits for an answer."""


class FuzzServer:
    """Answers request number n with what a seed makes of n."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.served = 0
        self.url = ""
        self.last: deque[tuple[int, Asked, bytes]] = deque(maxlen=40)
        """The answers that were given last, to find out which one caused a failure."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["FuzzServer"]:
        """Listen during the enclosed block."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ending = Ending.KEEP
        try:
            while ending is Ending.KEEP:
                reply = self._reply(await _request(reader))
                writer.write(reply.raw)
                await writer.drain()
                ending = reply.ending
            if ending is Ending.HOLD:
                async with asyncio.timeout(_HELD_SECONDS):
                    await reader.read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            ending = Ending.ABORT
        finally:
            if ending is Ending.ABORT:
                writer.transport.abort()
            writer.close()

    def _reply(self, asked: Asked) -> Reply:
        self.served += 1
        reply = answer_to(asked, Random(f"{self._seed}-{self.served}"))  # noqa: S311 - to be repeated, not to be secret
        self.last.append((self.served, asked, reply.raw))
        return reply


async def _request(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, _, rest = head.partition(" ")
    path, _, query = rest.partition(" ")[0].partition("?")
    length = [line.partition(":")[2] for line in head.lower().split("\r\n") if line.startswith("content-length")]
    await reader.readexactly(int(length[0]) if length else 0)
    return Asked(method, path, query)
