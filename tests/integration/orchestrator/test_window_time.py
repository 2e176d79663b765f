"""One cluster per timeout in true time: clocks that are set, records that are lost, requests that are late."""

from datetime import timedelta
from pathlib import Path

import pytest

from gates.model import marks
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import Partition
from localcluster.serving.faults import HalfOpen
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.timing import OpeningLog, T, annotate, ledger, opened, pending
from tests.integration.orchestrator.world import World, running, world
from tests.support.etcd_backups import restore, take_backup

HOUR = 3600 * 10**9


async def opened_first(world: World) -> float:
    """Let w1 get its gate, and return when."""
    await pending(world)
    world["w1"].block()
    await world.until(lambda: opened(world) == ["w1"])
    await world.settled()
    return world.clock.monotonic()


async def opens_after(world: World, name: str, limit: float) -> float:
    """Let time pass until a gate opens, and return when it did."""
    while world[name].gate() != "Open":
        assert world.clock.monotonic() < limit, f"the gate of {name} never opens"
        await world.pass_time(1)
    return world.clock.monotonic()


@pytest.mark.parametrize("hours", [-1, 1 / 6], ids=["back", "forward"])
async def test_F6_a_clock_that_is_set_shortens_no_window(tmp_path: Path, hours: float) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        await world.pass_time(10)
        world.clock.set_wall(world.clock.now_ns() + int(hours * HOUR))
        world["w1"].delete("workloads", "wl", KUEUE)
        world["w2"].block()
        assert await opens_after(world, "w2", at + 3 * T) >= at + T


async def test_F6_a_hub_kueue_whose_clock_is_ahead_makes_no_opening_over(tmp_path: Path) -> None:
    kinds = {name: all_kinds(preemption_gates=False) for name in ("w2", "w3")}
    workers = [{"name": name, "gates_unsupported": "sequential"} for name in ("w2", "w3")]
    async with world(tmp_path, "w1", "w2", "w3", kinds=kinds, workers=workers) as made:
        made.hub.clock.skew = timedelta(seconds=2)
        await made.start()
        await made.connected()
        made.queue()
        await made.until(lambda: len(made.holders()) >= 2)
        at = made.clock.monotonic()
        await made.settled()
        assert made.holders() == ["w1", "w2"]
        await made.pass_time(T - 2)
        assert made.holders() == ["w1", "w2"]
        await made.pass_time(5)
        assert made.holders() == ["w1", "w2", "w3"]
        assert made.clock.monotonic() >= at + T


async def test_F6_a_record_that_is_lost_is_written_again_and_its_window_begins_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        await world.cut("w1")
        annotate(world, marks.GATE_OPENINGS, None)
        world["w2"].block()
        await world.settled()
        assert [entry["cluster"] for entry in ledger(world)] == ["w1"]
        assert await opens_after(world, "w2", at + 3 * T) >= at + T


