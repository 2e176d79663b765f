"""What the cost controller costs: CPU of its process per Job, and the requests that it sends.

The cluster runs in a child process, over TLS. Half of the Jobs need a cost; the other half must not be written.
"""

import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import structlog

from config.kubeconfig.access import ClusterAccess
from config.kubeconfig.sources import load_worker_kubeconfig
from config.sections.sections import KubeconfigPolicy
from engine.cost.models import reference
from engine.cost.rules import CostPolicy
from manager.base.clock import SystemClock
from manager.cost.controller import CostController, CostSettings
from manager.cost.metrics import CostMetrics
from manager.cost.propagating import CostPropagation
from workerclient.cluster import ClientContext, ClientLimits
from workerclient.transport.budget import BudgetLimits

JOBS = 10_000
UNLIMITED = ClientLimits(budget=BudgetLimits(queries_per_second=1e6, burst=1_000_000))
ROW = "{:<46} {:>7} {:>7} {:>11}  {}"


@dataclass(frozen=True, slots=True)
class _Server:
    process: asyncio.subprocess.Process
    access: ClusterAccess

    async def requests(self) -> dict[str, int]:
        """Return the requests since the last call."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(b"count\n")
        counted: dict[str, int] = json.loads(await self.process.stdout.readline())
        return {name: count for name, count in counted.items() if count}


def run() -> None:
    """Measure and print."""
    # A line per update is part of the work; where it goes is not.
    with Path("/dev/null").open("w") as nowhere:
        structlog.configure(logger_factory=structlog.WriteLoggerFactory(file=nowhere))
        try:
            asyncio.run(_run())
        finally:
            structlog.reset_defaults()


async def _run() -> None:
    print(
        f"Cost controller: {JOBS} Jobs with a Workload each, half of them to be written; CPU of the controller alone\n"
    )
    print(ROW.format("", "CPU s", "wall s", "CPU us/Job", "requests"))
    async with _child_server(JOBS) as server:
        await _measure_start(server, "start: lists, and a patch for every other Job", JOBS // 2)
        await _measure_start(server, "start again: lists, and nothing to write", 0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nPeak memory of the controller's process: {peak:.0f} MiB.\n")


async def _measure_start(server: _Server, what: str, want_updates: int) -> None:
    """Measure from nothing to the steady state, and one reconcile of every Job from there."""
    metrics = CostMetrics()
    settings = CostSettings(CostPolicy(reference, "reference"), 0.0, CostPropagation())
    client_context = ClientContext(SystemClock(), random.random)
    await server.requests()
    with _Stopwatch() as starting:
        controller = CostController("bench", server.access, client_context, UNLIMITED, settings, metrics)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(controller.run())
            await _steady(lambda: controller.is_connected and controller.queue.is_idle)
            starting.stop()
            _print(what, starting, await server.requests())
            with _Stopwatch() as looking:
                for key in controller.jobs.cache:
                    controller.queue.add(key)
                await _steady(lambda: controller.queue.is_idle)
            _print("  then a reconcile of every Job", looking, await server.requests())
            running.cancel()
    updates = metrics.value("turnstile_cost_updates_total", cluster="bench")
    assert updates == want_updates, f"{updates} updates instead of {want_updates}"


class _Stopwatch:
    """CPU and wall time of a block, or until stopped."""

    def __enter__(self) -> Self:
        self.cpu, self.wall = -time.process_time(), -time.monotonic()
        self._is_running = True
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the time; once."""
        if self._is_running:
            self._is_running = False
            self.cpu += time.process_time()
            self.wall += time.monotonic()


def _print(what: str, watch: _Stopwatch, requests: dict[str, int]) -> None:
    sent = ", ".join(f"{count} {name}" for name, count in requests.items()) or "none"
    print(ROW.format(what, f"{watch.cpu:.2f}", f"{watch.wall:.2f}", f"{watch.cpu / JOBS * 1e6:.0f}", sent))


async def _steady(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - the condition spans objects that know nothing of each other
        await asyncio.sleep(0.02)


@asynccontextmanager
async def _child_server(jobs: int) -> AsyncIterator[_Server]:
    pipe = asyncio.subprocess.PIPE
    with TemporaryDirectory() as directory:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "benchmarks.cost_controller_server", directory, str(jobs), stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        path = Path((await process.stdout.readline()).decode().strip())
        policy = KubeconfigPolicy(allowed_directories=(Path(directory),))
        try:
            yield _Server(process, load_worker_kubeconfig(path, policy))
        finally:
            process.stdin.close()
            await process.wait()
