"""A shadow beside the controller of a hub: Kueue's own on real clusters, Turnstile under Kueue's name on local ones."""

from config.names import MULTIKUEUE_NAME
from tests.conformance.client import Obj
from tests.e2e.clusters import Cluster, LocalSide
from tests.e2e.scene import Scene
from tests.e2e.shadow import Shadow, refusals_of_shadow, start_shadow, writes_of_shadow
from tests.realbed import kueue


async def build_beside(scene: Scene) -> None:
    """Build the scene for the hub's own controller."""
    scene.controller_name = MULTIKUEUE_NAME
    is_local = isinstance(scene.hub, LocalSide)
    if not is_local:
        scene.secrets_namespace = kueue.NAMESPACE
    await scene.build()
    if is_local:
        await scene.start_turnstile(hub={"origin": "multikueue"})
    await scene.until_active()
    for worker in scene.workers.values():
        await scene.occupy(worker)


async def forecast_in_time(scene: Scene, shadow: Shadow) -> tuple[Cluster, Obj]:
    """Let jobs preempt until the shadow is faster than the controller that it watches, which a busy one need not be."""
    for number in range(1, 5):
        name = f"high-{number}"
        await scene.submit(name, priority="high")
        winner = await scene.until_won(name)
        await scene.until(lambda number=number: shadow.settled(number), "the shadow to have seen it")  # type: ignore[misc]
        (episode,) = (each for each in (await shadow.report())["episodes"] if f"job-{name}-" in each["workload"])
        if all(start["forecast"] for start in episode["starts"]):
            return winner, episode
        await scene.delete_job(name)
        for worker in scene.workers.values():
            await scene.until(lambda side=worker: scene.has(side, "low", "Admitted"), "the victim to be back")  # type: ignore[misc]
    raise AssertionError(f"the shadow was always late: {episode}")


async def test_it_sees_forecasts_and_verifies_what_the_hubs_controller_does(scene: Scene) -> None:
    await build_beside(scene)
    shadow = await start_shadow(scene, scene.directory / "shadow")
    try:
        await scene.until(lambda: is_watching(shadow, scene), "the shadow to know the workers")
        winner, episode = await forecast_in_time(scene, shadow)
        (start,) = episode["starts"]
        assert (start["cluster"], start["gated"], start["forecast"]) == (winner.name, True, "Preempts"), start
        assert start["result"] == "exact", start
        (victim,) = start["victims"]
        assert victim["workload"].startswith(f"{scene.name}/job-low-")
        assert victim["pods"] == 1
        assert episode["breaches"] == []
        await scene.until(lambda: same_offline(shadow), "the journal to hold the same")
        screen = await shadow.screen(offline=True)
        assert "one cluster per timeout: kept" in screen
        assert "spared by LeastDisruption: 0 victims" in screen
    finally:
        await shadow.turnstile.stop()


async def test_it_reads_with_its_own_roles_and_writes_nothing_but_its_lease(real_scene: Scene) -> None:
    """What real API servers say about it in their audit logs, while Kueue without gates evicts on every cluster."""
    scene = real_scene
    await scene.hub.restart_kueue(orchestrated=False)
    shadow = None
    try:
        await build_beside(scene)
        shadow = await start_shadow(scene, scene.directory / "shadow")
        started = shadow
        await scene.until(lambda: is_watching(started, scene), "the shadow to know the workers")
        await scene.submit("high", priority="high")
        await scene.until_won("high")
        await scene.until(lambda: started.settled(1), "the shadow to have seen it")

        report = await shadow.report()
        (episode,) = report["episodes"]
        assert [start["gated"] for start in episode["starts"]] == [False, False], episode
        assert episode["caused"]["victims"] == 2
        assert len(episode["breaches"]) == 1
        spared = {each["policy"]: each["spared"]["victims"] for each in report["totals"]["policies"]}
        assert spared == {"FirstComeFirstServed": 1, "LeastDisruption": 1, "PreferNoPreemption": 1}
        await shadow.turnstile.stop()
        writes = await writes_of_shadow(scene)
        nothing: dict[str, set[str]] = {name: set() for name in scene.workers}
        assert writes == {scene.hub.name: {"create leases", "patch leases"}, **nothing}
        assert await refusals_of_shadow(scene) == []
    finally:
        if shadow is not None:
            await shadow.turnstile.stop()
        await scene.hub.restart_kueue()


async def is_watching(shadow: Shadow, scene: Scene) -> bool:
    """Return whether the shadow knows everything about all workers."""
    workers = await shadow.workers()
    return {each["name"] for each in workers if each["forecast"] == "reliable"} == set(scene.workers)


async def same_offline(shadow: Shadow) -> bool:
    told, kept = await shadow.report(), await shadow.report(offline=True)
    return all(told[part] == kept[part] for part in ("episodes", "totals"))
