"""A worker goes away and comes back: before, during and after its gate was opened, in every way a worker can go.

`killed` and `frozen` strike its API server (SIGKILL, SIGSTOP on real clusters), `refused` and `swallowed` the network
between the hub and it (connections break and are refused; connections stay and nothing passes).
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from tests.e2e.clusters import Cluster
from tests.e2e.scene import Scene
from tests.realbed.proxy import Cut

TIMEOUT = 12


@dataclass(frozen=True)
class Loss:
    """How a worker goes and comes back."""

    go: Callable[[Cluster], Awaitable[None]]
    come_back: Callable[[Cluster], Awaitable[None]]


async def _refuse(worker: Cluster) -> None:
    worker.way.cut(Cut.REFUSED)


async def _swallow(worker: Cluster) -> None:
    worker.way.cut(Cut.BLACK_HOLE)


async def _mend(worker: Cluster) -> None:
    worker.way.mend()


LOSSES = {
    "killed": Loss(lambda worker: worker.kill(), lambda worker: worker.start_again()),
    "frozen": Loss(lambda worker: worker.freeze(), lambda worker: worker.thaw()),
    "refused": Loss(_refuse, _mend),
    "swallowed": Loss(_swallow, _mend),
}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


@every_loss
async def test_a_worker_that_is_away_holds_up_no_workload(scene: Scene, loss: Loss) -> None:
    """Scenarios 13, 26, 57: away before the gate is opened."""
    await scene.build()
    here, away = scene.workers.values()
    await scene.occupy(here)
    await scene.start_turnstile()
    await loss.go(away)
    try:
        await scene.submit("high", priority="high", runs=1)
        assert await scene.until_won("high") is here
        await scene.until_complete("high")
    finally:
        await loss.come_back(away)
    await scene.until_gone("high", [here, away])


@every_loss
async def test_no_second_gate_opens_early_when_the_first_worker_is_lost(scene: Scene, loss: Loss) -> None:
    """Scenarios 82, 83: lost during its window; the hub's object is touched and Turnstile restarted meanwhile."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    turnstile = await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT}s"})
    await scene.submit("high", priority="high", runs=1)
    first = await scene.until_one_open("high")
    second = scene.others(first.name)
    began = await scene.opened_at(first, "high")
    assert began is not None
    await loss.go(first)
    try:
        await scene.touch("high")
        await turnstile.kill()
        await turnstile.start()
        await scene.touch("high")
        opened = await scene.until(lambda: scene.opened_at(second, "high"), "the second gate")
        assert opened - began >= TIMEOUT - 1, "stamps are whole seconds"
        await scene.report_active(second, "low", 0)
        assert await scene.until_won("high") is second
    finally:
        await loss.come_back(first)
    await scene.until_gone("high", [first])
    await scene.until_complete("high")


@every_loss
async def test_a_job_outlives_a_short_absence_of_its_worker(scene: Scene, loss: Loss) -> None:
    """Scenarios 59, 61: lost after it won, and back within the grace."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker)
    await scene.start_turnstile()
    await scene.submit("high", priority="high")
    winner = await scene.until_won("high")
    await scene.until_runs(winner, "high")
    await loss.go(winner)
    try:
        assert (await scene.check("high"))["state"] == "Ready"
    finally:
        await loss.come_back(winner)
    await scene.until_runs(winner, "high")
    await scene.finish(winner, "high")
    await scene.until_complete("high")
    assert not await scene.was_evicted(scene.hub, "high")
    assert not await scene.was_evicted(scene.others(winner.name), "low")
    await scene.until_gone("high", scene.workers.values())


async def test_a_job_of_a_worker_that_stays_away_runs_elsewhere(scene: Scene) -> None:
    """Scenarios 60, 67: longer away than the grace; what is left there is removed when it is back."""
    await scene.build()
    await scene.start_turnstile(workerLostTimeout="3s")
    await scene.submit("job", priority="high")
    first = await scene.until_won("job")
    second = scene.others(first.name)
    first.way.cut(Cut.REFUSED)

    async def runs_elsewhere() -> bool:
        return await scene.winner("job") == second.name and await scene.has(scene.hub, "job", "Admitted")

    await scene.until(runs_elsewhere, f"the job to run on {second.name}")
    assert await scene.job_on(first, "job") is not None, "it could not be removed"
    first.way.mend()
    await scene.until_gone("job", [first])
    assert await scene.winner("job") == second.name
