"""The two processes of the orchestrator's benchmark, and what the system says of the daemon's."""

import asyncio
import json
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from config.names import CONFIG_API_VERSION, CONFIG_KIND

_TICKS = os.sysconf("SC_CLK_TCK")
_AGENT = "turnstile"
_PIPE_LIMIT = 1 << 24
_GENEROUS = {"qps": 100_000, "burst": 100_000}

_LAST_LINES = 5

Requests = Mapping[str, Counter[str]]
"""What the daemon asked each cluster for."""


class DaemonEndedError(RuntimeError):
    """The daemon ended by itself; the message holds the end of its log."""


@dataclass(frozen=True, slots=True)
class FleetProcess:
    """The clusters."""

    process: asyncio.subprocess.Process
    kubeconfig: Path

    async def order(self, do: str, **options: Any) -> dict[str, Any]:
        """Have something done and return what it led to."""
        return await _exchange(self.process, {"do": do, **options})

    async def requests(self) -> Requests:
        """Return what the daemon asked for so far."""
        answer = await self.order("requests")
        return {cluster: _of_daemon(entries) for cluster, entries in answer.items()}


class DaemonProcess:
    """The daemon."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def reconciles(self) -> Counter[str]:
        """Return how often it reconciled a Workload so far, by the row of the decision table that answered."""
        return Counter(await _exchange(self._process, {}))

    def cpu_seconds(self) -> float:
        """Return the time that it spent in user and system mode."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def resident_kb(self) -> float:
        """Return its resident memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1024

    async def stop(self) -> None:
        """End it as an administrator would."""
        await _end(self._process)


@asynccontextmanager
async def running_fleet(workers: int, cpu: int) -> AsyncIterator[FleetProcess]:
    """Run a hub and so many workers, each with so much quota."""
    with TemporaryDirectory() as directory:
        process = await _start("benchmarks.orchestrator_fleet", directory, str(workers), str(cpu))
        try:
            assert process.stdout is not None
            said = json.loads(await process.stdout.readline())
            yield FleetProcess(process, Path(said["kubeconfig"]))
        finally:
            await _end(process)


@asynccontextmanager
async def running_daemon(fleet: FleetProcess, workers: int, **sections: Any) -> AsyncIterator[DaemonProcess]:
    """Run the daemon until the block ends, with limits that do not slow it down.

    Its HTTP endpoint takes a free port unless `sections` say otherwise. If the daemon ends by itself, so does the
    block, with `DaemonEndedError`: the clusters would wait for it for ever.
    """
    directory = fleet.kubeconfig.parent
    names = [f"worker-{number}" for number in range(1, workers + 1)]
    document = {
        "apiVersion": CONFIG_API_VERSION,
        "kind": CONFIG_KIND,
        "hub": {"kubeconfig": str(fleet.kubeconfig)},
        "workers": [{"name": name, **_GENEROUS} for name in names],
        "kubeconfigPolicy": {"allowedDirectories": [str(directory)]},
        "http": {"port": 0},
        **sections,
    }
    file = directory / "turnstile.json"
    file.write_text(json.dumps(document))
    path = directory / "daemon.log"
    with path.open("wb") as log:
        process = await _start("benchmarks.orchestrator_daemon", str(file), log=log.fileno())
        daemon = DaemonProcess(process)
        try:
            async with _ending_with(process, path):
                yield daemon
        finally:
            await daemon.stop()


@asynccontextmanager
async def _ending_with(process: asyncio.subprocess.Process, log: Path) -> AsyncIterator[None]:
    """End the block when the process ends."""
    body = asyncio.current_task()
    assert body is not None
    ended = asyncio.create_task(process.wait())
    ended.add_done_callback(lambda task: None if task.cancelled() else body.cancel())
    try:
        yield
    except asyncio.CancelledError:
        if not ended.done():
            raise
        body.uncancel()
        raise DaemonEndedError(f"the daemon ended by itself; the end of its log:\n{_end_of(log)}") from None
    finally:
        ended.cancel()


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LAST_LINES:])


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
    await process.wait()


async def _start(module: str, *arguments: str, log: int | None = None) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", module, *arguments]
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=log, limit=_PIPE_LIMIT)


async def _exchange(process: asyncio.subprocess.Process, order: Mapping[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(order).encode() + b"\n")
    answer: dict[str, Any] = json.loads(await process.stdout.readline())
    return answer


def _of_daemon(entries: list[list[Any]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for agent, verb, plural, subresource, count in entries:
        if agent == _AGENT:
            found[f"{verb} {plural or 'documents'}{'/' + subresource if subresource else ''}"] += count
    return found
