"""Openings that are not in the record: by operators, between two attempts, and copies that were made without a gate."""

import json
from pathlib import Path

import pytest

from config.names import MULTIKUEUE_NAME
from gates.model import marks
from localcluster.catalogue.registry import all_kinds
from tests.integration.orchestrator.kueue import Cluster
from tests.integration.orchestrator.timing import OpeningLog, T, annotate, ledger, opened, pending, say_gated
from tests.integration.orchestrator.world import SYSTEM, World, running, world


def open_by_hand(cluster: Cluster) -> None:
    """Open the gate as an operator does."""
    entry = {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": cluster.now()}
    cluster.set_status("wl", lambda state: state.update(preemptionGates=[entry]))


async def shows_gates(world: World, name: str) -> None:
    """Let a worker show on another Workload that it honours gates."""
    world.queue("other")
    await world.until(lambda: world[name].has_workload("other") and world[name].gate("other"))
    await world.settled()


async def test_F6_a_gate_that_is_opened_between_two_attempts_counts_in_the_next(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w2"].block()
        await world.until(lambda: opened(world) == ["w2"])
        await world.settled()
        await world.pass_time(T + 1)
        world.evict_on_hub()
        await world.settled()
        open_by_hand(world["w1"])
        await world.settled()
        await world.cut("w1")
        at = world.clock.monotonic()
        world.release_quota()
        await world.until(lambda: not world["w2"].has_workload())
        await world.pass_time(1)
        await shows_gates(world, "w2")
        world.requeue()
        await world.until(world["w2"].has_workload)
        log = OpeningLog(world)
        world["w2"].block()
        await log.pass_time(T - 2)
        assert [name for name, _ in log.openings if name == "w2"] == []
        await log.pass_time(10)
        assert [at + T <= when for name, when in log.openings if name == "w2"] == [True]


async def test_F6_a_copy_that_was_made_without_a_gate_has_a_window_once_there_is_a_second_worker(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "w1", "w2", gates={"gate_single_target": False}) as world:
        world.list_workers("w1")
        await world.settled()
        world.queue()
        await world.until(world["w1"].has_workload)
        await world.settled()
        assert "preemptionGates" not in world["w1"].workload()["spec"]
        at = world.clock.monotonic()
        world.list_workers("w1", "w2")
        await shows_gates(world, "w2")
        world.look_after(0)
        await world.until(world["w2"].has_workload)
        world["w2"].block()
        await world.pass_time(T - 2)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(5)
        assert world["w2"].gate() == "Open"
        assert world.clock.monotonic() >= at + T
        assert [entry["cluster"] for entry in ledger(world)] == ["w1", "w2"]


async def test_F6_a_copy_that_is_an_opening_is_made_only_by_whom_the_hub_says_to_be_the_leader(tmp_path: Path) -> None:
    kinds = {"w2": all_kinds(preemption_gates=False)}
    workers = [{"name": "w2", "gates_unsupported": "sequential"}]
    async with world(tmp_path, "w1", "w2", kinds=kinds, workers=workers) as made:
        await made.start(elects=True)
        await made.connected()
        await made.settled()
        lease = made.hub.get("leases", "turnstile", "coordination.k8s.io", SYSTEM)
        held = {"holderIdentity": "another", "renewTime": lease["spec"]["renewTime"]}
        made.hub.change("leases", "turnstile", lambda c: c["spec"].update(held), "coordination.k8s.io", SYSTEM)
        made.queue()
        await made.until(lambda: ledger(made))
        await made.until(lambda: not made.running_actions())
        assert not made["w2"].has_workload()


async def test_missed_no_gate_is_closed_that_could_not_be_opened_again_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        world["w2"].block()
        open_by_hand(world["w2"])
        say_gated(world["w2"])
        log = OpeningLog(world)
        await log.pass_time(60, step=0.5)
        assert log.closings == []
        assert opened(world) == ["w1", "w2"]


async def test_F13_a_record_of_thousands_of_openings_cannot_be_read_and_holds_nothing_up(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        entries = [{"cluster": f"c{n}", "replicaUID": "", "openedAtUnixNano": 1} for n in range(4000)]
        annotate(world, marks.GATE_OPENINGS, json.dumps(entries, separators=(",", ":")))
        at = world.clock.monotonic()
        world["w2"].block()
        await world.settled()
        assert len(ledger(world)) == 1
        await world.pass_time(T - 2)
        assert opened(world) == []
        await world.pass_time(4)
        assert opened(world) == ["w2"]
        assert world.clock.monotonic() >= at + T


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])
async def test_F13_no_time_in_a_gate_makes_the_record_unreadable(tmp_path: Path, moment: str) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        entry = {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": moment}
        world["w1"].set_status("wl", lambda state: state.update(preemptionGates=[entry]))
        await world.settled()
        world["w2"].block()
        await world.pass_time(T - 2)
        assert [entry["cluster"] for entry in ledger(world)] == ["w1"]
        await world.pass_time(4)
        assert world["w2"].gate() == "Open"
        assert [e for e in world.events() if e["reason"] == "UnreadableRecord"] == []
