"""Another client undoes whatever the daemon writes, at once and for ever: that costs a write now and then, no more."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.orchestrator.decision_loops import look_at, loops
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.terminating import at_rest
from tests.integration.orchestrator.world import World, running

CONTENDED = "turnstile_contended_decisions_total"
MOST = 100 + 20 * 2


def nomination(world: World) -> bool:
    """Take the nomination back, as a controller does that restores the status it knows."""
    if not world.status().get("nominatedClusterNames"):
        return False
    world.hub.set_status("wl", lambda s: s.pop("nominatedClusterNames"))
    return True


def copy(world: World) -> bool:
    """Change a copy on a worker, as a controller does that has its own mind about queues."""
    found = world["w1"].find("workloads", "wl", KUEUE)
    if found is None or found["spec"]["queueName"] != "main":
        return False
    world["w1"].change("workloads", "wl", lambda w: w["spec"].update(queueName="other"), KUEUE)
    return True


def gate(world: World) -> bool:
    """Close the gate again that was just opened."""
    if world["w1"].gate() != "Open":
        return False
    world["w1"].block()
    return True


def annotations(world: World) -> bool:
    """Remove annotations that are in no repository."""
    found = world.hub.workload()["metadata"].get("annotations", {})
    if not any("turnstile" in name for name in found):
        return False
    world.hub.change("workloads", "wl", lambda w: w["metadata"].update(annotations={}), KUEUE)
    return True


UNDONE: dict[str, Callable[[World], bool]] = {
    "the nomination": nomination,
    "a copy's spec": copy,
    "an open gate": gate,
    "our annotations": annotations,
}


async def undo(world: World, is_undone: Callable[[World], bool], most: int) -> int:
    """Undo what the daemon does until it does nothing more, and return how often that was."""
    for count in range(most):
        await world.settled_in_time()
        if not is_undone(world):
            return count
    return most


@pytest.mark.parametrize("what", UNDONE)
async def test_F2_a_write_that_is_always_undone_is_not_repeated_without_rest(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].block()
        known = len(world.looks)
        assert await undo(world, UNDONE[what], 400) <= MOST + world.clock.monotonic() / 5
        for _ in range(5):
            await world.clock.advance(5.1)
            assert await undo(world, UNDONE[what], 100) <= 3
        assert len(world.looks) - known < 600


async def test_F2_contention_is_counted_and_others_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        assert world.daemon is not None
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await undo(world, nomination, 400)
        assert (world.daemon.metrics.registry.get_sample_value(CONTENDED) or 0) > 0
        assert "workload.contended" in capsys.readouterr().out
        world.queue("another")
        await world.until(lambda: len(world.holders("another")) == 2)
        world["w1"].admit("another")
        await world.until(lambda: world.check("another")["state"] == "Ready")
        # Nothing undoes anything any more.
        world["w1"].admit()
        await world.pass_time(30)
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_F2_a_loop_whose_rounds_take_a_while_rests_as_well(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.is_chased = True
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await at_rest(world)
        known = len(world.looks)
        for _ in range(400):
            await look_at(world, 1)
            await world.clock.advance(0.06)
        assert loops(world) > 0
        assert len(world.looks) - known < 200
