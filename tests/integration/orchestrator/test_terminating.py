"""What was deleted on a worker and is not gone yet: waited for without a busy loop, and never mistaken for gone."""

from pathlib import Path

import pytest

from gates.model.actions import CreateReplica, RemoveRemote
from gates.model.marks import FINALIZER
from gates.model.texts import replica_leaving
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.terminating import (
    OPTIONS,
    SLOW,
    WHAT,
    L,
    at_rest,
    job_on,
    placed_on_w1,
    replica_on,
)
from tests.integration.orchestrator.world import World, running

JOB, POD, REPLICA = WHAT


def removals(world: World) -> int:
    return sum(isinstance(action, RemoveRemote) for look in world.looks for action in look.decision.actions)


async def evicted_from_w1(world: World) -> None:
    """Let the hub evict the Workload and take its quota back."""
    world.evict_on_hub()
    await world.settled()
    world["w1"].evict()
    await world.settled()
    world.release_quota()
    await world.settled()


@pytest.mark.parametrize("what", WHAT)
async def test_F2_a_deleted_workloads_remains_are_waited_for(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        assert removals(world) <= 3
        held.let_go()
        await at_rest(world)
        assert world.holders() == []
        assert held.find() is None


@pytest.mark.parametrize("what", WHAT)
async def test_F2_a_finished_workloads_remains_are_waited_for(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        held.let_go()
        await at_rest(world)
        assert world.holders() == []


@pytest.mark.parametrize("what", WHAT)
async def test_F2_an_evicted_workloads_remains_are_waited_for(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        await evicted_from_w1(world)
        assert held.is_leaving
        await at_rest(world)
        held.let_go()
        await at_rest(world)
        assert world.holders() == []


@pytest.mark.parametrize("what", WHAT)
async def test_F2_a_losers_remains_are_waited_for_while_the_winner_runs(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        await world.cut("w1")
        await world.pass_time(L + 60)
        assert world.check()["state"] == "Retry"
        world.evict_on_hub()
        world.release_quota()
        await world.settled()
        world.requeue()
        await world.until(world["w2"].has_workload)
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.mend("w1")
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        assert world.check()["state"] == "Ready"
        held.let_go()
        await at_rest(world)
        assert world.holders() == ["w2"]


@pytest.mark.parametrize("what", [JOB, POD])
async def test_F2_no_second_job_begins_before_a_leaving_one_is_gone(tmp_path: Path, what: str) -> None:
    """A job that was deleted may run until its finalizers are done, and a pod until its grace period is over."""
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        await evicted_from_w1(world)
        world.requeue()
        await world.until(world["w2"].has_workload)
        world["w2"].admit()
        await at_rest(world)
        assert held.is_leaving
        assert world["w2"].find(held.plural, held.name, held.group) is None
        assert world.check()["state"] == "Pending"
        assert 'starts when the job on "w1" is gone' in world.check()["message"]
        held.let_go()
        await world.until(lambda: world["w2"].find(held.plural, held.name, held.group))
        await world.until(lambda: world.check()["state"] == "Ready")


@pytest.mark.parametrize("what", [JOB, POD])
async def test_F2_the_winners_own_earlier_job_has_to_go_first(tmp_path: Path, what: str) -> None:
    async with running(tmp_path, "w1", "w2", **OPTIONS) as world:
        held = await placed_on_w1(world, what)
        uid = (held.find() or {})["metadata"]["uid"]
        await evicted_from_w1(world)
        world.requeue()
        await world.until(world["w1"].has_workload)
        world["w1"].admit()
        await at_rest(world)
        assert world.check()["state"] == "Pending"
        assert "still being deleted" in world.check()["message"]
        held.let_go()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert (held.find() or {})["metadata"]["uid"] != uid


async def test_F2_a_leaving_replica_blocks_its_name_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        held = await placed_on_w1(world, REPLICA)
        await evicted_from_w1(world)
        world.requeue()
        await world.until(world["w2"].has_workload)
        await at_rest(world)
        assert held.is_leaving
        assert replica_leaving(["w1"]) in world.check()["message"]
        held.let_go()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        assert not held.is_leaving


async def test_F2_a_leaving_replica_neither_wins_nor_preempts(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        replica_on(world["w1"]).hold()
        world["w1"].delete("workloads", "wl", KUEUE)
        world["w1"].block()
        await at_rest(world)
        assert world["w1"].gate() == "Closed"
        world["w1"].admit()
        await at_rest(world)
        assert world.check()["state"] == "Pending"
        assert world["w1"].find("jobs", "job-wl", "batch") is None
        world["w2"].block()
        await world.until(lambda: world["w2"].gate() == "Open")


async def test_F2_a_winner_that_leaves_is_followed_to_its_end(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        held = await placed_on_w1(world, REPLICA)
        world["w1"].delete("workloads", "wl", KUEUE)
        await at_rest(world)
        assert world.check()["state"] == "Ready"
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        assert held.is_leaving


async def test_F2_a_winner_that_left_is_a_retry_when_it_is_gone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        held = await placed_on_w1(world, REPLICA)
        world["w1"].delete("workloads", "wl", KUEUE)
        await at_rest(world)
        held.let_go()
        await world.until(lambda: world.check()["state"] == "Retry")


async def test_F2_a_leaving_replica_loses_kueues_finalizer_and_no_other(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        held = await placed_on_w1(world, REPLICA)
        held.hold(SLOW, FINALIZER)
        world["w1"].delete("workloads", "wl", KUEUE)
        await world.settled()
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: (held.find() or {})["metadata"]["finalizers"] == [SLOW])
        await at_rest(world)
        held.let_go()
        await at_rest(world)
        assert held.find() is None


async def test_F2_a_copy_of_an_earlier_workload_that_leaves_is_waited_for(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        held = await placed_on_w1(world, REPLICA)
        await world.stop()
        world.hub.delete("workloads", "wl", KUEUE)
        owner = world.hub.get("jobs", "job-wl", "batch")
        world.submit("wl", {**owner, "apiVersion": "batch/v1", "kind": "Job"})
        world.hub.reserve()
        await world.start()
        await world.connected()
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        assert world.check()["state"] == "Pending"
        held.let_go()
        await world.until(lambda: held.find() is not None and not held.is_leaving)


async def test_F2_garbage_that_leaves_is_left_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", gc_interval="1m") as world:
        held = await placed_on_w1(world, JOB)
        await world.stop()
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.start()
        await world.connected()
        await world.pass_time(300)
        assert held.is_leaving
        assert world.holders() == []
        await at_rest(world, 600)
        held.let_go()
        await at_rest(world)
        assert held.find() is None


async def test_F2_nothing_is_created_in_the_place_of_a_leaving_copy(tmp_path: Path) -> None:
    """The creation would be refused again and again."""
    async with running(tmp_path, "w1") as world:
        held = await placed_on_w1(world, REPLICA)
        await evicted_from_w1(world)
        known = len(world.looks)
        world.requeue()
        await at_rest(world, 600)
        made = [a for look in world.looks[known:] for a in look.decision.actions if isinstance(a, CreateReplica)]
        assert held.is_leaving
        assert made == []


async def test_F8_a_leaving_loser_is_given_up_after_the_grace_of_a_lost_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        held = await placed_on_w1(world, JOB)
        await evicted_from_w1(world)
        world.requeue()
        await world.until(world["w2"].has_workload)
        world["w2"].admit()
        await world.settled()
        await world.pass_time(L - 1)
        assert job_on(world["w2"]).find() is None
        await world.pass_time(2)
        await world.until(lambda: world.check()["state"] == "Ready")
        assert job_on(world["w2"]).find() is not None
        assert held.is_leaving
        warnings = [e["message"] for e in world.events() if e["type"] == "Warning"]
        assert [w for w in warnings if 'on "w1" was not removed in time' in w] == warnings[-1:]


async def test_F2_an_evicted_workload_does_not_wait_for_a_job_that_lost_its_replica(tmp_path: Path) -> None:
    """Kueue on the hub waits until its job is down, and of a job without its replica no status comes back."""
    async with running(tmp_path, "w1", "w2") as world:
        await placed_on_w1(world, JOB)
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        world["w1"].change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(active=1), "batch")
        await world.until(lambda: world.hub.get("jobs", "job-wl", "batch").get("status", {}).get("active") == 1)
        await world.stop()
        world["w1"].delete("workloads", "wl", KUEUE)
        world.hub.set_condition("wl", "Evicted", reason="Preempted")
        world.give_check("wl")  # Pending again; the cluster's name stays, as Kueue cannot take it back
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=True), "batch")
        await world.start()
        await world.connected()
        held = job_on(world["w1"])
        await world.until(lambda: held.is_leaving)
        await at_rest(world)
        assert world.hub.get("jobs", "job-wl", "batch")["status"].get("active") == 1, "its copy may still run"
        held.let_go()
        await world.until(lambda: not world.hub.get("jobs", "job-wl", "batch")["status"].get("active"))
