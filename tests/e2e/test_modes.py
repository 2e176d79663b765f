"""Ways to run Turnstile beside Kueue: under its own name, under Kueue's, on workers that do not know gates."""

import pytest

from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from manager.upkeep.rivals import SERVED_BY_ANOTHER
from tests.conformance.client import Obj
from tests.conformance.resources import MULTIKUEUE_CLUSTERS, WORKLOADS
from tests.e2e.daemon import Turnstile
from tests.e2e.scene import Scene, condition_of


async def preempt(scene: Scene) -> None:
    """Let one job preempt on one worker, and come back finished."""
    for worker in scene.workers.values():
        await scene.occupy(worker)
    await scene.submit("high", priority="high", runs=1)
    winner = await scene.until_won("high")
    assert not await scene.was_evicted(scene.others(winner.name), "low")
    await scene.until_complete("high")
    await scene.until_gone("high", scene.workers.values())


@pytest.mark.parametrize("controller_name", [CONTROLLER_NAME, MULTIKUEUE_NAME])
async def test_it_works_in_place_of_kueues_own_controller(scene: Scene, controller_name: str) -> None:
    """With Kueue's controller switched off on the hub, under either name."""
    await scene.hub.restart_kueue(multi_kueue=False)
    try:
        scene.controller_name = controller_name
        await scene.build()
        await scene.start_turnstile()
        await preempt(scene)
    finally:
        await scene.hub.restart_kueue()


async def test_it_refuses_to_share_a_check_with_kueues_own_controller(real_scene: Scene) -> None:
    """The stand-in has no MultiKueue controller, so there is a rival on real clusters alone."""
    scene = real_scene
    scene.controller_name = MULTIKUEUE_NAME
    await scene.build()
    await scene.until(scene.check_is_served, "Kueue's own controller to serve the check")
    turnstile = Turnstile(scene.directory, scene.hub.kubeconfig(), {"hub": {"controllerName": MULTIKUEUE_NAME}})
    await turnstile.start()
    assert await turnstile.ended() == 1
    assert SERVED_BY_ANOTHER in turnstile.log()


async def test_a_workload_without_a_job_is_replicated_and_its_end_comes_back(scene: Scene) -> None:
    await scene.build()
    await scene.start_turnstile()
    (await scene.hub.api.post(WORKLOADS.at(scene.name), bare_workload("bare"))).expect(201)
    winner = await scene.until_won("bare")
    await scene.until(lambda: scene.has(winner, "bare", "Admitted"), "the replica to be admitted")
    await scene.until_gone("bare", [scene.others(winner.name)])
    replica = await scene.workload(winner, "bare")
    assert replica is not None
    finished = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "done",
        "lastTransitionTime": replica["metadata"]["creationTimestamp"],
    }
    conditions = [*replica["status"]["conditions"], finished]
    path = WORKLOADS.at(scene.name, "bare", "status")
    (await winner.api.patch(path, {"status": {"conditions": conditions}})).ok()
    await scene.until(lambda: scene.has(scene.hub, "bare", "Finished"), "the end to come back")
    hub = await scene.workload(scene.hub, "bare")
    assert hub is not None
    told = condition_of(hub, "Finished")
    assert (told["reason"], told["message"]) == ("Succeeded", "done")
    await scene.until_gone("bare", scene.workers.values())


async def test_90_a_worker_that_does_not_honour_gates_is_noticed_and_left_out(scene: Scene) -> None:
    blind, other = scene.workers.values()
    await blind.restart_kueue(orchestrated=False)
    try:
        await scene.build()
        await scene.occupy(other)
        await scene.occupy(blind, priority="high")
        options = [{"name": blind.name, "gatesUnsupported": "exclude"}]
        await scene.start_turnstile(workers=options)
        await scene.submit("probe", priority="low")

        async def is_noticed() -> bool:
            cluster = (await scene.hub.api.get(MULTIKUEUE_CLUSTERS.at(None, blind.name))).ok()
            return "does not honour preemption gates" in condition_of(cluster, "Active").get("message", "")

        await scene.until(is_noticed, "the worker to be found out")
        await scene.until_gone("probe", [blind])
        await scene.submit("high", priority="high", runs=1)
        assert await scene.until_won("high") is other
        assert await scene.workload(blind, "high") is None
    finally:
        await blind.restart_kueue()


def bare_workload(name: str) -> Obj:
    container = {"name": "main", "image": "registry.example/work:1", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"queueName": "jobs", "podSets": [{"name": "main", "count": 1, "template": template}]}
    return {"apiVersion": WORKLOADS.api_version, "kind": "Workload", "metadata": {"name": name}, "spec": spec}
