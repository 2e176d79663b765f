"""The cost controller beside real Kueue, with the roles that it ships and no others."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from config.api.meta import parse_time
from tests.conformance.client import Obj
from tests.conformance.resources import JOBS
from tests.e2e.clusters import RealSide
from tests.e2e.daemon import CostController
from tests.e2e.scene import Queue, Scene, condition_of
from tests.realbed import kubeconfig, objects
from tests.realbed.cluster import TURNSTILE_NAMESPACE, RealCluster, service_token, shipped_roles

COST = "kueue.x-k8s.io/preemption-cost"
BOOST = "kueue.x-k8s.io/priority-boost"
PROGRESS = "multikueue-turnstile.dev/progress"


def grant(real: RealCluster, account: str, manifests: Sequence[str]) -> None:
    """Give a new service account the shipped roles, as its own."""
    head = {"apiVersion": "v1", "kind": "ServiceAccount"}
    objects.apply(real.server, [{**head, "metadata": {"name": account, "namespace": TURNSTILE_NAMESPACE}}])
    for document in (each for name in manifests for each in shipped_roles(name)):
        if document["kind"] == "ClusterRoleBinding":
            document["metadata"]["name"] += f"-{account}"
            document["subjects"] = [{**subject, "name": account} for subject in document["subjects"]]
        objects.apply(real.server, [document])


@asynccontextmanager
async def controlling_costs(scene: Scene, worker: RealSide, *, bridged: bool) -> AsyncIterator[CostController]:
    """Run the controller for one worker."""
    roles = ["cost-controller.yaml", *(["cost-controller-bridge.yaml"] if bridged else [])]
    real, account = worker.real, f"costs-{scene.name}"
    await asyncio.to_thread(grant, real, account, roles)
    token = await asyncio.to_thread(service_token, real.server, account)
    path = scene.directory / "costs.kubeconfig"
    kubeconfig.write(path, url=real.server.url, ca_file=real.server.ca_file, token=token, name=worker.name)
    boosts = {"priorityBoost": {"workers": [worker.name]}} if bridged else {}
    sections: dict[str, Any] = {
        "workers": [{"name": worker.name, "kubeconfig": {"path": str(path)}}],
        "kubeconfigPolicy": {"allowedDirectories": [str(scene.directory)]},
        "costController": {"clusters": ["Workers"], "model": "progress", **boosts},
    }
    controller = CostController(scene.directory, scene.hub.kubeconfig(), sections)
    await controller.start()
    try:
        yield controller
    finally:
        await controller.stop()


def lines_of(controller: CostController, event: str) -> list[Obj]:
    """Return what the controller logged about an event."""
    lines = [json.loads(line) for line in controller.log().splitlines()]
    return [line for line in lines if line.get("event") == event]


async def start_job(scene: Scene, worker: RealSide, name: str, progress: str) -> None:
    """Let a job of two pods run that is so far with its work."""
    document = scene.job(name, cpu=1)
    document["metadata"]["annotations"][PROGRESS] = progress
    document["spec"] |= {"parallelism": 2, "completions": 2}
    (await worker.api.post(JOBS.at(scene.name), document)).expect(201)
    await scene.until(lambda: scene.has(worker, name, "Admitted"), f"{name} to be admitted")


async def cost_of(scene: Scene, worker: RealSide, name: str) -> str | None:
    job = await scene.job_on(worker, name)
    assert job is not None
    cost: str | None = (job["metadata"].get("annotations") or {}).get(COST)
    return cost


async def test_costs_are_written_on_jobs_and_a_kueue_that_ignores_them_is_told(real_scene: Scene) -> None:
    scene, worker = real_scene, _first(real_scene)
    await scene.build()
    async with controlling_costs(scene, worker, bridged=False) as controller:
        await start_job(scene, worker, "half", "0.5")
        await scene.until(lambda: cost_of(scene, worker, "half"), "a cost on the job")
        assert await cost_of(scene, worker, "half") == "1"

        async def is_said() -> bool:
            return bool(lines_of(controller, "cost.ignored_by_worker"))

        await scene.until(is_said, "a word about what Kueue makes of it")
        (line,) = lines_of(controller, "cost.ignored_by_worker")
        assert line["cluster"] == worker.name
        workload = await scene.workload(worker, "half")
        assert workload is not None
        assert COST not in (workload["metadata"].get("annotations") or {})
        assert lines_of(controller, "cost.failed") == []


@pytest.mark.parametrize(("bridged", "victim"), [(False, "dear"), (True, "cheap")], ids=["without", "with"])
async def test_the_bridge_changes_whom_real_kueue_preempts(real_scene: Scene, *, bridged: bool, victim: str) -> None:
    """Of two jobs of one priority the one that came last goes, unless it costs more than the other."""
    scene, worker = real_scene, _first(real_scene)
    boosting = replace(worker.real.kueue.options, feature_gates={"PriorityBoost": True})
    await asyncio.to_thread(worker.real.kueue.restart, boosting)
    try:
        await scene.build(Queue(cpu="4"))
        async with controlling_costs(scene, worker, bridged=bridged):
            await start_job(scene, worker, "cheap", "0")
            await _a_later_second(scene, worker, "cheap")
            await start_job(scene, worker, "dear", "1")
            await scene.until(lambda: cost_of(scene, worker, "dear"), "a cost on the job")
            if bridged:
                await scene.until(lambda: _boost_of(scene, worker, "dear"), "a boost on its Workload")
            await scene.submit("urgent", on=worker, priority="high")
            await scene.until(lambda: scene.has(worker, "urgent", "Admitted"), "the urgent job to be admitted")
            evicted = {name for name in ("cheap", "dear") if await scene.was_evicted(worker, name)}
            assert evicted == {victim}
    finally:
        await asyncio.to_thread(worker.real.kueue.restart)


def _first(scene: Scene) -> RealSide:
    worker = next(iter(scene.workers.values()))
    assert isinstance(worker, RealSide)
    return worker


async def _boost_of(scene: Scene, worker: RealSide, name: str) -> str | None:
    workload = await scene.workload(worker, name)
    boost: str | None = ((workload or {}).get("metadata") or {}).get("annotations", {}).get(BOOST)
    return boost


async def _a_later_second(scene: Scene, worker: RealSide, name: str) -> None:
    """Wait until the next job can be told to be newer: reservations are stamped in whole seconds."""
    workload = await scene.workload(worker, name)
    assert workload is not None
    since = parse_time(condition_of(workload, "QuotaReserved")["lastTransitionTime"])

    async def has_passed() -> bool:
        return time.time_ns() - since > 1_100_000_000

    await scene.until(has_passed, "a second to pass")
