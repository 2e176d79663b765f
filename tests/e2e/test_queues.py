"""What a closed gate means in the queues of a real worker: order and flavors."""

import pytest

from tests.e2e.scene import Queue, Scene, condition_of

FUNGIBILITY = {"whenCanBorrow": "MayStopSearch"}


async def test_77_best_effort_lets_others_pass_a_gated_head(scene: Scene) -> None:
    await scene.build(Queue(cpu="3", spec={"queueingStrategy": "BestEffortFIFO"}))
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    await scene.start_turnstile()
    await scene.submit("high", priority="high")
    first = await scene.until_one_open("high")
    gated = scene.others(first.name)
    await scene.submit("small", on=gated, cpu=1)
    await scene.until(lambda: scene.has(gated, "small", "Admitted"), "the small job to pass the gated one")
    assert not await scene.was_evicted(gated, "low")


async def test_77_strict_order_blocks_the_queue_behind_a_gated_head(scene: Scene) -> None:
    await scene.build(Queue(cpu="3", spec={"queueingStrategy": "StrictFIFO"}))
    for worker in scene.workers.values():
        await scene.occupy(worker, stubborn=True)
    await scene.start_turnstile(gates={"singleClusterPreemptionTimeout": "6s"})
    await scene.submit("high", priority="high")
    first = await scene.until_one_open("high")
    gated = scene.others(first.name)
    await scene.submit("small", on=gated, cpu=1)
    await scene.until(lambda: scene.opened_at(gated, "high"), "the next worker's turn")
    assert not await scene.has(gated, "small", "Admitted"), "it must wait behind the gated head"


@pytest.mark.parametrize(("when_can_preempt", "wants_signal"), [("MayStopSearch", True), ("TryNextFlavor", False)])
async def test_78_a_gate_matters_only_if_the_chosen_flavor_needs_preemption(
    scene: Scene, when_can_preempt: str, wants_signal: bool
) -> None:
    fungibility = {**FUNGIBILITY, "whenCanPreempt": when_can_preempt}
    await scene.build(Queue(flavors=("first", "second"), spec={"flavorFungibility": fungibility}))
    for worker in scene.workers.values():
        await scene.occupy(worker)
    await scene.start_turnstile()
    await scene.submit("high", priority="high")
    winner = await scene.until_won("high")
    replica = await scene.workload(winner, "high")
    assert replica is not None
    (assigned,) = replica["status"]["admission"]["podSetAssignments"]
    assert assigned["flavors"]["cpu"] == f"{scene.name}-{'first' if wants_signal else 'second'}"
    assert bool(condition_of(replica, "BlockedOnPreemptionGates")) is wants_signal
    assert await scene.was_evicted(winner, "low") is wants_signal
    assert not await scene.was_evicted(scene.others(winner.name), "low")
