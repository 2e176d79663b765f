"""What a local cluster costs: CPU of the server process per request and per watch event, by number of objects.

The server runs in a process of its own and reports its own CPU time, so that the client's work does not count.
"""

import asyncio
import contextlib
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson

SIZES = (100, 1_000, 10_000)
MEASURED_PAIRS = 500
WATCHERS = 3
IN_FLIGHT = 16
ROUNDS = 3
_PATH = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads"


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server and the way to ask it for its CPU time."""

    url: str
    token: str
    ca_file: str
    cpu_seconds: "Callable[[], Any]"


def run() -> None:
    """Measure and print."""
    asyncio.run(_run())


async def _run() -> None:
    print("Local server: CPU of the server process, TLS, token, orjson; best of", ROUNDS, "rounds")
    print(f"create + status patch of Workloads with {WATCHERS} watchers, {IN_FLIGHT} requests in flight\n")
    print(f"{'objects':>8} {'ms/request':>11} {'requests/CPU s':>15} {'us/event':>9} {'get ms':>7} {'page ms':>8}")
    for size in SIZES:
        async with _server() as server, _client(server) as session:
            await _fill(session, server, size)
            bare = min([await _measure_writes(session, server, size, 0) for _ in range(ROUNDS)])
            watched = min([await _measure_writes(session, server, size, WATCHERS) for _ in range(ROUNDS)])
            get = min([await _measure(server, 300, lambda _: _get(session, server)) for _ in range(ROUNDS)])
            page = min([await _measure(server, 20, lambda _: _page(session, server)) for _ in range(ROUNDS)])
            event = max(watched - bare, 0) / WATCHERS
            figures = f"{watched * 1e3:>11.3f} {1 / watched:>15.0f} {event * 1e6:>9.0f} {get * 1e3:>7.3f}"
            print(f"{size:>8} {figures} {page * 1e3:>8.2f}")
    print("\nms/request: one create or one status patch, fan-out to the watchers included.")
    print("us/event: what one more watcher adds to a request, from the difference to a run without watchers.")
    print("get: one object; page: a list of 500 objects.\n")


async def _measure_writes(session: aiohttp.ClientSession, server: ServerProcess, size: int, watchers: int) -> float:
    async with _watching(session, server, watchers):
        tag = f"{size}-{watchers}-{time.monotonic_ns()}"
        cost = await _measure(server, MEASURED_PAIRS, lambda at: _create_and_patch(session, server, f"m-{tag}-{at}"))
    await _for_each(MEASURED_PAIRS, lambda at: _delete(session, server, f"m-{tag}-{at}"))
    return cost / 2


async def _measure(server: ServerProcess, count: int, request: Callable[[int], Any]) -> float:
    before = await server.cpu_seconds()
    await _for_each(count, request)
    return float(await server.cpu_seconds() - before) / count


async def _for_each(count: int, request: Callable[[int], Any]) -> None:
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await request(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())


async def _fill(session: aiohttp.ClientSession, server: ServerProcess, size: int) -> None:
    await _for_each(size, lambda at: _create_and_patch(session, server, f"w-{at:05}"))


async def _create_and_patch(session: aiohttp.ClientSession, server: ServerProcess, name: str) -> None:
    async with session.post(server.url + _PATH, data=orjson.dumps(_workload(name)), headers=_JSON) as response:
        await response.read()
        assert response.status == 201, await response.text()
    url = f"{server.url}{_PATH}/{name}/status"
    async with session.patch(url, data=_STATUS, headers=_MERGE) as response:
        await response.read()
        assert response.status == 200, await response.text()


async def _delete(session: aiohttp.ClientSession, server: ServerProcess, name: str) -> None:
    async with session.delete(f"{server.url}{_PATH}/{name}") as response:
        await response.read()


async def _get(session: aiohttp.ClientSession, server: ServerProcess) -> None:
    async with session.get(f"{server.url}{_PATH}/w-00000") as response:
        await response.read()


async def _page(session: aiohttp.ClientSession, server: ServerProcess) -> None:
    async with session.get(f"{server.url}{_PATH}?limit=500") as response:
        await response.read()


@contextlib.asynccontextmanager
async def _watching(session: aiohttp.ClientSession, server: ServerProcess, watchers: int) -> AsyncIterator[None]:
    async with session.get(f"{server.url}{_PATH}?limit=1") as response:
        revision = orjson.loads(await response.read())["metadata"]["resourceVersion"]

    async def watch() -> None:
        async with session.get(f"{server.url}{_PATH}?watch=1&resourceVersion={revision}") as stream:
            while await stream.content.readany():
                pass

    tasks = [asyncio.ensure_future(watch()) for _ in range(watchers)]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def _client(server: ServerProcess) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=server.ca_file)
    connector = aiohttp.TCPConnector(ssl=context, limit=IN_FLIGHT + WATCHERS + 1)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers, read_bufsize=1 << 20) as session:
        yield session


@contextlib.asynccontextmanager
async def _server() -> AsyncIterator[ServerProcess]:
    with tempfile.TemporaryDirectory() as directory:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.local_server", directory, stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout
        url, token, ca_file = (await stdout.readline()).decode().split()

        async def cpu_seconds() -> float:
            stdin.write(b"cpu\n")
            return float(await stdout.readline())

        try:
            yield ServerProcess(url, token, ca_file, cpu_seconds)
        finally:
            stdin.close()
            await process.wait()


async def _serve(directory: Path) -> None:
    """Be the server process: serve until standard input ends, answering each line with the CPU time so far."""
    from localcluster.cluster import LocalCluster

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with LocalCluster("bench", directory) as cluster:
        print(cluster.url, cluster.token, cluster.ca_file, flush=True)
        while await reader.readline():
            print(time.process_time(), flush=True)


_JSON = {"Content-Type": "application/json"}
_MERGE = {"Content-Type": "application/merge-patch+json"}


def _workload(name: str) -> dict[str, Any]:
    """Return a Workload with two pod sets, about 2 kB."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": name, "labels": {"app": "trainer", "team": "vision"}},
        "spec": {
            "queueName": "team-queue",
            "priority": 100,
            "podSets": [_pod_set("driver", 1), _pod_set("worker", 8)],
        },
    }


def _pod_set(name: str, count: int) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example.com/trainer:1.0",
        "args": ["--epochs", "10", "--data", "/data"],
        "env": [{"name": f"SETTING_{at}", "value": str(at)} for at in range(6)],
        "resources": {"requests": {"cpu": "4", "memory": "16Gi"}, "limits": {"memory": "16Gi"}},
    }
    template = {"spec": {"containers": [container], "restartPolicy": "Never", "nodeSelector": {"pool": "gpu"}}}
    return {"name": name, "count": count, "template": template}


_STATUS = orjson.dumps(
    {
        "status": {
            "conditions": [
                {
                    "type": type_,
                    "status": "True",
                    "reason": "Benchmark",
                    "message": "Quota reserved in ClusterQueue gpu, wait time was 1s",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                    "observedGeneration": 1,
                }
                for type_ in ("QuotaReserved", "Admitted")
            ],
            "admission": {
                "clusterQueue": "gpu",
                "podSetAssignments": [
                    {
                        "name": name,
                        "count": count,
                        "flavors": {"cpu": "default", "memory": "default"},
                        "resourceUsage": {"cpu": str(4 * count), "memory": f"{16 * count}Gi"},
                    }
                    for name, count in (("driver", 1), ("worker", 8))
                ],
            },
        }
    }
)

if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
