"""Below the quota, on real Kueue and a real kube-scheduler: which pods go is said before the gate is opened.

Repeat a failing run with TURNSTILE_DIFFERENTIAL_SEED=<the seed it printed>; widen one with TURNSTILE_PODS_COUNT.
"""

import json
import os
import secrets
from typing import Any

from config.names import MULTIKUEUE_NAME
from gates.model import marks
from tests.conformance.client import Obj
from tests.conformance.resources import JOBS
from tests.differential.dice import dice
from tests.e2e.clusters import Cluster
from tests.e2e.pod_situations import (
    Bystander,
    Stage,
    add_bystanders,
    add_nodes,
    allow_forecasts,
    clear,
    confine,
    job,
    random_stage,
)
from tests.e2e.scene import Queue, Scene

_SEED, _COUNT = "TURNSTILE_DIFFERENTIAL_SEED", "TURNSTILE_PODS_COUNT"
_QUOTA = 12


async def prepared(scene: Scene) -> Cluster:
    """Build the queues, leave one worker in the game, and start Turnstile with forecasts of its pods."""
    await scene.build(Queue(cpu=str(_QUOTA)))
    worker, wall = scene.workers.values()
    await scene.occupy(wall, "wall", cpu=_QUOTA, priority="high")
    for side in (worker, wall):
        allow_forecasts(side)
    await confine(scene, worker)
    await scene.start_turnstile(
        workers=[{"name": worker.name, "podForecast": True}], gates={"singleClusterPreemptionTimeout": "60s"}
    )
    return worker


async def played(scene: Scene, worker: Cluster, stage: Stage, name: str) -> Obj:
    """Set a situation up, submit the job, and return the record of its forecast when both results are there."""
    await add_nodes(scene, worker, stage)
    low = scene.job(f"{name}-low", cpu=1)
    asked = stage.cpu * stage.pods
    (await worker.api.post(JOBS.at(scene.name), low)).expect(201)
    await scene.until_runs(worker, f"{name}-low")
    if asked < _QUOTA:
        await _hold_quota(scene, worker, f"{name}-fill", _QUOTA - asked)
    await add_bystanders(scene, worker, stage)
    document = job(scene, name, stage)
    document["spec"]["managedBy"] = MULTIKUEUE_NAME
    (await scene.hub.api.post(JOBS.at(scene.name), document)).expect(201)

    found: Obj = {}

    async def is_judged() -> bool:
        nonlocal found
        workload = await scene.workload(scene.hub, name)
        annotations = (workload or {}).get("metadata", {}).get("annotations") or {}
        found = json.loads(annotations.get(marks.FORECAST) or "{}")
        return "pending" not in (found.get("result", "pending"), found.get("pods", {}).get("result", "pending"))

    await scene.until(is_judged, f"the forecast of {name} to be judged")
    for each in (name, f"{name}-low", f"{name}-fill"):
        for side in (scene.hub, worker):
            await side.api.delete(JOBS.at(scene.name, each), {"propagationPolicy": "Background"})
    await scene.until_gone(name, [worker])
    await clear(scene, worker, stage)
    return found


async def _hold_quota(scene: Scene, worker: Cluster, name: str, cpu: int) -> None:
    """Let a job that cannot be preempted hold quota, without any pod."""
    await scene.submit(name, on=worker, cpu=cpu, priority="high", managed_by="example.com/nobody")
    await scene.until(lambda: scene.has(worker, name, "Admitted"), f"{name} to be admitted")


async def test_pods_that_have_to_go_are_forecast_and_found_exact(real_scene: Scene) -> None:
    worker = await prepared(real_scene)
    stage = Stage({"n1": 5, "n2": 4}, [Bystander("b0", "n1", 2), Bystander("b1", "n2", 3)], cpu=4, on="n2")
    found = await played(real_scene, worker, stage, "job")
    assert found["verdict"] == "Preempts", found
    assert [victim["workload"].split("/")[1].startswith("job-job-low") for victim in found["victims"]] == [True], found
    assert found["result"] == "exact", found
    pods = found["pods"]
    assert (pods["verdict"], pods["mode"], pods["result"]) == ("Evicts", "1.36", "exact"), found
    assert [victim["pod"] for victim in pods["victims"]] == [f"{real_scene.name}/b1"]


async def test_random_situations(real_scene: Scene) -> None:
    seed = int(os.environ.get(_SEED) or secrets.randbits(48))
    worker = await prepared(real_scene)
    results: list[tuple[int, Any]] = []
    for number in range(int(os.environ.get(_COUNT) or 3)):
        stage = random_stage(dice("pods", seed + number))
        found = await played(real_scene, worker, stage, f"job-{number}")
        results.append((seed + number, found["pods"]))
    missed = [(each, pods) for each, pods in results if pods["result"] not in ("exact", "none")]
    assert not missed, f"{_SEED}={seed}: {missed}"
    assert all(pods["verdict"] == "Ambiguous" for _, pods in results if pods["result"] == "none"), results
