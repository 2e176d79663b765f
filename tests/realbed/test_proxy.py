"""The proxy between a hub and a worker: it passes everything, or nothing in one of two ways."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest
import pytest_asyncio

from tests.realbed.proxy import HOST, Cut, Proxy

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest_asyncio.fixture
async def way() -> AsyncIterator[Proxy]:
    """Run a server that sends back what it gets, behind a proxy."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(line)
        finally:
            writer.close()

    server = await asyncio.start_server(echo, HOST, 0)
    async with server:
        with Proxy(server.sockets[0].getsockname()[1]) as proxy:
            yield proxy


async def connect(way: Proxy) -> Streams:
    return await asyncio.open_connection(HOST, way.port)


async def ask(streams: Streams, text: bytes) -> bytes:
    reader, writer = streams
    writer.write(text)
    async with asyncio.timeout(60):
        return await reader.readline()


async def test_it_passes_everything(way: Proxy) -> None:
    streams = await connect(way)
    assert await ask(streams, b"one\n") == b"one\n"
    assert await ask(streams, b"two\n") == b"two\n"
    streams[1].close()


async def test_a_cut_breaks_connections_and_refuses_new_ones(way: Proxy) -> None:
    reader, writer = await connect(way)
    assert await ask((reader, writer), b"one\n") == b"one\n"
    way.cut(Cut.REFUSED)
    with pytest.raises(ConnectionError):
        await connect(way)
    async with asyncio.timeout(60):
        with suppress(ConnectionError):
            assert await reader.readline() == b""
    writer.close()
    way.mend()
    streams = await connect(way)
    assert await ask(streams, b"three\n") == b"three\n"
    streams[1].close()


async def test_a_server_that_breaks_off_is_passed_on() -> None:
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.transport.abort()

    server = await asyncio.start_server(break_off, HOST, 0)
    async with server:
        with Proxy(server.sockets[0].getsockname()[1]) as proxy:
            reader, writer = await connect(proxy)
            writer.write(b"one\n")
            async with asyncio.timeout(60):
                with suppress(ConnectionError):
                    assert await reader.readline() == b""
            writer.close()


async def test_a_black_hole_keeps_connections_and_delivers_when_it_is_gone(way: Proxy) -> None:
    old = await connect(way)
    assert await ask(old, b"one\n") == b"one\n"
    way.cut(Cut.BLACK_HOLE)
    new = await connect(way)
    answers = [asyncio.create_task(ask(streams, b"late\n")) for streams in (old, new)]
    done, _ = await asyncio.wait(answers, timeout=0.05)
    assert not done
    way.mend()
    assert await asyncio.gather(*answers) == [b"late\n", b"late\n"]
    for _, writer in (old, new):
        writer.close()
