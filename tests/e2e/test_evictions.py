"""Evictions on the worker and on the hub, deletion, and a change of priority."""

from tests.e2e.scene import Queue, Scene


async def test_evicted_on_its_worker_a_job_is_dispatched_again(scene: Scene) -> None:
    """Scenarios 52, 79: a workload on the winner preempts it; it asks for its gate again, and moves."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("job", priority="middle")
    first = await scene.until_won("job")
    second = scene.others(first.name)
    await scene.submit("local", on=first, priority="high")

    async def moved() -> bool:
        return await scene.winner("job") == second.name and await scene.has(scene.hub, "job", "Admitted")

    await scene.until(moved, f"the job to move to {second.name}")
    assert await scene.was_evicted(scene.hub, "job")
    await scene.until_gone("job", [first])
    assert await scene.has(first, "local", "Admitted")


async def test_evicted_on_the_hub_a_job_stops_on_its_worker(scene: Scene) -> None:
    """Scenarios 48, 50, 51."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("job", runs=600)
    await scene.until_won("job")
    await scene.patch_workload("job", {"spec": {"active": False}})
    await scene.until(lambda: scene.has(scene.hub, "job", "Evicted"), "the eviction on the hub")
    await scene.until_gone("job", scene.workers.values())
    await scene.until(lambda: scene.has(scene.hub, "job", "QuotaReserved", "False"), "the hub's quota to be free")

    await scene.patch_workload("job", {"spec": {"active": True}})
    await scene.until(lambda: scene.has(scene.hub, "job", "Admitted"), "the job to run again")


async def test_preempted_on_the_hub_a_job_makes_way_everywhere(scene: Scene) -> None:
    """The hub's own queue is full: its preemption reaches the worker."""
    await scene.build(hub=Queue(cpu="2"))
    await scene.start_turnstile()
    await scene.submit("low")
    await scene.until_won("low")
    await scene.submit("high", priority="high", runs=1)
    await scene.until(lambda: scene.was_evicted(scene.hub, "low"), "the hub to evict the first job")
    await scene.until_complete("high")
    await scene.until(lambda: scene.has(scene.hub, "low", "Admitted"), "the first job to run again")


async def test_a_deleted_job_leaves_nothing_behind(scene: Scene) -> None:
    """Scenarios 53, 55."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("job")
    await scene.until_won("job")
    await scene.delete_job("job")
    await scene.until_gone("job", scene.workers.values())


async def test_a_change_of_priority_reaches_a_job_that_runs_and_stays(scene: Scene) -> None:
    """Scenario 38: hub and worker agree on it, and nothing takes it back."""
    await scene.build()
    await scene.start_turnstile()
    await scene.submit("job", priority="low", runs=600)
    winner = await scene.until_won("job")
    await scene.until(lambda: scene.job_on(winner, "job"), "the job on the winner")
    await scene.change_priority("job", "high")

    async def has_new_priority() -> bool:
        found = await scene.workload(winner, "job")
        return found is not None and found["spec"]["priority"] == 1000

    await scene.until(has_new_priority, "the replica to have the new priority")
    writes = await scene.generation(winner, "job")
    await scene.submit("local", on=winner, priority="middle", cpu=1)
    await scene.until(lambda: scene.has(winner, "local", "QuotaReserved", "False"), "the winner to have queued another")
    assert await has_new_priority()
    assert await scene.generation(winner, "job") == writes
    assert not await scene.was_evicted(winner, "job")


async def test_a_change_of_priority_reaches_waiting_replicas_in_place(scene: Scene) -> None:
    """Scenario 38: the same replica gets the new priority, and then preempts."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, priority="middle")
    await scene.start_turnstile()
    await scene.submit("job", priority="low")

    async def waits_everywhere() -> bool:
        return set(await scene.holders("job")) == set(scene.workers)

    await scene.until(waits_everywhere, "a replica on every worker")
    before = {name: await scene.uid(side, "job") for name, side in scene.workers.items()}
    await scene.change_priority("job", "high")
    winner = await scene.until_won("job")
    replica = await scene.workload(winner, "job")
    assert replica is not None
    assert replica["spec"]["priority"] == 1000
    assert replica["metadata"]["uid"] == before[winner.name]
    assert not await scene.was_evicted(scene.others(winner.name), "low")
