"""Endpoints on loopback, a hub that knows some users, and a clock that the tests move."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from aiohttp import web
from prometheus_client import CollectorRegistry, Gauge

from config.sections.http import Http
from config.types.choices import HttpAuthorization
from localcluster.access.auth import Allow, TokenUser
from localcluster.cluster import LocalCluster
from localcluster.serving.tls import issue_certificates
from manager.serving.endpoints import Endpoints
from tests.support.clusters import access_to, no_jitter
from tests.support.virtual_time import VirtualClock
from workerclient.cluster import ClientContext

Result = TypeVar("Result")

REVIEWER = TokenUser(
    "turnstile",
    "the-token-of-turnstile-itself",
    rules=(Allow(("create",), ("tokenreviews", "subjectaccessreviews")),),
)
READER = TokenUser("prometheus", "the-token-of-prometheus", rules=(Allow(("get",), paths=("/metrics",)),))
STRANGER = TokenUser("stranger", "the-token-of-somebody-else", rules=())
OPERATOR = TokenUser("operator", "the-token-of-an-operator", rules=(Allow(("get",), paths=("/v1/*",)),))
ELSEWHERE = TokenUser("elsewhere", "a-token-made-for-vault", rules=READER.rules, audiences=("vault",))
MEANT = TokenUser("meant", "a-token-made-for-turnstile", rules=READER.rules, audiences=("turnstile",))
USERS = (REVIEWER, READER, STRANGER, OPERATOR, ELSEWHERE, MEANT)


@dataclass
class House:
    """Running endpoints."""

    endpoints: Endpoints
    clock: VirtualClock
    hub: LocalCluster | None
    settings: Http
    authority: ssl.SSLContext
    session: aiohttp.ClientSession
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def address(self, door: int = 0) -> tuple[str, int]:
        host, _, port = self.endpoints.http_app.addresses[door].rpartition(":")
        return host, int(port)

    async def get(self, path: str, token: str = "", door: int = 0) -> tuple[int, str]:
        """Ask; letting time pass meanwhile, so that no request waits for the pace of the door."""
        scheme = "https" if door == 0 and self.settings.certificate_file else "http"
        host, port = self.address(door)
        headers = {"Authorization": f"Bearer {token}"} if token else {}

        async def ask() -> tuple[int, str]:
            url = f"{scheme}://{host}:{port}{path}"
            async with self.session.get(url, headers=headers, ssl=self.authority, allow_redirects=False) as answer:
                return answer.status, await answer.text()

        return await self.meanwhile(ask())

    async def meanwhile(self, doing: Coroutine[Any, Any, Result], step: float = 0.001) -> Result:
        """Let a little time pass again and again until something is done."""
        task = asyncio.ensure_future(doing)
        async with asyncio.timeout(120):
            while not task.done():
                await self.clock.advance(step)
                await asyncio.wait([task], timeout=0.001)
        return task.result()

    async def connect(self, *, tls: bool = True) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self.address()
        protection: dict[str, Any] = {"ssl": self.authority, "server_hostname": "localhost"} if tls else {}
        streams = await self.meanwhile(asyncio.open_connection(host, port, **protection))
        self.writers.append(streams[1])
        return streams

    async def hang_up(self) -> None:
        """End every connection that is left."""
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError, TimeoutError):
                await self.meanwhile(writer.wait_closed())

    def reviews(self) -> int:
        """Return how many tokens the hub was asked about."""
        assert self.hub is not None
        counts = self.hub.traffic.counts().items()
        return sum(count for asked, count in counts if asked.resource == "tokenreviews")


async def rest_of(reader: asyncio.StreamReader) -> bytes:
    """Read until the other side ends the connection, however it does."""
    with suppress(ConnectionError, ssl.SSLError):
        return await reader.read()
    return b""


def write_certificate(directory: Path) -> bytes:
    """Write a certificate and its key for loopback, and return the authority."""
    certificates = issue_certificates("endpoints")
    (directory / "tls.crt").write_bytes(certificates.server)
    (directory / "tls.key").write_bytes(certificates.server_key)
    return certificates.authority


@asynccontextmanager
async def house(
    directory: Path, *, users: Sequence[TokenUser] = USERS, with_hub: bool = True, **options: Any
) -> AsyncIterator[House]:
    """Open endpoints with TLS, and by default with the hub's authorization."""
    authority = ssl.create_default_context(cadata=write_certificate(directory).decode())
    chosen = {"authorization": HttpAuthorization.KUBERNETES} if with_hub else {}
    files = {"certificate_file": str(directory / "tls.crt"), "key_file": str(directory / "tls.key")}
    settings = Http(**{"port": 0, **files, **chosen, **options})
    clock = VirtualClock()
    async with LocalCluster("hub", directory, users=users) as hub, aiohttp.ClientSession(trust_env=False) as session:
        access = replace(access_to(hub), token=REVIEWER.token, client_certificate=None)
        endpoints = Endpoints(settings, access, ClientContext(clock, no_jitter))
        async with endpoints.open(settings) as board:
            registry = CollectorRegistry()
            Gauge("turnstile_sample", "A sample.", registry=registry).set(1)
            await board.show([registry], lambda: "", [web.get("/v1/workers", _workers), web.get(_EXPLAIN, _workers)])
            home = House(endpoints, clock, hub, settings, authority, session)
            try:
                yield home
            finally:
                await home.hang_up()


_EXPLAIN = "/v1/workloads/{namespace}/{name}/explanation"


async def _workers(_request: web.Request) -> web.Response:
    return web.json_response({"workers": []})
