"""The hub and Turnstile itself go down in the middle of things."""

from tests.e2e.scene import Scene

TIMEOUT = 10
PATIENT = {"leaseDuration": "120s", "renewDeadline": "90s"}
"""A small machine may take longer to bring an API server back than a leader waits by default; then it ends."""


async def test_turnstile_killed_in_a_window_opens_no_gate_early(scene: Scene) -> None:
    """Scenario 83."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    turnstile = await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT}s"})
    await scene.submit("high", priority="high", runs=1)
    first = await scene.until_one_open("high")
    second = scene.others(first.name)
    began = await scene.opened_at(first, "high")
    for _ in range(3):
        await turnstile.kill()
        await turnstile.start()
        await scene.until_active()
    opened = await scene.until(lambda: scene.opened_at(second, "high"), "the second gate")
    assert began is not None
    assert opened - began >= TIMEOUT - 1, "stamps are whole seconds"
    await scene.report_active(first, "low", 0)
    assert await scene.until_won("high") is first
    await scene.until_complete("high")


async def test_turnstile_killed_while_a_job_runs_brings_it_back_finished(scene: Scene) -> None:
    await scene.build()
    turnstile = await scene.start_turnstile()
    await scene.submit("job")
    winner = await scene.until_won("job")
    await scene.until_runs(winner, "job")
    await turnstile.kill()
    await scene.finish(winner, "job")
    await scene.until(lambda: scene.has(winner, "job", "Finished"), f"the job to finish on {winner.name}")
    await turnstile.start()
    job = await scene.until_complete("job")
    assert job["status"]["succeeded"] == 1
    await scene.until_gone("job", scene.workers.values())


async def test_a_job_deleted_while_turnstile_was_down_leaves_nothing_behind(scene: Scene) -> None:
    """Scenarios 55, 104."""
    await scene.build()
    turnstile = await scene.start_turnstile()
    await scene.submit("job")
    winner = await scene.until_won("job")
    await turnstile.kill()
    await scene.delete_job("job")
    await scene.until(lambda: scene.is_deleted(scene.hub, "job"), "the job to be gone from the hub")
    assert await scene.job_on(winner, "job") is not None
    await turnstile.start()
    await scene.until_gone("job", scene.workers.values())


async def test_a_hub_that_goes_down_in_a_window_changes_nothing(scene: Scene) -> None:
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT}s"}, leaderElection=PATIENT)
    await scene.submit("high", priority="high", runs=1)
    first = await scene.until_one_open("high")
    second = scene.others(first.name)
    began = await scene.opened_at(first, "high")
    await scene.hub.kill()
    await scene.hub.start_again()
    opened = await scene.until(lambda: scene.opened_at(second, "high"), "the second gate")
    assert began is not None
    assert opened - began >= TIMEOUT - 1, "stamps are whole seconds"
    await scene.report_active(second, "low", 0)
    assert await scene.until_won("high") is second
    await scene.until_complete("high")


async def test_a_hub_that_was_down_while_a_job_ran_learns_its_end(scene: Scene) -> None:
    await scene.build()
    await scene.start_turnstile(leaderElection=PATIENT)
    await scene.submit("job")
    winner = await scene.until_won("job")
    await scene.until_runs(winner, "job")
    await scene.hub.kill()
    await scene.finish(winner, "job")
    await scene.until(lambda: scene.has(winner, "job", "Finished"), f"the job to finish on {winner.name}")
    await scene.hub.start_again()
    await scene.until_complete("job")
    await scene.until_gone("job", scene.workers.values())
