"""Decisions that chase each other, by a bug that is not known yet: the daemon stays calm, says so and goes on."""

from datetime import timedelta
from pathlib import Path

import pytest

from localcluster.serving.faults import ServerError
from manager.journal.writer import Journal, JournalLimits
from tests.integration.orchestrator.decision_loops import look_at, loops
from tests.integration.orchestrator.world import running


async def test_F2_a_workload_that_is_decided_about_for_no_reason_rests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.is_chased = True
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        before = len(world.looks)
        await look_at(world, 500)
        assert len(world.looks) - before <= 30
        assert loops(world) == 1
        assert capsys.readouterr().out.count("workload.decision_loop") == 1
        # Something happens to it: it is decided about at once.
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world.clock.monotonic() == 0


async def test_F2_a_rest_ends_by_itself_and_grows_with_each_one(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.is_chased = True
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        for count in range(1, 4):
            await look_at(world, 100)
            assert loops(world) == count
            before = len(world.looks)
            await world.clock.advance(2.0 ** (count - 1) - 0.5)
            await world.settled()
            assert len(world.looks) == before
            await world.clock.advance(0.6)
            await world.until(lambda known=before: len(world.looks) > known)  # type: ignore[misc]


async def test_F2_the_daemon_counts_no_loop_in_an_ordinary_life(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        for round_ in range(5):
            name = f"wl{round_}"
            world.queue(name)
            await world.until(lambda each=name: len(world.holders(each)) == 3)  # type: ignore[misc]
            world["w2"].admit(name)
            await world.until(lambda each=name: world.check(each)["state"] == "Ready")  # type: ignore[misc]
            world["w2"].finish(name)
            await world.until(lambda each=name: world.holders(each) == [])  # type: ignore[misc]
        assert loops(world) == 0


async def test_F2_a_decision_that_repeats_fills_neither_log_nor_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        capsys.readouterr()
        known = len(world.looks)
        world["w1"].local.faults.add(ServerError(), verb="delete")
        world.release_quota()
        for _ in range(40):
            await world.pass_time(1, settle=False)
        repeated = [look for look in world.looks[known:] if look.decision.actions]
        assert len(repeated) > 10
        limits = JournalLimits(timedelta(days=1), 1 << 20)
        journal = Journal(tmp_path / "journal.db", limits, world.clock.now_ns, world.clock.monotonic, lambda: 1.0)
        for look in world.looks[known:]:
            journal.note_reconciliation(look)
        assert journal.waiting <= 12
        assert capsys.readouterr().out.count("workload.decided") <= 12
