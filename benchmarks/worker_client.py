"""What the client costs: CPU of this process only, against a local cluster in a child process, over TLS.

python -m benchmarks.worker_client [objects]
"""

import asyncio
import gc
import random
import resource
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
import orjson

from benchmarks.worker_client_objects import workload
from config.api.meta import Obj, ObjectKey
from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.sources import load_worker_kubeconfig
from config.sections.sections import KubeconfigPolicy
from manager.base.clock import SystemClock
from workerclient.base.kind import ApiKind
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient, WatchedResource
from workerclient.objects.resource import Precondition, Resource
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import BudgetLimits

WORKLOADS = ApiKind("kueue.x-k8s.io", "v1beta2", "Workload", "workloads")
OBJECTS = 1_000
LISTED_OBJECTS = 5_000
IN_FLIGHT = 16
ROUNDS = 3
UNLIMITED = ClientLimits(budget=BudgetLimits(queries_per_second=1e6, burst=1_000_000))
STATUS = {"status": {"nominatedClusterNames": ["w1", "w2", "w3"]}}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a manager would keep of a replica."""

    uid: str
    version: str
    conditions: tuple[tuple[str, str], ...]


def project(raw: Obj) -> Kept:
    """Drop pod templates and managed fields."""
    metadata, status = raw["metadata"], raw.get("status") or {}
    conditions = tuple((each["type"], each["status"]) for each in status.get("conditions") or ())
    return Kept(metadata["uid"], metadata["resourceVersion"], conditions)


class _Server:
    """The child process."""

    def __init__(self, process: asyncio.subprocess.Process, access: ClusterAccess) -> None:
        self.process = process
        self.access = access

    async def create(self, count: int) -> None:
        """Let the server make Workloads by itself."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"create {count}\n".encode())
        await self.process.stdout.readline()


@asynccontextmanager
async def _child_server() -> AsyncIterator[_Server]:
    pipe = asyncio.subprocess.PIPE
    with TemporaryDirectory() as directory:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.worker_client_server", directory, stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        path = Path((await process.stdout.readline()).decode().strip())
        policy = KubeconfigPolicy(allowed_directories=(path.parent,))
        try:
            yield _Server(process, load_worker_kubeconfig(path, policy))
        finally:
            process.stdin.close()
            await process.wait()


def _client_of(server: _Server) -> tuple[ClusterClient, WatchedResource[Kept]]:
    client = ClusterClient("bench", server.access, ClientContext(SystemClock(), random.random), UNLIMITED)
    return client, client.follow(WatchedKind(WORKLOADS, project))


async def _synced(followed: WatchedResource[Kept], objects: int) -> None:
    """Wait until the cache holds that many; looking rarely, so that waiting costs nothing."""
    while not followed.cache.synced or len(followed.cache) < objects:  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def _measured(work: Callable[[], Awaitable[object]]) -> float:
    """Return the CPU seconds of this process while the work was done."""
    gc.collect()
    began = time.process_time()
    await work()
    return time.process_time() - began


async def _in_lanes(write: Callable[[int], Awaitable[None]]) -> None:
    async def lane(first: int) -> None:
        for number in range(first, OBJECTS, IN_FLIGHT):
            await write(number)

    async with asyncio.TaskGroup() as group:
        for first in range(IN_FLIGHT):
            group.create_task(lane(first))


async def _bare_writes(server: _Server) -> float:
    assert isinstance(server.access.ca, bytes)
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=server.access.ca.decode()))
    headers = {"Authorization": f"Bearer {server.access.token}"}
    url = f"{server.access.server}{WORKLOADS.collection_path('default')}"
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def write(number: int) -> None:
            body = orjson.dumps(workload(f"w-{number}"))
            async with session.post(url, data=body, headers={"Content-Type": "application/json"}) as response:
                stored = orjson.loads(await response.read())
            body = orjson.dumps({**STATUS, "metadata": {"resourceVersion": stored["metadata"]["resourceVersion"]}})
            patch_type = {"Content-Type": "application/merge-patch+json"}
            async with session.patch(f"{url}/w-{number}/status", data=body, headers=patch_type) as response:
                orjson.loads(await response.read())

        return await _measured(lambda: _in_lanes(write)) * 1e3 / OBJECTS


async def _writes(target: Resource[Obj] | Resource[Kept]) -> float:
    async def write(number: int) -> None:
        metadata = (await target.create(workload(f"w-{number}")))["metadata"]
        precondition = Precondition(metadata["uid"], metadata["resourceVersion"])
        await target.merge_patch(ObjectKey("default", f"w-{number}"), STATUS, precondition, subresource="status")

    return await _measured(lambda: _in_lanes(write)) * 1e3 / OBJECTS


async def _plain_writes(server: _Server) -> float:
    client = ClusterClient("bench", server.access, ClientContext(SystemClock(), random.random), UNLIMITED)
    async with client.running():
        return await _writes(client.resource(WORKLOADS))


async def _followed_writes(server: _Server) -> float:
    client, followed = _client_of(server)
    async with client.running():
        await _synced(followed, 0)
        return await _writes(followed.resource)


async def _watched(server: _Server) -> float:
    client, followed = _client_of(server)
    async with client.running():
        await _synced(followed, 0)

        async def receive() -> None:
            await server.create(OBJECTS)
            await _synced(followed, OBJECTS)

        return await _measured(receive) * 1e6 / OBJECTS


async def _listed(server: _Server) -> tuple[float, float]:
    client, followed = _client_of(server)
    gc.collect()
    resident = _resident_kb()
    async with client.running():
        seconds = await _measured(lambda: _synced(followed, LISTED_OBJECTS))
        gc.collect()
        return seconds * 1e6 / LISTED_OBJECTS, (_resident_kb() - resident) / LISTED_OBJECTS


def _resident_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1024


def run() -> None:
    """Measure and print."""
    asyncio.run(_run())


async def _run() -> None:
    print(f"Client of one cluster: CPU of the client process, TLS; best of {ROUNDS} rounds of {OBJECTS} Workloads")
    print(f"writes with {IN_FLIGHT} in flight; 'bare aiohttp' is the same work without workerclient\n")
    await _print_best("create + status patch, bare aiohttp", "ms", _bare_writes)
    await _print_best("create + status patch", "ms", _plain_writes)
    await _print_best("create + status patch, watching them too", "ms", _followed_writes)
    await _print_best("watch event into the cache", "us", _watched)
    async with _child_server() as server:
        await server.create(LISTED_OBJECTS)
        microseconds, kilobytes = await _listed(server)
        print(f"{f'list of {LISTED_OBJECTS} in pages of 500, per object':42} {microseconds:>8.0f} us")
        print(f"{'resident memory after it, per object':42} {kilobytes:>8.2f} kB\n")


async def _print_best(label: str, unit: str, measure: Callable[["_Server"], Awaitable[float]]) -> None:
    rounds = []
    for _ in range(ROUNDS):
        async with _child_server() as server:
            rounds.append(await measure(server))
    print(f"{label:42} {min(rounds):>8.3f} {unit}")
