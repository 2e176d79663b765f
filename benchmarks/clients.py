"""The daemon's client beside kubernetes-asyncio, in one run against one local cluster.

    python -m benchmarks clients

Processor time of this process alone: the cluster runs in a child process. kubernetes-asyncio is used as its manual
shows it, with custom objects, which it hands over as plain documents; typed models would only add to that. Both do the
same requests over TLS with the same number in flight. Imports are measured in processes of their own.
"""

import asyncio
import gc
import random
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from kubernetes_asyncio.client import ApiClient, CustomObjectsApi
from kubernetes_asyncio.config import new_client_from_config
from kubernetes_asyncio.watch import Watch

from benchmarks.worker_client_objects import workload
from config.api.meta import ObjectKey
from config.kubeconfig.sources import load_worker_kubeconfig
from config.sections.sections import KubeconfigPolicy
from manager.base.clock import SystemClock
from manager.base.kinds import WORKLOADS
from workerclient.cluster import ClientContext, ClientLimits, ClusterClient
from workerclient.objects.watched import WatchedKind
from workerclient.transport.budget import BudgetLimits

ROUNDS = 3
REQUESTS = 600
IN_FLIGHT = 16
STORED = 1_000
PAGE = 500
IMPORTS = 5
UNLIMITED = ClientLimits(budget=BudgetLimits(queries_per_second=1e6, burst=1_000_000))
OURS, THEIRS = "workerclient.cluster", "kubernetes_asyncio.client, kubernetes_asyncio.config"
_IMPORT = """
import mmap, time
import aiohttp, config.loading.loading, tenacity
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE / (1 << 20)
began, held = time.process_time(), resident()
import {modules}
print((time.process_time() - began) * 1e3, resident() - held)
"""
"""Beyond what the daemon needs in any case."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What both clients do."""

    get: Callable[[str], Awaitable[object]]
    create: Callable[[str], Awaitable[object]]
    listing: Callable[[], Awaitable[int]]
    """Reads all Workloads and returns how many there are."""
    watching: Callable[[Callable[[], Awaitable[None]]], Awaitable[float]]
    """Watches while Workloads are created; returns the processor seconds until all of them were received."""


def run() -> None:
    """Measure and print."""
    asyncio.run(_run())


async def _run() -> None:
    print(f"Processor time of the client, TLS, {IN_FLIGHT} requests in flight; best of {ROUNDS} rounds\n")
    print(f"{'':38} {'ours':>9} {'kubernetes-asyncio':>19} {'ratio':>6}")
    async with _cluster() as cluster, _ours(cluster.kubeconfig) as ours, _theirs(cluster.kubeconfig) as theirs:
        for label, measure in (
            ("get, ms", _get),
            ("create, ms", _create),
            ("watch event, us", lambda calls: _watch(calls, cluster)),
            ("list, us per object", _list),
        ):
            _print_row(label, await _best(ours, measure), await _best(theirs, measure))
    imports = [_imported(modules) for modules in (OURS, THEIRS)]
    _print_row("import, ms", *(milliseconds for milliseconds, _ in imports))
    _print_row("memory that the import adds, MiB", *(mebibytes for _, mebibytes in imports))
    print()


def _print_row(label: str, ours: float, theirs: float) -> None:
    print(f"{label:38} {ours:>9.3f} {theirs:>19.3f} {theirs / ours:>5.1f}x")


async def _best(calls: Calls, measure: Callable[[Calls], Awaitable[float]]) -> float:
    return min([await measure(calls) for _ in range(ROUNDS)])


async def _get(calls: Calls) -> float:
    return await _cpu(lambda: _in_flight(calls.get, ["made-1"] * REQUESTS)) * 1e3 / REQUESTS


async def _create(calls: Calls) -> float:
    tag = random.randbytes(6).hex()
    return await _cpu(lambda: _in_flight(calls.create, [f"{tag}-{at}" for at in range(REQUESTS)])) * 1e3 / REQUESTS


async def _list(calls: Calls) -> float:
    found = 0

    async def read() -> None:
        nonlocal found
        found = await calls.listing()

    seconds = await _cpu(read)
    assert found >= STORED
    return seconds * 1e6 / found


async def _watch(calls: Calls, cluster: "BenchCluster") -> float:
    return await calls.watching(cluster.create) * 1e6 / STORED


