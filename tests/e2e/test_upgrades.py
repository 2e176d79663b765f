"""Kueue is upgraded under load, first on a worker and then on the hub, while a window runs and jobs come and go."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from config.names import MULTIKUEUE_NAME
from tests.conformance.resources import JOBS
from tests.e2e.clusters import Cluster, Clusters, RealSide
from tests.e2e.scene import Queue, Scene

NEW = "v0.19.2"
TIMEOUT = 90
"""Longer than both upgrades take on a small machine that is busy."""
FILL_CPUS, SHORT_CPUS = 2, 1


@pytest_asyncio.fixture(loop_scope="session")
async def old_scene(upgradable_clusters: Clusters, tmp_path: Path) -> AsyncIterator[Scene]:
    scene = Scene("t-upgraded", upgradable_clusters, tmp_path)
    try:
        yield scene
    finally:
        await scene.tear_down()


async def test_no_workload_is_lost_and_no_gate_opens_early_when_kueue_is_upgraded(old_scene: Scene) -> None:
    scene = old_scene
    # One CPU is left on each worker for the short jobs; the stubborn jobs hold the rest.
    await scene.build(Queue(cpu=str(FILL_CPUS + SHORT_CPUS)))
    for worker in scene.workers.values():
        await scene.occupy(worker, cpu=FILL_CPUS, stubborn=True)
    await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT}s"})
    await scene.submit("high", priority="high", cpu=FILL_CPUS, runs=1)
    first = await scene.until_one_open("high")
    second = scene.others(first.name)
    began = await scene.opened_at(first, "high")
    assert began is not None

    upgraded = asyncio.create_task(upgrade(second, scene.hub))
    names = [f"short-{number}" for number in range(6)]
    for name in names:
        await submit_when_webhooks_answer(scene, name)
        await asyncio.sleep(1)
    await upgraded
    for name in names:
        await scene.until_complete(name)

    opened = await scene.until(lambda: scene.opened_at(second, "high"), "the second gate", seconds=2 * TIMEOUT)
    assert opened - began >= TIMEOUT - 1, "stamps are whole seconds"
    await scene.report_active(second, "low", 0)
    assert await scene.until_won("high") is second
    await scene.until_complete("high")
    await scene.until_gone("high", scene.workers.values())
    await scene.until(lambda: has_noticed(scene, second), "the daemon to notice the new release")


async def submit_when_webhooks_answer(scene: Scene, name: str) -> None:
    """Submit a job as a user does who tries again: while the hub's Kueue is replaced its webhooks refuse all jobs."""
    document = scene.job(name, cpu=SHORT_CPUS, runs=1, managed_by=MULTIKUEUE_NAME)

    async def is_accepted() -> bool:
        return (await scene.hub.api.post(JOBS.at(scene.name), document)).status == 201

    await scene.until(is_accepted, f"{name} to be accepted by the hub")


async def has_noticed(scene: Scene, upgraded: Cluster) -> bool:
    """Return whether the log names the release that a worker had at first, and then the one that it has now."""
    assert scene.turnstile is not None
    lines = (json.loads(line) for line in scene.turnstile.log().splitlines() if "worker.kueue_version" in line)
    versions = [line["version"] for line in lines if line["worker"] == upgraded.name]
    return [version.rpartition(".")[0] for version in versions] == ["v0.18", NEW.rpartition(".")[0]]


async def upgrade(*sides: object) -> None:
    for side in sides:
        assert isinstance(side, RealSide)
        await side.change_kueue_release(NEW)
