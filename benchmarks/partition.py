"""`make compare-partition`: is one cluster per timeout kept when the worker that was opened first cannot be reached?

Both controllers run on one bed of real clusters: Kueue's own MultiKueue controller, and Turnstile. In each run both
workers' victims refuse to go, so nothing may happen on the second worker before the timeout of five minutes is over.
A gate that opens there within the time watched is early.
"""

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from tests.e2e.clusters import Cluster, Clusters, RealSide, run_real
from tests.e2e.scene import Scene
from tests.realbed import kueue
from tests.realbed.build import ToolchainError, install_go
from tests.realbed.cluster import TURNSTILE_NAMESPACE
from tests.realbed.proxy import Cut

TIMEOUT_SECONDS = 300
LATER_SECONDS = 10.0
WATCHED_SECONDS = 90.0
_POLL_SECONDS = 0.2


class Controller(StrEnum):
    """Whose work is looked at."""

    KUEUE = "Kueue's MultiKueue"
    TURNSTILE = "Turnstile"


@dataclass(frozen=True, slots=True)
class Loss:
    """How the first worker goes, and how it comes back."""

    name: str
    go: Callable[[Cluster], Awaitable[None]]
    come_back: Callable[[Cluster], Awaitable[None]]


async def _cut(worker: Cluster) -> None:
    worker.way.cut(Cut.REFUSED)


async def _swallow(worker: Cluster) -> None:
    worker.way.cut(Cut.BLACK_HOLE)


async def _mend(worker: Cluster) -> None:
    worker.way.mend()


LOSSES = (
    Loss("SIGSTOP", lambda worker: worker.freeze(), lambda worker: worker.thaw()),
    Loss("TCP cut", _cut, _mend),
    Loss("TCP black hole", _swallow, _mend),
)
WHENS = ("at the opening", "later, then a touch", "later, then a restart")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the second worker's gate: seconds after the first one's opening, None if it stayed closed."""

    opened_after: float | None

    def __str__(self) -> str:
        if self.opened_after is None:
            return f"closed for {WATCHED_SECONDS:g} s"
        return f"opened at {self.opened_after:.1f} s, {TIMEOUT_SECONDS - self.opened_after:.0f} s early"


async def observe(clusters: Clusters, directory: Path, controller: Controller, loss: Loss, when: str) -> Outcome:
    """Do one run."""
    is_turnstile = controller is Controller.TURNSTILE
    scene = Scene(
        f"p-{secrets.token_hex(4)}",
        clusters,
        directory,
        CONTROLLER_NAME if is_turnstile else MULTIKUEUE_NAME,
        TURNSTILE_NAMESPACE if is_turnstile else kueue.NAMESPACE,
    )
    try:
        await scene.build()
        for worker in scene.workers.values():
            await scene.occupy(worker, stubborn=True)
        if is_turnstile:
            await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT_SECONDS}s"})
        await scene.until_active()
        await scene.submit("high", priority="high")
        first = await scene.until_one_open("high")
        began = time.monotonic()
        return await _second_gate(scene, first, began, loss, when)
    finally:
        await scene.tear_down()


async def _second_gate(scene: Scene, first: Cluster, began: float, loss: Loss, when: str) -> Outcome:
    second = scene.others(first.name)
    if when != WHENS[0]:
        await asyncio.sleep(LATER_SECONDS)
    await loss.go(first)
    try:
        if when == WHENS[1]:
            await asyncio.sleep(LATER_SECONDS)
            await scene.touch("high")
        elif when == WHENS[2]:
            await asyncio.sleep(LATER_SECONDS)
            await _restart(scene)
        while time.monotonic() - began < WATCHED_SECONDS:
            if await scene.opened_at(second, "high") is not None:
                return Outcome(time.monotonic() - began)
            await asyncio.sleep(_POLL_SECONDS)
        return Outcome(None)
    finally:
        await loss.come_back(first)


async def _restart(scene: Scene) -> None:
    """Kill the controller that is looked at, and start it again."""
    if scene.turnstile is not None:
        await scene.turnstile.kill()
        await scene.turnstile.start()
        return
    assert isinstance(scene.hub, RealSide)
    await scene.hub.restart_kueue()


async def compare(losses: list[Loss], whens: list[str]) -> None:
    """Run every variant once with each controller and print the table."""
    async with AsyncExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="partition-")))
        clusters = await stack.enter_async_context(run_real(directory / "bed"))
        print(f"| way to be lost | when | {' | '.join(Controller)} |\n|---|---|---|---|", flush=True)
        for loss in losses:
            for when in whens:
                cells = []
                for controller in Controller:
                    place = directory / secrets.token_hex(4)
                    place.mkdir()
                    cells.append(str(await observe(clusters, place, controller, loss, when)))
                print(f"| {loss.name} | {when} | {' | '.join(cells)} |", flush=True)


def main() -> int:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.partition", description=__doc__)
    parser.add_argument("--loss", choices=[loss.name for loss in LOSSES], help="only this way to be lost")
    parser.add_argument("--when", choices=WHENS, help="only this moment")
    arguments = parser.parse_args()
    losses = [loss for loss in LOSSES if arguments.loss in (None, loss.name)]
    whens = [when for when in WHENS if arguments.when in (None, when)]
    try:
        install_go()
        asyncio.run(compare(losses, whens))
    except ToolchainError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
