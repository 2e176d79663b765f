"""Is one cluster per timeout kept when the worker that was opened first cannot be reached?

In each run both workers' victims refuse to go, so nothing may happen on the second worker before the timeout of five
minutes is over. A gate that opens there within the time watched is early.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.contestants import Controller, new_scene, real, set_to_work
from tests.e2e.clusters import Cluster, Clusters
from tests.e2e.scene import Scene
from tests.realbed.proxy import Cut

TIMEOUT_SECONDS = 300
"""Kueue's is built in; Turnstile's is the same by default."""
LATER_SECONDS = 10.0
WATCHED_SECONDS = 90.0
_POLL_SECONDS = 0.2
CONTROLLERS = (Controller.KUEUE, Controller.TURNSTILE)


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
    had_candidate: bool = True
    """Whether the second worker held a replica that waited for its gate; without one a closed gate proves nothing."""

    def __str__(self) -> str:
        if self.opened_after is not None:
            return f"opened at {self.opened_after:.1f} s, {TIMEOUT_SECONDS - self.opened_after:.0f} s early"
        return f"closed for {WATCHED_SECONDS:g} s" if self.had_candidate else "void: no second replica"


async def compare(clusters: Clusters, directory: Path, losses: Sequence[Loss], whens: Sequence[str]) -> None:
    """Run every variant once with each controller and print the table."""
    print(f"| way to be lost | when | {' | '.join(CONTROLLERS)} |\n|---|---|---|---|", flush=True)
    for loss in losses:
        for when in whens:
            cells = [str(await observe(clusters, directory, each, loss, when)) for each in CONTROLLERS]
            print(f"| {loss.name} | {when} | {' | '.join(cells)} |", flush=True)


async def observe(clusters: Clusters, directory: Path, controller: Controller, loss: Loss, when: str) -> Outcome:
    """Do one run."""
    scene = new_scene(clusters, directory, controller)
    try:
        await set_to_work(scene, controller)
        for worker in scene.workers.values():
            await scene.occupy(worker, stubborn=True)
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
        if when != WHENS[0]:
            await asyncio.sleep(LATER_SECONDS)
            await (scene.touch("high") if when == WHENS[1] else _restart(scene))
        while time.monotonic() - began < WATCHED_SECONDS:
            if await scene.opened_at(second, "high") is not None:
                return Outcome(time.monotonic() - began)
            await asyncio.sleep(_POLL_SECONDS)
        return Outcome(None, await scene.has(second, "high", "BlockedOnPreemptionGates"))
    finally:
        await loss.come_back(first)


async def _restart(scene: Scene) -> None:
    """Kill the controller that is looked at, and start it again."""
    if scene.turnstile is not None:
        await scene.turnstile.kill()
        await scene.turnstile.start()
        return
    await real(scene.hub).restart_kueue()
