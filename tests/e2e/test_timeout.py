"""A preemption that does not come to an end, and the next worker's turn after the timeout."""

from tests.e2e.scene import Scene

TIMEOUT = 6


async def test_the_next_gate_opens_after_the_timeout_and_not_before(scene: Scene) -> None:
    """Scenarios 69 to 71, 92: both workers' victims are stuck; then the second lets go."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": f"{TIMEOUT}s"})

    await scene.submit("high", priority="high", runs=1)
    first = await scene.until_one_open("high")
    second = scene.others(first.name)
    await scene.until(lambda: scene.was_evicted(first, "low"), "the first victim to be told to go")
    assert not await scene.was_evicted(second, "low")

    opened = await scene.until(lambda: scene.opened_at(second, "high"), "the second gate")
    began = await scene.opened_at(first, "high")
    assert began is not None, "the first gate stays open"
    assert opened - began >= TIMEOUT - 1, "stamps are whole seconds"
    await scene.until(lambda: scene.was_evicted(second, "low"), "the second victim to be told to go")

    await scene.report_active(second, "low", 0)
    winner = await scene.until_won("high")
    assert winner is second
    await scene.until_gone("high", [first])
    await scene.until_complete("high")


async def test_one_window_does_not_hold_up_another_workload(scene: Scene) -> None:
    """Scenario 93: two jobs, each with its own window."""
    await scene.build()
    for worker in scene.workers.values():
        await scene.occupy(worker, "low-1", cpu=1, stubborn=True)
        await scene.occupy(worker, "low-2", cpu=1, stubborn=True)
    await scene.start_turnstile()
    await scene.submit("high-1", cpu=1, priority="high")
    await scene.until_one_open("high-1")
    await scene.submit("high-2", cpu=1, priority="high")
    await scene.until_one_open("high-2")