async def test_F6_a_record_that_is_dated_back_shortens_no_window(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        await world.pass_time(10)
        text = world.hub.workload()["metadata"]["annotations"][marks.GATE_OPENINGS]
        (entry,) = ledger(world)
        earlier = text.replace(entry["steady"]["nanoseconds"], "0").replace(
            entry["openedAtUnixNano"], str(int(entry["openedAtUnixNano"]) - HOUR)
        )
        annotate(world, marks.GATE_OPENINGS, earlier)
        world["w2"].block()
        assert await opens_after(world, "w2", at + 3 * T) >= at + T


async def test_F6_a_record_of_the_version_before_begins_again_when_it_is_first_seen(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        await world.stop()
        old = f'[{{"cluster":"w1","replicaUID":"u","openedAtUnixNano":"{world.clock.now_ns() - HOUR}"}}]'
        annotate(world, marks.GATE_OPENINGS, old)
        world["w2"].block()
        await world.start()
        await world.connected()
        at = world.clock.monotonic()
        await world.settled()
        assert await opens_after(world, "w2", at + 2 * T) >= at + T


@pytest.mark.parametrize("same", [True, False], ids=["same machine", "another machine"])
async def test_F6_a_clock_that_is_set_while_the_daemon_is_down_shortens_no_window(tmp_path: Path, same: bool) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        await world.pass_time(100)
        await world.stop()
        await world["w1"].local.partition(Partition.REFUSED)
        world["w2"].block()
        world.clock.set_wall(world.clock.now_ns() + HOUR)
        if not same:
            world.clock.steady_id = "another machine's"
        await world.start()
        await world.connected("w2")
        await world.known("w1")
        assert await opens_after(world, "w2", at + 3 * T) >= at + T


async def test_F6_a_restart_on_the_same_machine_costs_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        world["w2"].block()
        await world.pass_time(100)
        await world.stop()
        await world.start()
        await world.connected()
        found = await opens_after(world, "w2", at + 2 * T)
        assert at + T <= found <= at + T + 2


async def test_F6_a_hub_whose_history_was_rewritten_begins_windows_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await opened_first(world)
        await world.settled()
        backup = take_backup(world.hub.local, "workloads")
        world.hub.change("workloads", "wl", lambda w: w["metadata"]["labels"].update(touched="yes"), KUEUE)
        await world.pass_time(200)
        restore(world.hub.local, backup, bump=True)
        at = world.clock.monotonic()
        world["w2"].block()
        for _ in range(10):  # the watch breaks, waits, is refused, and a list follows
            await world.pass_time(1, settle=False)
        await world.settled()
        assert world.daemon is not None
        assert world.daemon.hub.new_histories == 1
        assert at + T <= await opens_after(world, "w2", at + 2 * T) <= at + T + 12


async def test_F6_a_new_attempt_in_the_same_second_is_distinguished_by_the_count_of_evictions(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await opened_first(world)
        world.evict_on_hub()
        evictions = [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
        world.hub.set_status("wl", lambda s: s.update(schedulingStats={"evictions": evictions}))
        world.release_quota()
        await world.until(lambda: not world.holders())
        world.requeue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w2"].block()
        await world.settled()
        assert opened(world) == ["w2"]


@pytest.mark.parametrize("timeout", [30, 60, 120])
async def test_F7_an_opening_that_arrives_late_counts_from_its_arrival(tmp_path: Path, timeout: int) -> None:
    gates = {"single_cluster_preemption_timeout": f"{timeout}s"}
    async with running(tmp_path, "w1", "w2", gates=gates) as world:
        await pending(world)
        log = OpeningLog(world)
        world["w1"].local.faults.add(HalfOpen(), verb="patch", plural="workloads", subresource="status", times=3)
        world["w1"].block()
        await world.until(lambda: ledger(world))
        await log.pass_time(5, step=0.2, settle=False)
        world["w2"].block()
        await log.pass_time(3 * timeout + 60, step=0.5, settle=False)
        assert "w2" in [name for name, _ in log.openings]
        assert all(gap >= timeout for gap in log.gaps())


async def test_F7_nothing_is_sent_in_the_second_half_of_a_window(tmp_path: Path) -> None:
    gates = {"single_cluster_preemption_timeout": "30s"}
    async with running(tmp_path, "w1", gates=gates) as world:
        await pending(world)
        fault = world["w1"].local.faults.add(HalfOpen(), verb="patch", plural="workloads", subresource="status")
        world["w1"].block()
        await world.until(lambda: ledger(world))
        (entry,) = ledger(world)
        seen = []
        for _ in range(29):
            before = fault.hits
            await world.pass_time(0.5, settle=False)
            if fault.hits > before:
                seen.append(world.clock.now_ns() - int(ledger(world)[0]["openedAtUnixNano"]))
            if ledger(world)[0]["openedAtUnixNano"] != entry["openedAtUnixNano"]:
                break
        assert seen
        assert max(seen) <= 16 * 10**9


async def test_F13_a_record_that_cannot_be_read_holds_no_ending_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        for name in (marks.GATE_OPENINGS, marks.WINNER, marks.FORECAST, marks.OUT_OF_SYNC, marks.ROUND_STARTED):
            annotate(world, name, "{nonsense")
        await world.settled()
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(succeeded=1), "batch")
        world["w1"].set_condition("wl", "Finished", reason="JobFinished", message="done")
        await world.until(lambda: world.hub.condition("Finished"))


async def test_F13_a_record_that_cannot_be_read_means_that_a_window_begins_now(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await opened_first(world)
        await world.pass_time(200)
        await world.cut("w1")
        await world.stop()
        annotate(world, marks.GATE_OPENINGS, "{nonsense")
        world["w2"].block()
        await world.start()
        await world.connected("w2")
        at = world.clock.monotonic()
        await world.settled()
        assert at + T <= await opens_after(world, "w2", at + 2 * T) <= at + T + 2
        (event,) = [e for e in world.events() if e["reason"] == "UnreadableRecord"]
        assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "wl")
        assert marks.GATE_OPENINGS in event["message"]


async def test_F13_a_worker_that_says_evicted_ends_no_window_but_its_own_wish(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        at = await opened_first(world)
        world["w2"].block()
        await world.pass_time(10)
        world["w1"].evict()
        await world.settled()
        assert await opens_after(world, "w2", at + 2 * T) >= at + T


async def test_F13_a_worker_that_makes_its_copy_again_and_again_does_not_hold_all_turns(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await opened_first(world)
        world["w2"].block()
        asked = world.clock.monotonic()
        while world["w2"].gate() != "Open":
            assert world.clock.monotonic() < asked + T + 30, "w2 never gets its turn"
            if not world["w1"].has_workload():  # it waits for the window: it may have to be shown again what w1 honours
                await world.pass_time(1)
                continue
            world["w1"].delete("workloads", "wl", KUEUE)
            await world.settled()
            if not world["w1"].has_workload():
                continue
            long_ago, world["w1"].clock.skew = world["w1"].clock.skew, timedelta(days=-1)
            world["w1"].block()
            world["w1"].clock.skew = long_ago
            await world.pass_time(20)
