"""How long no instance acts: from the end of the leader until a job that was submitted then is sent to a worker.

Two daemons with the default Lease on real Kueue. `python -m benchmarks.failover` (about 3 minutes)
"""

import argparse
import asyncio
import secrets
import signal
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.e2e.clusters import Clusters, run_real
from tests.e2e.daemon import Turnstile
from tests.e2e.scene import Scene
from tests.realbed.build import ToolchainError, install_go

ENDINGS = {"clean stop": (signal.SIGTERM, 5.0), "kill -9": (signal.SIGKILL, 20.0)}
"""How the leader ends, and within how many seconds the other is to act."""
_DEADLINE_SECONDS = 120.0
_LOOK_SECONDS = 0.02


async def fail_over(clusters: Clusters, directory: Path, number: signal.Signals) -> tuple[float, float]:
    """Return the seconds until the standby has the Lease, and until it sends a job to a worker."""
    scene = Scene(f"f-{secrets.token_hex(4)}", clusters, directory)
    try:
        await scene.build()
        leader = await scene.start_turnstile()
        (directory / "standby").mkdir()
        scene.standby = standby = Turnstile(directory / "standby", scene.hub.kubeconfig(), scene.sections())
        await standby.start()
        await _until(lambda: all(f'"worker":"{name}"' in standby.log() for name in scene.workers))
        await asyncio.sleep(2.0)  # let the caches fill and the Lease be seen
        began = time.monotonic()
        ending = asyncio.create_task(leader.kill() if number is signal.SIGKILL else leader.stop())
        await scene.submit("job", runs=0)
        await _until(lambda: "leadership.gained" in standby.log())
        gained = time.monotonic() - began
        while not await scene.holders("job"):  # noqa: ASYNC110 - the clusters are other processes
            await asyncio.sleep(_LOOK_SECONDS)
        acted = time.monotonic() - began
        await ending
        return gained, acted
    finally:
        await scene.tear_down()


async def _until(condition: object) -> None:
    assert callable(condition)
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while not condition():  # noqa: ASYNC110 - another process writes the log
            await asyncio.sleep(_LOOK_SECONDS)


async def run(rounds: int) -> None:
    """Measure and print."""
    install_go()
    with tempfile.TemporaryDirectory() as place:
        async with run_real(Path(place) / "bed") as clusters:
            print(f"{'the leader ends by':20} {'Lease taken over':>18} {'job sent':>12} {'largest':>10} {'aim':>8}")
            for name, (number, aim) in ENDINGS.items():
                found = []
                for each in range(rounds):
                    directory = Path(place) / f"{number}-{each}"
                    directory.mkdir()
                    found.append(await fail_over(clusters, directory, number))
                largest = max(acted for _, acted in found)
                met = "met" if largest < aim else "MISSED"
                print(
                    f"{name:20} {median(gained for gained, _ in found):>16.1f} s {median(a for _, a in found):>10.1f} s"
                    f" {largest:>8.1f} s   < {aim:g} s, {met}",
                    flush=True,
                )


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each (3)")
    options = parser.parse_args()
    try:
        asyncio.run(run(options.rounds))
    except ToolchainError as error:
        print(f"error: no real Kueue: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
