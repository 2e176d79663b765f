"""Workers whose Kueue does not honour gates, from the start or from some moment on.

The oracle is what the workers' own jobs say: whoever was evicted, and where.
"""

import time

import pytest

from config.api.meta import parse_time
from gates.decision.gate_evidence import FRESH_NS
from tests.conformance.resources import JOBS, MULTIKUEUE_CLUSTERS
from tests.e2e.clusters import Cluster, Clusters
from tests.e2e.scene import Scene, condition_of

_OFF = {"off on the first": (True, False), "off on the second": (False, True), "off on both": (True, True)}


@pytest.fixture(scope="module", params=["local", "real"])
def clusters(request: pytest.FixtureRequest) -> Clusters:
    """Give clusters whose version does not say whether gates are honoured."""
    found: Clusters = request.getfixturevalue("older_clusters" if request.param == "local" else "real_clusters")
    return found


async def preempting_workers(scene: Scene, job: str = "low") -> list[str]:
    """Return the workers on which the job that was there first has been evicted."""
    return [name for name, side in scene.workers.items() if await scene.was_evicted(side, job)]


async def message_of(scene: Scene, worker: Cluster) -> str:
    """Return what the hub says of a worker."""
    cluster = (await scene.hub.api.get(MULTIKUEUE_CLUSTERS.at(None, worker.name))).ok()
    return str(condition_of(cluster, "Active").get("message", ""))


@pytest.mark.parametrize("off", _OFF.values(), ids=_OFF.keys())
async def test_never_two_workers_preempt_where_gates_are_off(scene: Scene, off: tuple[bool, bool]) -> None:
    workers = list(scene.workers.values())
    without = [worker for worker, is_off in zip(workers, off, strict=True) if is_off]
    try:
        for worker in without:
            await worker.restart_kueue(orchestrated=False)
        await scene.build()
        for worker in workers:
            await scene.occupy(worker)
        await scene.start_turnstile()
        for worker in workers:
            assert "it is not known yet whether" in await message_of(scene, worker)

        await scene.submit("high", priority="high")
        winner = await scene.until_won("high")
        await scene.until_gone("high", [scene.others(winner.name)])
        assert await preempting_workers(scene) == [winner.name]
        if winner in without:

            async def is_found_out() -> bool:
                return "does not honour preemption gates" in await message_of(scene, winner)

            await scene.until(is_found_out, "the worker to be found out")
    finally:
        for worker in without:
            await worker.restart_kueue()


async def test_never_two_workers_preempt_when_gates_are_switched_off_and_on_meanwhile(scene: Scene) -> None:
    workers = list(scene.workers.values())
    await scene.build()
    await scene.start_turnstile()
    try:
        await one_preempts(scene, "on")
        for worker in workers:
            await worker.restart_kueue(orchestrated=False)
        await one_preempts(scene, "off")
        await one_preempts(scene, "still-off")
        for worker in workers:
            await worker.restart_kueue()
        await one_preempts(scene, "on-again")
    finally:
        for worker in workers:
            await worker.restart_kueue()


async def one_preempts(scene: Scene, step: str) -> None:
    """Let a job preempt one of the jobs that fill the workers, and clear up."""
    low, high = f"low-{step}", f"high-{step}"
    for worker in scene.workers.values():
        await scene.occupy(worker, low)
    await scene.submit(high, priority="high")
    winner = await scene.until_won(high)
    await scene.until_gone(high, [scene.others(winner.name)])
    assert await preempting_workers(scene, low) == [winner.name], step
    shown_at = await last_shown(scene, winner, high)
    await scene.finish(winner, high)
    await scene.until_complete(high)
    for worker in scene.workers.values():
        (await worker.api.delete(JOBS.at(scene.name, low), {"propagationPolicy": "Background"})).ok()
    await scene.until_gone(low, scene.workers.values())

    async def is_old() -> bool:
        return time.time() - shown_at > FRESH_NS / 1e9 + 1

    # A real Kueue takes longer to restart than what it showed is believed; the local one restarts at once.
    await scene.until(is_old, "what was shown of gates to be old")


async def last_shown(scene: Scene, winner: Cluster, job: str) -> float:
    """Return when the winner's gate was last handled, 0 if it never was."""
    replica = await scene.workload(winner, job)
    gates = ((replica or {}).get("status") or {}).get("preemptionGates") or []
    return max((parse_time(gate["lastTransitionTime"]) / 1e9 for gate in gates), default=0.0)
