"""A worker's Kueue that is silent for a while: no Workload is looked at again and again for it."""

from pathlib import Path

import pytest

from gates.model.texts import GATES_NOT_HONOURED
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import World, running


def remark(world: World, name: str) -> str:
    (active,) = world.hub.get("multikueueclusters", name, KUEUE, "")["status"]["conditions"]
    return str(active["message"])


async def an_old_and_a_new_copy(world: World) -> None:
    """Let the workers' Kueue give one copy its gate and then stop, before it sees another copy."""
    world.queue("old")
    await world.until(lambda: world.holders("old") == ["w1", "w2"])
    await world.settled()
    await world.pass_time(2)  # gates were honoured a moment ago
    for name in ("w1", "w2"):
        world[name].shows_gates = False
    world.queue("new")
    await world.until(lambda: world.holders("new") == ["w1", "w2"])
    await world.settled()


@pytest.mark.parametrize("policy", ["allow", "exclude", "sequential"])
async def test_F3_a_kueue_that_stops_for_minutes_wakes_no_workload_in_a_loop(tmp_path: Path, policy: str) -> None:
    workers = [{"name": name, "gates_unsupported": policy} for name in ("w1", "w2")]
    async with running(tmp_path, "w1", "w2", workers=workers) as world:
        await an_old_and_a_new_copy(world)
        before = len(world.looks)
        await world.pass_time(10)
        # Nothing shows that the other would not preempt when it is back, so that it waits for its turn.
        assert world.holders("new") == (["w1", "w2"] if policy == "allow" else ["w1"])
        await world.pass_time(530)
        world.look_after(0, "old")
        world.look_after(0, "new")
        await world.settled()
        assert len(world.looks) - before < 40
        assert [remark(world, name) for name in ("w1", "w2")] == ["Connected", "Connected"]
        assert "w2" in world.holders("new")


async def test_F3_a_kueue_that_stays_silent_is_found_out_and_found_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await an_old_and_a_new_copy(world)
        world["w2"].close_gate("new")
        await world.settled()
        await world.pass_time(1300)
        assert GATES_NOT_HONOURED in remark(world, "w1")
        assert remark(world, "w2") == "Connected"
        before = len(world.looks)
        for _ in range(20):  # whichever copy is looked at last, the evidence is the same
            for name in ("old", "new"):
                world.look_after(0, name)
                await world.settled()
        assert GATES_NOT_HONOURED in remark(world, "w1")
        assert len(world.looks) - before <= 40
        world["w1"].close_gate("new")
        await world.until(lambda: remark(world, "w1") == "Connected")


async def test_F3_a_kueue_that_handles_a_copy_and_shows_no_gate_is_found_out_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await an_old_and_a_new_copy(world)
        world["w1"].set_condition("new", "QuotaReserved", "False", "Pending", "waits")
        await world.pass_time(7)
        assert GATES_NOT_HONOURED in remark(world, "w1")
        assert remark(world, "w2") == "Connected"