async def _cpu(work: Callable[[], Awaitable[object]]) -> float:
    """Return the processor seconds of this process while the work was done."""
    gc.collect()
    began = time.process_time()
    await work()
    return time.process_time() - began


async def _in_flight(call: Callable[[str], Awaitable[object]], names: list[str]) -> None:
    left = iter(names)

    async def lane() -> None:
        for name in left:
            await call(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(lane())


@dataclass(frozen=True, slots=True)
class BenchCluster:
    """A local cluster in a child process."""

    kubeconfig: Path
    process: asyncio.subprocess.Process

    async def create(self) -> None:
        """Let the cluster create Workloads by itself."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"create {STORED}\n".encode())
        await self.process.stdout.readline()


@asynccontextmanager
async def _cluster() -> AsyncIterator[BenchCluster]:
    """Run a local cluster that holds Workloads."""
    pipe = asyncio.subprocess.PIPE
    with TemporaryDirectory() as directory:
        command = (sys.executable, "-m", "benchmarks.worker_client_server", directory)
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert process.stdin is not None
        assert process.stdout is not None
        path = Path((await process.stdout.readline()).decode().strip())
        cluster = BenchCluster(path, process)
        try:
            await cluster.create()
            yield cluster
        finally:
            process.stdin.close()
            await process.wait()


@asynccontextmanager
async def _ours(path: Path) -> AsyncIterator[Calls]:
    access = load_worker_kubeconfig(path, KubeconfigPolicy(allowed_directories=(path.parent,)))
    client = ClusterClient("bench", access, ClientContext(SystemClock(), random.random), UNLIMITED)
    workloads = client.resource(WORKLOADS)

    async def listing() -> int:
        return sum([len(page.items) async for page in workloads.pages()])

    async def watching(create: Callable[[], Awaitable[None]]) -> float:
        client = ClusterClient("bench", access, ClientContext(SystemClock(), random.random), UNLIMITED)
        cache = client.follow(WatchedKind(WORKLOADS, lambda raw: raw["metadata"]["resourceVersion"])).cache

        async def until(count: int) -> None:
            while not cache.synced or len(cache) < count:  # noqa: ASYNC110 - rarely, so that waiting takes no time
                await asyncio.sleep(0.02)

        async with client.running():
            await until(0)
            known = len(cache)

            async def receive() -> None:
                await create()
                await until(known + STORED)

            return await _cpu(receive)

    try:
        yield Calls(
            lambda name: workloads.get(ObjectKey("default", name)),
            lambda name: workloads.create(workload(name)),
            listing,
            watching,
        )
    finally:
        await client.close()


@asynccontextmanager
async def _theirs(path: Path) -> AsyncIterator[Calls]:
    async with await new_client_from_config(str(path), persist_config=False) as api:
        yield _custom_objects(api)


def _custom_objects(api: ApiClient) -> Calls:
    custom, place = CustomObjectsApi(api), (WORKLOADS.group, WORKLOADS.version, "default", WORKLOADS.plural)

    async def listing() -> int:
        found, token = 0, ""
        while True:
            page = await custom.list_namespaced_custom_object(*place, limit=PAGE, _continue=token)
            found += len(page["items"])
            token = page["metadata"].get("continue") or ""
            if not token:
                return found

    async def watching(create: Callable[[], Awaitable[None]]) -> float:
        page = await custom.list_namespaced_custom_object(*place, limit=1)
        begin = page["metadata"]["resourceVersion"]

        async def receive() -> None:
            received = 0
            async with asyncio.TaskGroup() as group, Watch() as watch:
                group.create_task(_awaited(create))
                async for _ in watch.stream(custom.list_namespaced_custom_object, *place, resource_version=begin):
                    received += 1
                    if received == STORED:
                        break

        return await _cpu(receive)

    return Calls(
        lambda name: custom.get_namespaced_custom_object(*place, name),
        lambda name: custom.create_namespaced_custom_object(*place, workload(name)),
        listing,
        watching,
    )


async def _awaited(work: Callable[[], Awaitable[None]]) -> None:
    await work()


def _imported(modules: str) -> tuple[float, float]:
    """Return the milliseconds and the mebibytes that an import takes, at best."""
    code = _IMPORT.format(modules=modules)
    done = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(IMPORTS)
    ]
    return min(float(first) for first, _ in done), min(float(second) for _, second in done)
