"""Does the first gate always open, and how soon? One worker is frozen at each opening, as in `benchmarks.second_gate`.

Each run begins with a hub whose Kueue was just restarted and a new daemon, because a machine under load is slowest
then. The log and the journal of a run without an opening are kept; a run with one leaves nothing behind.
"""

import argparse
import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.contestants import Controller, new_scene, set_to_work
from tests.e2e.clusters import Cluster, Clusters, run_real
from tests.e2e.scene import Scene
from tests.realbed.build import ToolchainError, install_go

WAIT_SECONDS = 180.0
FROZEN_SECONDS = 5.0


async def opened_after(scene: Scene) -> float | None:
    """Submit a job that must preempt; return the seconds until a gate of it is open, None if none opens."""
    began = time.monotonic()
    await scene.submit("high", priority="high")
    while (seconds := time.monotonic() - began) < WAIT_SECONDS:
        if opened := await scene.open_on("high"):
            (first,) = opened
            await _freeze(scene.workers[first])
            return seconds
        await asyncio.sleep(0.2)
    return None


async def _freeze(worker: Cluster) -> None:
    await worker.freeze()
    try:
        await asyncio.sleep(FROZEN_SECONDS)
    finally:
        await worker.thaw()


async def observe(clusters: Clusters, directory: Path) -> float | None:
    """Do one run."""
    scene = new_scene(clusters, directory, Controller.TURNSTILE)
    seconds = None
    try:
        await set_to_work(scene, Controller.TURNSTILE, journal=scene.directory / "journal.db")
        for worker in scene.workers.values():
            await scene.occupy(worker, stubborn=True)
        seconds = await opened_after(scene)
    finally:
        await scene.tear_down()
        if seconds is not None:
            shutil.rmtree(scene.directory)
    return seconds


async def repeat(runs: int, directory: Path) -> int:
    """Print each run and a summary; return how many ended without an opening."""
    waits: list[float] = []
    async with run_real(directory / "bed") as clusters:
        for number in range(1, runs + 1):
            seconds = await observe(clusters, directory)
            print(f"run {number}: " + (f"{seconds:.1f} s" if seconds is not None else "NO GATE OPENED"), flush=True)
            waits += [] if seconds is None else [seconds]
    print(f"{len(waits)} of {runs} runs opened a gate", end="")
    print(f"; median {statistics.median(waits):.1f} s, slowest {max(waits):.1f} s" if waits else "")
    return runs - len(waits)


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_gate", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="how many runs (default 100)")
    arguments = parser.parse_args()
    if not 1 <= arguments.runs <= 100_000:
        parser.error("--runs: must be a whole number from 1 to 100000")
    directory = Path(tempfile.mkdtemp(prefix="first-gate-"))
    try:
        install_go()
        missing = asyncio.run(repeat(arguments.runs, directory))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if missing:
        print(f"logs and journals of those runs: {directory}", file=sys.stderr)
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
