"""Strangers at the door: whatever they send, they are refused or bounded, and others are answered."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.integration.endpoints.house import OPERATOR, READER, House, house, rest_of
from tests.support.virtual_time import until

CONNECTIONS = 64
SECONDS = 10.0
PER_SECOND = 10


async def still_answers(home: House) -> None:
    assert await home.get("/healthz") == (200, "ok\n")
    assert (await home.get("/metrics", READER.token))[0] == 200


async def said(home: House, request: bytes) -> bytes:
    """Send bytes and return all that comes back."""
    reader, writer = await home.connect()
    try:
        writer.write(request)
        return await home.meanwhile(rest_of(reader))
    finally:
        writer.transport.abort()


PATHS = [
    "/healthz/../metrics",
    "/readyz/%2e%2e/metrics",
    "/..%2fmetrics",
    "//metrics",
    "/metrics/",
    "/v1/../../etc/passwd",
    "/v1/workloads/..%2f..%2f/x/explanation",
    "/v1/workers/..",
    "/%00metrics",
    "/v1/workers%00",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", ["", READER.token], ids=["no token", "a reader of metrics"])
async def test_no_path_leads_around_the_guard(tmp_path: Path, path: str, token: str) -> None:
    async with house(tmp_path) as home:
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        answer = await said(home, head.encode())
        assert answer.split(b" ")[1] in (b"400", b"401", b"403", b"404")
        assert b"turnstile_sample" not in answer
        assert b'{"workers"' not in answer


REQUESTS = {
    "a header of a megabyte": b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * (1 << 20) + b"\r\n\r\n",
    "a token of a megabyte": b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
    + b"a" * (1 << 20)
    + b"\r\n\r\n",
    "ten thousand headers": b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X-Many: a\r\n" * 10_000 + b"\r\n",
    "a query of a megabyte": b"GET /metrics?" + b"a=b&" * (1 << 18) + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "no HTTP": b"\x00\x01\x02\x03" * 1000,
    "a body without end": b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n" + b"a" * (1 << 20),
    "another method": b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
    "two lengths": b"GET / HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("case", REQUESTS)
async def test_what_is_too_large_or_no_request_is_refused(tmp_path: Path, case: str) -> None:
    async with house(tmp_path) as home:
        answer = await said(home, REQUESTS[case])
        assert b"turnstile_sample" not in answer
        if case != "a body without end":
            assert b" 200 " not in answer.split(b"\r\n")[0]
        await still_answers(home)


async def test_a_request_that_comes_drop_by_drop_is_cut_off(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        reader, writer = await home.connect()
        began = home.clock.monotonic()
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        over = asyncio.ensure_future(rest_of(reader))
        while not over.done():
            writer.write(b"X-Slow: a\r\n")
            await home.clock.advance(0.5)
            await asyncio.sleep(0.001)
            assert home.clock.monotonic() - began < SECONDS + 5
        assert over.result() == b""
        writer.transport.abort()
        await still_answers(home)


async def test_an_answer_that_is_not_read_is_cut_off(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        _, writer = await home.connect()
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        listener = home.endpoints.http_app.listeners[0]
        await home.clock.advance(SECONDS + 1)
        await until(lambda: listener.open_connections == 0)
        writer.transport.abort()


@pytest.mark.parametrize("tls", [True, False], ids=["after TLS", "before TLS"])
async def test_a_thousand_idle_connections_keep_no_client_out(tmp_path: Path, *, tls: bool) -> None:
    async with house(tmp_path) as home, AsyncExitStack() as open_ones:
        listener = home.endpoints.http_app.listeners[0]
        for _ in range(1000 if not tls else 3 * CONNECTIONS):
            await home.clock.advance(1 / PER_SECOND)
            _, writer = await home.connect(tls=tls)
            open_ones.callback(writer.close)
            assert listener.open_connections <= CONNECTIONS + 1
        await still_answers(home)
        await home.clock.advance(SECONDS + 1)
        await until(lambda: listener.open_connections == 0)


async def test_a_handshake_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        reader, writer = await home.connect(tls=False)
        writer.write(b"\x16\x03\x01")
        await until(lambda: home.endpoints.http_app.listeners[0].open_connections == 1)
        await home.clock.advance(SECONDS + 1)
        assert await home.meanwhile(rest_of(reader)) == b""
        writer.transport.abort()
        await still_answers(home)


async def test_a_connection_is_for_one_request(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        head = f"GET /v1/workers HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {OPERATOR.token}\r\n\r\n".encode()
        answer = await said(home, head * 5)
        assert answer.count(b"HTTP/1.1 200") == 1
        assert b"Connection: close" in answer
