"""What strangers at the HTTP endpoint cost the daemon's work: signal → gate, without them and with them, in one run.

The endpoint speaks https and wants a token. The strangers hold 1,000 idle connections, send requests drop by drop,
headers and queries of a megabyte, wrong tokens and crooked paths, all at once and for as long as the signals last.

python -m benchmarks hostile_clients
"""

import asyncio
import secrets
import socket
import ssl
from collections import Counter
from contextlib import suppress
from pathlib import Path
from statistics import quantiles
from typing import Any

from benchmarks.orchestrator_processes import FleetProcess, running_daemon, running_fleet
from localcluster.serving.tls import issue_certificates

SIGNALS = 100
WORKERS = 3
FULL_CPU = 4
IDLE = 1_000
SLOW = 50
REST_SECONDS = 0.05
"""Between two requests of one stranger: the machine is also the daemon's."""

LONG = b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * (1 << 20) + b"\r\n\r\n"
QUERY = b"GET /metrics?" + b"a=b&" * (1 << 18) + b" HTTP/1.1\r\nHost: x\r\n\r\n"
CROOKED = b"GET /healthz/..%2f..%2fetc/passwd HTTP/1.1\r\nHost: x\r\n\r\n"


class Strangers:
    """All that come to one address, and how they fare."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._port = port
        self._trust = trust
        self.outcomes: Counter[str] = Counter()

    async def attack(self) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(IDLE):
                group.create_task(self._again(self._idle))
            for _ in range(SLOW):
                group.create_task(self._again(self._drop_by_drop))
            for request in (LONG, QUERY, CROOKED):
                group.create_task(self._again(self._ask, request))
            group.create_task(self._again(self._guess))

    async def _again(self, visit: Any, *arguments: Any) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                await visit(*arguments)
            await asyncio.sleep(REST_SECONDS)

    async def _idle(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        await self._read(reader, writer, "idle")
        await asyncio.sleep(1.0)

    async def _drop_by_drop(self) -> None:
        reader, writer = await self._connect()
        writer.write(b"GET /metrics HTTP/1.1\r\n")
        ending = asyncio.ensure_future(self._read(reader, writer, "slow"))
        while not ending.done():
            writer.write(b"X-Slow: a\r\n")
            await asyncio.wait([ending], timeout=1.0)

    async def _guess(self) -> None:
        token = secrets.token_urlsafe(32)
        head = f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        await self._ask(head.encode(), "wrong token")

    async def _ask(self, request: bytes, what: str = "large or crooked") -> None:
        reader, writer = await self._connect()
        writer.write(request)
        await self._read(reader, writer, what)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, ssl=self._trust, server_hostname="localhost")

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, what: str) -> None:
        answer = b""
        try:
            with suppress(OSError):
                answer = await reader.read()
        finally:
            writer.transport.abort()
        code = answer[9:12].decode("ascii", "replace") if answer.startswith(b"HTTP/1.1 ") else "cut off"
        self.outcomes[f"{what}: {code}"] += 1


def run() -> None:
    """Measure and print."""
    asyncio.run(_run())


async def _run() -> None:
    print(
        f"Signal → gate open, {SIGNALS} signals each, {WORKERS} workers, https with a token; strangers share the cores"
    )
    calm, _ = await _measure(attacked=False)
    attacked, outcomes = await _measure(attacked=True)
    for name, cut in (("p50", 49), ("p99", 98)):
        before, during = quantiles(calm, n=100)[cut], quantiles(attacked, n=100)[cut]
        print(f"{name}: {before:8.1f} ms without, {during:8.1f} ms with strangers, ratio {during / before:.2f}")
    for what, count in sorted(outcomes.items()):
        print(f"  {what:28} {count:>8}")


async def _measure(*, attacked: bool) -> tuple[list[float], Counter[str]]:
    async with running_fleet(WORKERS, FULL_CPU) as fleet:
        port, trust, section = _endpoint(fleet.kubeconfig.parent)
        async with running_daemon(fleet, WORKERS, http=section):
            await fleet.order("connect")
            strangers = Strangers(port, trust)
            attack = asyncio.create_task(strangers.attack()) if attacked else None
            try:
                return await _latencies(fleet), strangers.outcomes
            finally:
                if attack is not None:
                    attack.cancel()
                    await asyncio.wait([attack])


async def _latencies(fleet: FleetProcess) -> list[float]:
    answer = await fleet.order("signals", count=SIGNALS)
    return [float(each) for each in answer["latencies"]]


def _endpoint(directory: Path) -> tuple[int, ssl.SSLContext, dict[str, Any]]:
    certificates = issue_certificates("endpoint")
    (directory / "tls.crt").write_bytes(certificates.server)
    (directory / "tls.key").write_bytes(certificates.server_key)
    (directory / "token").write_text(secrets.token_urlsafe(32))
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = int(chosen.getsockname()[1])
    section = {
        "port": port,
        "certificateFile": str(directory / "tls.crt"),
        "keyFile": str(directory / "tls.key"),
        "authorization": "TokenFile",
        "tokenFile": str(directory / "token"),
    }
    return port, ssl.create_default_context(cadata=certificates.authority.decode()), section
