"""R1 to R13 on a local cluster: what the controller writes, and what it leaves alone."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from localcluster.kueue.profile import KEP_7990
from localcluster.serving.faults import Latency, ServerError
from manager.cost.copywatch import PATIENCE_SECONDS, Attitude
from manager.cost.propagating import CostPropagation
from tests.integration.cost.world import CLUSTER, COST, cost_world, with_kueue


async def test_r1_jobs_without_a_queue_are_untouched(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        for name in ("managed", "other"):
            world.submit(name, preempted=1)
        world.cluster.change("jobs", "other", lambda raw: raw["metadata"].pop("labels"), "batch")
        await world.start()
        assert (world.cost("managed"), world.cost("other")) == ("1", None)


async def test_r1_a_job_that_gets_a_queue_later_is_taken(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(preempted=1)
        labels = world.cluster.get("jobs", "j", "batch")["metadata"]["labels"]
        world.cluster.change("jobs", "j", lambda raw: raw["metadata"].pop("labels"), "batch")
        await world.start()
        assert world.cost() is None
        world.cluster.change("jobs", "j", lambda raw: raw["metadata"].update(labels=labels), "batch")
        await world.until(lambda: world.cost() == "1")


async def test_r2_no_workload_no_annotation(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(with_workload=False)
        patches = world.counted("jobs", ("patch",))["patch"]
        await world.start()
        assert world.cost() is None
        world.add_workload("j", "j")
        await world.settled()
        assert (world.cost(), patches.hits) == (None, 0)


async def test_r3_preemptions_count_and_other_evictions_do_not(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        await world.start()
        world.preempt(times=2)
        await world.until(lambda: world.cost() == "2")
        world.preempt(times=1, cause="Something")
        await world.until(lambda: world.cost() == "3")
        world.preempt(times=9, reason="PodsReadyTimeout")
        await world.settled()
        assert world.cost() == "3"


async def test_r4_the_increment_of_a_running_job_and_the_bound(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.policy = {"running_increment": 5, "max_cost": 7}
        world.submit(preempted=1)
        await world.start()
        assert world.cost() == "1"
        world.cluster.set_condition("j", "PodsReady")
        await world.until(lambda: world.cost() == "6")
        world.preempt(times=4)
        await world.until(lambda: world.cost() == "7")
        world.cluster.set_condition("j", "PodsReady", "False")
        await world.until(lambda: world.cost() == "5")


async def test_r5_only_the_annotation_of_the_job_is_written(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit("j", {"team/owner": "a"})
        before = world.cluster.get("jobs", "j", "batch")
        await world.start()
        world.preempt()
        await world.until(lambda: world.cost() == "1")
        after = world.cluster.get("jobs", "j", "batch")
        assert after["spec"] == before["spec"]
        assert after.get("status") == before.get("status")
        changed = {key for key in after["metadata"] if after["metadata"][key] != before["metadata"].get(key)}
        assert changed == {"annotations", "resourceVersion", "managedFields"}
        assert world.workload_annotations() == {}


async def test_r6_132_two_reconciles_one_patch(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(preempted=1)
        patches = world.counted("jobs", ("patch",))["patch"]
        controller = await world.start()
        for _ in range(2):
            for key in controller.jobs.cache:
                controller.queue.add(key)
            await world.settled()
        assert (world.cost(), patches.hits) == ("1", 1)
        assert world.metrics.value("turnstile_cost_updates_total", cluster=CLUSTER) == 1


async def test_r6_a_restart_writes_nothing_that_is_right(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(preempted=1)
        await world.start()
        await world.stop()
        patches = world.counted("jobs", ("patch",))["patch"]
        await world.start()
        assert patches.hits == 0


async def test_r7_a_conflict_is_answered_by_a_fresh_read(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        await world.start()
        slow = world.cluster.local.faults.add(Latency(5), verb="patch", plural="jobs", times=1)
        reads = world.counted("jobs", ("get",))["get"]
        world.preempt()
        await world.until(lambda: slow.hits)
        world.annotate_job({"team/owner": "a"})
        world.preempt()
        await world.clock.advance(5)
        await world.until(lambda: world.cost() == "2")
        await world.settled()
        assert world.annotations() == {"team/owner": "a", COST: "2"}
        assert reads.hits == 1


async def test_r7_a_job_that_changes_all_the_time_gets_its_cost_in_the_end(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        await world.start()
        slow = world.cluster.local.faults.add(Latency(1), verb="patch", plural="jobs", times=6)
        world.preempt()
        for number in range(6):
            await world.pass_until(lambda number=number: slow.hits > number)  # type: ignore[misc]
            world.annotate_job({"turn": str(number)})
            await world.clock.advance(1)
        await world.pass_until(lambda: world.cost() == "1")
        assert world.metrics.value("turnstile_cost_reconcile_errors_total", cluster=CLUSTER) == 0


async def test_r7_another_job_of_the_same_name_does_not_inherit_the_cost(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        await world.start()
        slow = world.cluster.local.faults.add(Latency(5), verb="patch", plural="jobs", times=1)
        world.preempt()
        await world.until(lambda: slow.hits)
        world.cluster.delete("workloads", "j", "kueue.x-k8s.io")
        world.cluster.delete("jobs", "j", "batch")
        await world.until(lambda: world.cluster.find("jobs", "j", "batch") is None)
        world.submit()
        await world.clock.advance(5)
        await world.settled()
        assert world.cost() is None


@pytest.mark.parametrize("text", ["dear", "", "1.5", "2147483648", " 1"])
async def test_r8_a_value_that_is_no_cost_is_replaced_counted_and_told_once(tmp_path: Path, text: str) -> None:
    async with cost_world(tmp_path) as world:
        world.submit("j", {COST: text}, preempted=1)
        await world.start()
        assert world.cost() == "1"
        world.annotate_job({COST: text})
        await world.until(lambda: world.cost() == "1")
        await world.settled()
        counted = world.metrics.value("turnstile_cost_invalid_values_total", cluster=CLUSTER, origin="annotation")
        assert counted == 2
        (event,) = world.events()
        assert (event["type"], event["reason"]) == ("Warning", "InvalidPreemptionCost")
        assert event["involvedObject"]["name"] == "j"
        assert event["message"].endswith("it was replaced by 1")


async def test_r8_another_generation_is_told_again_and_a_restart_is_not(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit("j", {COST: "dear"}, preempted=1)
        await world.start()
        await world.stop()
        world.annotate_job({COST: "dear"})
        await world.start()
        assert (world.cost(), len(world.events())) == ("1", 1)
        world.cluster.change("jobs", "j", lambda raw: raw["spec"].update(parallelism=2), "batch")
        world.annotate_job({COST: "dear"})
        await world.until(lambda: len(world.events()) == 2)


async def test_r9_finished_jobs_and_deleted_workloads_are_left_alone(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        for name in ("finished", "orphan"):
            world.submit(name, preempted=1)
        await world.start()
        world.finish_job("finished")
        world.cluster.delete("workloads", "orphan", "kueue.x-k8s.io")
        await world.settled()
        patches = world.counted("jobs", ("patch",))["patch"]
        world.preempt("finished")
        world.annotate_job({COST: "dear"}, "orphan")
        await world.settled()
        assert patches.hits == 0
        assert (world.cost("finished"), world.cost("orphan")) == ("1", "dear")


async def test_r9_a_job_that_is_being_deleted_is_left_alone(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.propagation = CostPropagation(copies=True, bridges=True)
        world.submit("j", {COST: "3"})
        world.cluster.change("jobs", "j", lambda raw: raw["metadata"].update(finalizers=["team/hold"]), "batch")
        world.cluster.delete("jobs", "j", "batch")
        patches = {plural: world.counted(plural, ("patch",))["patch"] for plural in ("jobs", "workloads")}
        await world.start()
        await world.pass_time(2 * PATIENCE_SECONDS)
        assert [fault.hits for fault in patches.values()] == [0, 0]


async def test_r10_the_newest_workload_that_is_not_over_counts(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(preempted=5)
        await world.clock.advance(1)
        world.add_workload("second", "j", preempted=2)
        await world.clock.advance(1)
        world.add_workload("third", "j", preempted=1)
        await world.start()
        assert world.cost() == "1"
        world.cluster.finish("third")
        await world.until(lambda: world.cost() == "2")
        world.cluster.delete("workloads", "second", "kueue.x-k8s.io")
        await world.until(lambda: world.cost() == "5")


async def test_r11_other_annotations_stay(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit("j", {"team/owner": "a", "team/room": "b"}, preempted=1)
        await world.start()
        world.annotate_job({"team/owner": "c", "team/room": None})
        world.preempt()
        await world.until(lambda: world.cost() == "2")
        assert world.annotations() == {"team/owner": "c", COST: "2"}


async def test_r12_each_update_is_logged_and_errors_are_counted(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit()
        await world.start()
        trouble = world.cluster.local.faults.add(ServerError(), verb="patch", plural="jobs")
        with capture_logs() as lines:
            world.preempt()
            await world.until(lambda: trouble.hits)
            errors = "turnstile_cost_reconcile_errors_total"
            await world.pass_until(lambda: world.metrics.value(errors, cluster=CLUSTER))
            world.cluster.local.faults.clear()
            await world.pass_until(lambda: world.cost() == "1")
        updates = [line for line in lines if line["event"] == "cost.updated"]
        assert [(line["job"], line["previous"], line["cost"]) for line in updates] == [("team/j", None, 1)]
        assert any(line["event"] == "cost.unwritten" for line in lines)


async def test_r13_kueue_with_the_kep_copies_and_is_seen_to(tmp_path: Path) -> None:
    async with cost_world(tmp_path, profile=KEP_7990) as world, with_kueue(world, KEP_7990):
        world.submit(with_workload=False)
        controller = await world.start()
        await world.until(lambda: len(controller.workloads.cache) == 1)
        (key,) = controller.workloads.cache
        world.preempt(key.name)
        await world.until(lambda: world.workload_annotations(key.name) == {COST: "1"})
        await world.settled()
        assert controller.propagator.attitude is Attitude.COPIES
        world.cluster.set_status(key.name, lambda status: status.pop("schedulingStats"))
        await world.until(lambda: world.workload_annotations(key.name) == {COST: "0"})
        world.annotate_job({COST: None})
        await world.until(lambda: world.workload_annotations(key.name) == {})
        assert world.metrics.value("turnstile_cost_ignored_by_worker", cluster=CLUSTER) == 0


async def test_r13_kueue_without_the_kep_is_reported(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.submit(preempted=1)
        controller = await world.start()
        with capture_logs() as lines:
            await world.pass_time(PATIENCE_SECONDS)
        assert controller.propagator.attitude is Attitude.IGNORES
        assert [line["seen_on"] for line in lines if line["event"] == "cost.ignored_by_worker"] == ["team/j"]
        assert world.metrics.value("turnstile_cost_ignored_by_worker", cluster=CLUSTER) == 1
        assert world.workload_annotations() == {}


async def test_r13_the_copy_of_the_controller_follows_the_job(tmp_path: Path) -> None:
    async with cost_world(tmp_path) as world:
        world.propagation = CostPropagation(copies=True)
        world.submit(preempted=1)
        world.annotate_workload({"team/owner": "a"})
        await world.start()
        assert world.workload_annotations() == {"team/owner": "a"}
        await world.pass_time(PATIENCE_SECONDS)
        await world.until(lambda: world.workload_annotations() == {"team/owner": "a", COST: "1"})
        world.preempt()
        await world.until(lambda: world.workload_annotations()[COST] == "2")
        world.cluster.set_status("j", lambda status: status.pop("schedulingStats"))
        world.annotate_job({COST: None})
        await world.until(lambda: world.workload_annotations() == {"team/owner": "a"})
