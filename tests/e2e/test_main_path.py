"""The way of a job from the hub to a worker and back, when it has to preempt."""

from tests.e2e.scene import Scene, condition_of


async def test_one_worker_preempts_and_the_job_comes_back_finished(scene: Scene) -> None:
    """Scenarios 32, 41, 42, 68, 69, 80."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker)
    await scene.start_turnstile()

    await scene.submit("high", priority="high")
    winner = await scene.until_won("high")
    loser = scene.others(winner.name)

    replica = await scene.workload(winner, "high")
    assert replica is not None
    assert [gate["name"] for gate in replica["spec"]["preemptionGates"]] == ["kueue.x-k8s.io/multikueue"]
    assert await scene.was_evicted(winner, "low")
    assert not await scene.was_evicted(loser, "low")
    await scene.until_gone("high", [loser])
    await scene.until_runs(winner, "high")

    await scene.finish(winner, "high")
    job = await scene.until_complete("high")
    assert job["status"]["succeeded"] == 1
    hub = await scene.workload(scene.hub, "high")
    assert hub is not None
    assert condition_of(hub, "Finished")["reason"] == "Succeeded"
    await scene.until_gone("high", scene.workers.values())
    await scene.until(lambda: scene.has(winner, "low", "Admitted"), "the victim to run again")
    assert not await scene.was_evicted(loser, "low")


async def test_a_job_that_fits_needs_no_gate(scene: Scene) -> None:
    """Scenario 75."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("first", priority="high")
    winner = await scene.until_won("first")
    replica = await scene.workload(winner, "first")
    assert replica is not None
    assert not condition_of(replica, "BlockedOnPreemptionGates")
    await scene.until_runs(winner, "first")
    await scene.finish(winner, "first")
    await scene.until_complete("first")
    await scene.until_gone("first", scene.workers.values())


async def test_a_victim_from_the_hub_is_queued_again_on_all_workers(scene: Scene) -> None:
    """Scenarios 52, 80."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("low-a")
    await scene.submit("low-b")
    places = {(await scene.until_won(job)).name: job for job in ("low-a", "low-b")}
    assert len(places) == 2, places

    await scene.submit("high", priority="high")
    winner = await scene.until_won("high")
    victim, survivor = places[winner.name], places[scene.others(winner.name).name]
    await scene.until(lambda: scene.was_evicted(scene.hub, victim), f"{victim} to be evicted on the hub")

    async def waits_everywhere() -> bool:
        return set(await scene.holders(victim)) == set(scene.workers) and await scene.winner(victim) is None

    await scene.until(waits_everywhere, f"{victim} to wait on both workers")
    assert await scene.has(scene.hub, survivor, "Admitted")
    assert not await scene.was_evicted(scene.hub, survivor)
