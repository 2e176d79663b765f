"""Asks a daemon under test over its socket, as its commands do; what answers is measured like the rest of it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from config.api.meta import ObjectKey
from gates.wire.record_readers import replica_record
from manager.serving.socket_server import serve_api
from tests.integration.orchestrator.kueue import NAMESPACE, workload
from tests.integration.orchestrator.world import CHECK, World
from workerclient.wire.codec import Identity

Obj = dict[str, Any]


@dataclass(frozen=True)
class Asker:
    """A client that asks."""

    session: aiohttp.ClientSession

    async def get(self, path: str, **query: str) -> tuple[int, Obj]:
        async with self.session.get(f"http://daemon/v1/{path}", params=query) as answer:
            return answer.status, await answer.json()

    async def plan(self, manifest: Obj, namespace: str = NAMESPACE) -> tuple[int, Obj]:
        body = {"manifest": manifest, "namespace": namespace}
        async with self.session.post("http://daemon/v1/plan", json=body) as answer:
            return answer.status, await answer.json()

    async def all_of(self, subject: str, **query: str) -> tuple[list[Obj], int]:
        """Return a whole list, and how many pages it had."""
        found: list[Obj] = []
        place, pages = "", 0
        while place or not pages:
            status, page = await self.get(subject, **query, **({"continue": place} if place else {}))
            assert status == 200, page
            found += page[subject]
            place, pages = page["continue"], pages + 1
        return found, pages


@asynccontextmanager
async def asking(made: World, directory: Path) -> AsyncIterator[Asker]:
    """Let the daemon answer on its socket."""
    assert made.daemon is not None
    socket = directory / "asking"
    serving = made.lag.create_task(serve_api(socket, made.daemon.inspector))
    try:
        await made.until(socket.is_socket)
        connector = aiohttp.UnixConnector(str(socket), limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Asker(session)
    finally:
        serving.cancel()


def fill(made: World, count: int) -> list[str]:
    """Put Workloads, with a copy on each worker, into the daemon's caches as if it watched them; return their names."""
    assert made.daemon is not None
    daemon, names = made.daemon, [f"w{number:06}" for number in range(count)]
    for number, name in enumerate(names):
        raw = workload(name)
        raw["metadata"] |= {"uid": name, "namespace": NAMESPACE, "resourceVersion": str(10**9 + number)}
        checks = [{"name": CHECK, "state": "Pending", "message": "waits", "lastTransitionTime": made.hub.now()}]
        raw["status"] = {"admissionChecks": checks}
        identity = Identity(ObjectKey(NAMESPACE, name), name, str(10**9 + number))
        daemon.hub.workloads.cache.observe(identity, daemon.hub.read_workload(raw))
        raw["spec"]["preemptionGates"] = [{"name": "kueue.x-k8s.io/multikueue"}]
        for link in daemon.fleet.links.values():
            link.workloads.cache.observe(identity, replica_record(raw))
    return names
