"""Connections that may stay: they outlive short requests, newcomers do not end them, and they keep no newcomer out."""

import asyncio
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from manager.serving.permits import PERMIT
from tests.integration.endpoints.house import OPERATOR, House, house, rest_of

ASK = f"GET /v1/stay HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR.token}\r\n\r\n".encode()


async def staying(home: House, seconds: float) -> tuple[asyncio.StreamReader, list[bool]]:
    """Connect to what answers for a long time; the list grows while its right is asked about."""
    rights: list[bool] = []

    async def stay(request: web.Request) -> web.StreamResponse:
        request[PERMIT].stay(seconds)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"here\n")
        rights.append(await request[PERMIT].holds())
        await asyncio.Event().wait()
        return response

    await home.endpoints.http_app.show([], lambda: "", [web.get("/v1/stay", stay)])
    reader, writer = await home.connect()
    writer.write(ASK)
    await home.meanwhile(reader.readuntil(b"here\n"))
    return reader, rights


async def ends(home: House, reader: asyncio.StreamReader) -> bool:
    """Tell whether the other side ends a connection within a moment."""
    reading = asyncio.ensure_future(rest_of(reader))
    await home.meanwhile(asyncio.sleep(0.05))
    is_over = reading.done()
    reading.cancel()
    with suppress(asyncio.CancelledError):
        await reading
    return is_over


async def test_a_connection_that_stays_lasts_as_long_as_it_said(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        reader, rights = await staying(home, 600)
        assert rights == [True]
        await home.clock.advance(590)
        assert not await ends(home, reader)
        await home.clock.advance(20)
        assert await ends(home, reader)


async def test_newcomers_do_not_end_it_and_it_takes_no_place_of_theirs(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        reader, _ = await staying(home, 600)
        assert home.endpoints.http_app.listeners[0].open_connections == 0
        for _ in range(70):
            await home.connect(tls=False)
        assert not await ends(home, reader)
        await home.clock.advance(5)  # so many beginnings used up the pace of handshakes
        assert await home.get("/healthz") == (200, "ok\n")
