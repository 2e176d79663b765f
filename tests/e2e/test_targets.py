"""Workers are chosen by the annotations of a job."""

from config.names import KUEUE_GROUP
from gates.targets.rules import CLUSTER_NAMES, CLUSTER_SELECTOR
from tests.conformance.resources import JOBS, MULTIKUEUE_CLUSTERS, WORKLOADS
from tests.e2e.scene import Scene


async def submit(scene: Scene, name: str, **annotations: str) -> None:
    """Submit an urgent job with these annotations."""
    document = scene.job(name, priority="high", runs=1, managed_by=f"{KUEUE_GROUP}/multikueue")
    document["metadata"]["annotations"] |= annotations
    (await scene.hub.api.post(JOBS.at(scene.name), document)).expect(201)


async def test_a_job_preempts_where_it_was_sent_although_another_worker_has_room(scene: Scene) -> None:
    full, free = scene.workers.values()
    await scene.build()
    await scene.occupy(full)
    await scene.start_turnstile()
    await submit(scene, "named", **{CLUSTER_NAMES: f"{full.name},elsewhere"})
    winner = await scene.until_won("named")
    assert winner.name == full.name
    assert await scene.was_evicted(full, "low")
    await scene.until_complete("named")

    label = {"metadata": {"labels": {"tier": "gold"}}}
    (await scene.hub.api.patch(MULTIKUEUE_CLUSTERS.at(None, free.name), label)).ok()
    await submit(scene, "selected", **{CLUSTER_SELECTOR: "tier=gold"})
    assert (await scene.until_won("selected")).name == free.name
    await scene.until_complete("selected")


async def test_a_selector_that_cannot_be_read_holds_a_job_until_it_is_repaired(scene: Scene) -> None:
    await scene.build()
    await scene.start_turnstile()
    await submit(scene, "odd", **{CLUSTER_SELECTOR: "tier=(("})

    async def is_told() -> bool:
        found = (await scene.hub.api.get(WORKLOADS.at(scene.name))).ok()["items"]
        entries = [entry for each in found for entry in each.get("status", {}).get("admissionChecks", [])]
        return any(CLUSTER_SELECTOR in entry.get("message", "") for entry in entries)

    await scene.until(is_told, "the check to say what is wrong")
    repaired = {"metadata": {"annotations": {CLUSTER_SELECTOR: None}}}
    (await scene.hub.api.patch(JOBS.at(scene.name, "odd"), repaired)).ok()
    await scene.until_complete("odd")
