"""How long it takes until a command prints something.

    python -m benchmarks cli_start

Each command runs 20 times as a process of its own. The daemon is a stand-in that answers from memory on a socket, and
the hub a local cluster, so what is measured is the command: start of Python, imports, asking, printing. Processor time
says more than the clock on a machine that does other things too.
"""

import asyncio
import json
import os
import resource
import selectors
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from aiohttp import web

from localcluster.cluster import LocalCluster

RUNS = 20
AIM_MS = 300
WORKERS = [
    {
        "name": f"worker-{number}",
        "connection": "Connected",
        "message": "Connected",
        "lostSince": "",
        "clockSkewSeconds": 0.0,
        "replicas": number,
        "workloads": 1000,
        "forecast": "reliable",
        "hitRate": 100,
    }
    for number in range(20)
]


@dataclass(frozen=True)
class Start:
    """One run."""

    first_ms: float
    """Until the first byte, on either stream."""
    all_ms: float
    cpu_ms: float


def measure(arguments: list[str], home: Path) -> Start:
    """Run a command once."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("turnstile")), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)
        selector.select()
    first = time.perf_counter()
    process.communicate()
    ended, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Start((first - began) * 1e3, (ended - began) * 1e3, cpu * 1e3)


async def compare(directory: Path) -> dict[str, list[Start]]:
    """Run all commands beside a daemon and a hub."""

    async def workers(_request: web.Request) -> web.Response:
        answer = {"now": "2027-01-15T08:00:00Z", "workers": WORKERS}
        return web.Response(body=json.dumps(answer), content_type="application/json")

    application = web.Application()
    application.router.add_get("/v1/workers", workers)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.UnixSite(runner, str(directory / "socket")).start()
    hub = LocalCluster("hub", directory)
    await hub.start()
    absent = ["--socket", str(directory / "absent")]
    commands = {
        "--help": ["--help"],
        "status workers": ["status", "workers", "--socket", str(directory / "socket")],
        "status workers -o yaml": ["status", "workers", "-o", "yaml", "--socket", str(directory / "socket")],
        "status workers, no daemon answers": ["status", "workers", *absent],
        "status workers, from the hub": ["status", "workers", *absent, "--kubeconfig", str(hub.kubeconfig_path)],
    }
    try:
        return {
            name: [await asyncio.to_thread(measure, arguments, directory) for _ in range(RUNS)]
            for name, arguments in commands.items()
        }
    finally:
        await runner.cleanup()
        await hub.stop()


def run() -> None:
    """Print the table."""
    with TemporaryDirectory() as directory:
        found = asyncio.run(compare(Path(directory)))
    print(f"first output of a command, {RUNS} runs each; aim: under {AIM_MS} ms")
    print(f"{'command':<32} {'first output, median':>21} {'slowest':>9} {'to the end':>11} {'CPU':>8}")
    for name, starts in found.items():
        first = statistics.median(start.first_ms for start in starts)
        slowest = max(start.first_ms for start in starts)
        end = statistics.median(start.all_ms for start in starts)
        cpu = statistics.median(start.cpu_ms for start in starts)
        missed = "" if first < AIM_MS else "  missed"
        print(f"{name:<32} {first:>18.0f} ms {slowest:>6.0f} ms {end:>8.0f} ms {cpu:>5.0f} ms{missed}")
