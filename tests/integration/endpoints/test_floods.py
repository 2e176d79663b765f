"""A client that floods a port keeps no other client out: how many probes are answered meanwhile is counted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from config.types.choices import HttpAuthorization
from tests.integration.endpoints.house import READER, House, house

FLOOD, PROBER = "127.0.0.2", "127.0.0.1"
PROBES = 20
BETWEEN_PROBES = 50
ANSWERED_WITHIN = 1.0
CONNECTIONS = 64


@asynccontextmanager
async def flooding(home: House, door: int, address: str) -> AsyncIterator[list[asyncio.StreamReader]]:
    """Open connection after connection that says nothing, while the block goes on; no time passes meanwhile."""
    host, port = home.address(door)
    opened: list[asyncio.StreamReader] = []
    writers: list[asyncio.StreamWriter] = []

    async def flood() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(host, port, local_addr=(address, 0))
                opened.append(reader)
                writers.append(writer)

    task = asyncio.create_task(flood())
    try:
        yield opened
    finally:
        task.cancel()
        await asyncio.wait([task])
        for writer in writers:
            writer.transport.abort()


async def more_of(opened: list[asyncio.StreamReader], count: int) -> None:
    wanted = len(opened) + count
    async with asyncio.timeout(60):
        while len(opened) < wanted:  # noqa: ASYNC110 - a list sends no notification that it grew
            await asyncio.sleep(0.001)


async def answered(home: House, door: int, opened: list[asyncio.StreamReader]) -> int:
    """Probe again and again during a flood; return how many probes were answered soon."""
    count = 0
    for _ in range(PROBES):
        await more_of(opened, BETWEEN_PROBES)
        began = home.clock.monotonic()
        with suppress(OSError):
            count += await home.get("/healthz", door=door) == (200, "ok\n")
        assert home.clock.monotonic() - began < ANSWERED_WITHIN
        await home.clock.advance(0.1)
    return count


@pytest.mark.parametrize("address", [FLOOD, PROBER], ids=["from elsewhere", "from the prober's own address"])
async def test_S7_a_flood_on_the_probe_port_starves_no_probe(tmp_path: Path, address: str) -> None:
    async with house(tmp_path, probe_port=0) as home, flooding(home, 1, address) as opened:
        assert await answered(home, 1, opened) == PROBES
        assert home.endpoints.http_app.listeners[1].open_connections <= 9


async def test_S7_a_flood_of_another_address_on_the_port_with_tls_starves_no_probe(tmp_path: Path) -> None:
    async with house(tmp_path) as home, flooding(home, 0, FLOOD) as opened:
        assert await answered(home, 0, opened) == PROBES
        assert (await home.get("/metrics", READER.token))[0] == 200
        assert home.endpoints.http_app.listeners[0].open_connections <= CONNECTIONS // 2 + 1


@pytest.mark.parametrize("address", [FLOOD, PROBER], ids=["from elsewhere", "from the prober's own address"])
async def test_S7_without_tls_no_probe_is_paced(tmp_path: Path, address: str) -> None:
    plain: dict[str, Any] = {"certificate_file": None, "key_file": None, "authorization": HttpAuthorization.NONE}
    async with house(tmp_path, **plain) as home, flooding(home, 0, address) as opened:
        assert await answered(home, 0, opened) == PROBES


async def test_S7_who_comes_faster_than_the_pace_is_shut_out_at_once(tmp_path: Path) -> None:
    async with house(tmp_path) as home, flooding(home, 0, FLOOD) as opened:
        await more_of(opened, 3 * CONNECTIONS)
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                assert await opened[2 * CONNECTIONS].read() == b"", "no time has passed, so there is no room"


async def test_S7_one_address_has_half_of_the_places_and_sends_away_only_its_own(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        host, port = home.address()
        mine = [await asyncio.open_connection(host, port, local_addr=(PROBER, 0)) for _ in range(5)]
        async with flooding(home, 0, FLOOD) as opened:
            for _ in range(4):
                await more_of(opened, 50)
                await home.clock.advance(1)
            listener = home.endpoints.http_app.listeners[0]
            assert 5 < listener.open_connections <= CONNECTIONS // 2 + 5
            assert not any(reader.at_eof() for reader, _ in mine)
        for _, writer in mine:
            writer.transport.abort()
