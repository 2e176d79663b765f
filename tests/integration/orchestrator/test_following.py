"""The winner and what follows from it: jobs, status, finish, eviction, deletion; by docs/scenarios.md."""

from pathlib import Path
from typing import Any

from gates.model import marks
from gates.model.texts import evicted_on_worker, foreign_job
from localcluster.serving.faults import ServerError
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import running
from tests.support.worker_names import W1

READY = 'The workload was admitted on "w1"'


# --- winner, sync, finish


async def test_31_114_a_reservation_alone_wins_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].reserve()
        await world.settled()
        assert world.holders() == ["w1", "w2"]
        assert world.check()["state"] == "Pending"


async def test_32_46_the_winner_is_written_once_with_one_event(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        assert world.holders() == ["w1"]
        assert world.check()["message"] == READY
        assert world.status()["clusterName"] == "w1"
        assert not world.status().get("nominatedClusterNames")
        assert [(e["type"], e["reason"], e["message"]) for e in world.events()] == [("Normal", "MultiKueue", READY)]
        version = world.hub.workload()["metadata"]["resourceVersion"]
        await world.pass_time(1000)
        assert world.hub.workload()["metadata"]["resourceVersion"] == version
        assert len(world.events()) == 1


async def test_32_the_remote_job_names_its_replica_and_no_manager(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        remote = world["w1"].get("jobs", "job-wl", "batch")
        assert remote["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] == "wl"
        assert remote["metadata"]["annotations"]["kueue.x-k8s.io/prebuilt-workload-name"] == "wl"
        assert "managedBy" not in remote["spec"]
        assert "ownerReferences" not in remote["metadata"]


async def test_34_the_recorded_winner_stays_though_another_admitted_earlier(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.cut("w2")
        world["w2"].admit()
        await world.pass_time(5)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.until(lambda: world["w1"].find("jobs", "job-wl", "batch"))
        await world.mend("w2")
        await world.until(lambda: world.holders() == ["w1"])
        assert world.status()["clusterName"] == "w1"
        assert world["w2"].find("jobs", "job-wl", "batch") is None


async def test_35_two_winners_in_the_same_second_are_ordered_by_the_configuration(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.list_workers("w2", "w1")
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        await world.stop()
        world["w1"].admit()
        world["w2"].admit()
        await world.start()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        assert world.status()["clusterName"] == "w2"
        assert world["w1"].find("jobs", "job-wl", "batch") is None
        assert world["w2"].find("jobs", "job-wl", "batch") is not None


async def test_36_an_out_of_date_loser_goes_while_the_winner_runs(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.stop()
        stale = workload("wl", queueName="another")
        for annotation, value in world["w1"].workload()["metadata"]["annotations"].items():
            stale["metadata"].setdefault("annotations", {})[annotation] = value
        stale["metadata"]["labels"] = world["w1"].workload()["metadata"]["labels"]
        world["w2"].create("workloads", stale, KUEUE, NAMESPACE)
        await world.start()
        await world.until(lambda: world.holders() == ["w1"])
        assert world.check()["state"] == "Ready"


async def test_37_a_pending_replica_whose_spec_changed_is_made_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        old = world["w1"].workload()["metadata"]["uid"]
        world["w1"].change("workloads", "wl", lambda w: w["spec"].update(queueName="another"), KUEUE)
        await world.until(lambda: world["w1"].has_workload() and world["w1"].workload()["metadata"]["uid"] != old)
        assert world["w1"].workload()["spec"]["queueName"] == "main"


async def test_38_a_change_of_priority_is_made_in_place_with_the_gates_untouched(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        before = world["w1"].workload()
        reference = {"group": KUEUE, "kind": "WorkloadPriorityClass", "name": "high"}
        world.hub.set_status("wl", lambda s: s.update(conditions=[], admission=None))
        world.hub.change("workloads", "wl", lambda w: w["spec"].update(priority=7, priorityClassRef=reference), KUEUE)
        world.hub.reserve()
        await world.until(lambda: world["w1"].has_workload() and world["w1"].workload()["spec"].get("priority") == 7)
        after = world["w1"].workload()
        assert after["spec"]["priorityClassRef"] == reference
        assert after["spec"]["preemptionGates"] == before["spec"]["preemptionGates"]


async def test_40_105_a_foreign_job_of_the_same_name_survives_and_holds_the_workload(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        theirs = world["w1"].create("jobs", job("job-wl", managed_by=None), "batch", NAMESPACE)
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: foreign_job("w1") in world.check()["message"])
        assert world.check()["state"] == "Pending"
        world["w1"].finish()
        await world.settled()
        assert world.hub.condition("Finished") is None
        world.release_quota()
        await world.pass_time(1)
        await world.until(lambda: world.holders() == [])
        assert world["w1"].get("jobs", "job-wl", "batch")["metadata"]["uid"] == theirs["metadata"]["uid"]


async def test_41_42_the_end_is_mirrored_with_the_jobs_status_and_everything_goes(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        status = {"succeeded": 1, "startTime": world["w1"].now(), "ready": 0}
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(status), "batch")
        world["w1"].finish(reason="Succeeded", message="all done")
        await world.until(lambda: world.hub.condition("Finished"))
        finished = world.hub.condition("Finished")
        assert finished is not None
        assert (finished["reason"], finished["message"]) == ("Succeeded", "all done")
        assert world.hub.get("jobs", "job-wl", "batch")["status"]["succeeded"] == 1
        await world.until(lambda: world.holders() == [])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


async def test_41_a_job_whose_watch_lags_behind_has_the_last_word(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        await world.settled()
        world["w1"].local.mute_watches("jobs")
        status = {"succeeded": 1, "startTime": world["w1"].now(), "ready": 0}
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(status), "batch")
        world["w1"].finish(reason="Succeeded", message="all done")
        await world.until(lambda: world.hub.condition("Finished"))
        assert world.hub.get("jobs", "job-wl", "batch")["status"]["succeeded"] == 1


async def test_43_44_out_of_sync_is_a_retry_with_a_growing_delay_and_then_an_exclusion(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        delays = []
        for attempt in range(1, 4):
            if attempt == 1:
                world.queue()
            await world.until(world["w1"].has_workload)
            world["w1"].admit()
            await world.until(lambda: world.check()["state"] == "Ready")
            world["w1"].finish(reason="OutOfSync", message="The prebuilt workload is out of sync with its user job")
            await world.until(lambda: world.check()["state"] == "Retry")
            await world.settled()
            assert world.hub.condition("Finished") is None
            assert 'on worker cluster "w1" is out of sync' in world.check()["message"]
            delays.append(world.check()["requeueAfterSeconds"])
            world.evict_on_hub()
            world.release_quota()
            await world.until(lambda: world.holders() == [])
            world.requeue()
        assert delays == [1, 2, 4]
        await world.until(lambda: world.holders() == ["w2"])
        assert [e["type"] for e in world.events()].count("Warning") == 3
        assert '"w1":{"count":3' in world.hub.workload()["metadata"]["annotations"][marks.OUT_OF_SYNC]


async def test_45_a_suspended_jobs_status_waits_until_the_hub_starts_it(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world["w1"].change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        running_status = {"active": 1, "startTime": world["w1"].now(), "ready": 1}
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(running_status), "batch")
        await world.until(lambda: world.hub.get("jobs", "job-wl", "batch").get("status", {}).get("conditions"))
        await world.settled()
        status = world.hub.get("jobs", "job-wl", "batch")["status"]
        assert [c["type"] for c in status["conditions"]] == ["Suspended"]
        assert "active" not in status
        world.hub.change("jobs", "job-wl", lambda j: j["spec"].update(suspend=False), "batch")
        await world.until(lambda: world.hub.get("jobs", "job-wl", "batch")["status"].get("active") == 1)


async def test_47_a_topology_that_the_winner_found_is_acknowledged(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()

        def wait_for_topology(status: dict[str, Any]) -> None:
            status["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] = "Pending"

        world.hub.set_status("wl", wait_for_topology)
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()

        def place(status: dict[str, Any]) -> None:
            slices = [{"domainCount": 1, "valuesPerLevel": [{"universal": "n1"}], "podCounts": {"universal": 1}}]
            assignment = {"levels": ["kubernetes.io/hostname"], "slices": slices}
            status["admission"]["podSetAssignments"][0]["topologyAssignment"] = assignment

        world["w1"].set_status("wl", place)
        await world.until(
            lambda: world.status()["admission"]["podSetAssignments"][0]["delayedTopologyRequest"] == "Ready"
        )


# --- eviction, quota, deletion


async def test_48_without_quota_everything_goes(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world.release_quota()
        await world.until(lambda: world.holders() == [])


async def test_49_57_a_worker_that_was_away_is_cleaned_when_it_is_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.cut("w2")
        world.release_quota()
        await world.until(lambda: world.holders() == ["w2"])
        await world.mend("w2")
        await world.until(lambda: world.holders() == [])


async def test_50_51_an_eviction_on_the_hub_winds_the_winner_down_before_it_goes(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world.evict_on_hub(message="Preempted to accommodate a workload")
        await world.until(lambda: world["w1"].condition("DeactivationTarget"))
        target = world["w1"].condition("DeactivationTarget")
        assert target is not None
        assert target["reason"] == "EvictedOnManagerCluster"
        assert target["message"] == "Evicted on manager: Preempted to accommodate a workload"
        world["w1"].change("workloads", "wl", lambda w: w["spec"].update(active=False), KUEUE)
        await world.settled()
        assert world.holders() == ["w1"]
        world["w1"].evict(reason="DeactivatedDueToEvictedOnManagerCluster")
        world["w1"].change_status("jobs", "job-wl", lambda s: s.update(active=0), "batch")
        await world.settled()
        assert world.holders() == ["w1"]
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


async def test_52_an_eviction_on_the_winner_is_a_retry_and_then_a_new_dispatch(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        world["w1"].evict()
        await world.until(lambda: world.check()["state"] == "Retry")
        assert world.check()["message"] == evicted_on_worker(W1, "Ready")
        world.evict_on_hub()
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        world.requeue()
        await world.until(lambda: world.holders() == ["w1", "w2"])


async def test_53_55_a_deleted_workload_is_cleaned_without_the_garbage_collector(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", gc_interval="0") as world:
        await won_by(world)
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.holders() == [])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


async def test_54_56_what_was_deleted_while_a_worker_was_away_is_collected_later(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        await world.cut("w1")
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.settled()
        await world.mend("w1")
        await world.connected("w1")
        await world.pass_time(150)
        await world.until(lambda: world.holders() == [])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


async def test_58_a_worker_that_answers_with_errors_does_not_stop_the_others(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        world.queue("before")  # the workers show that they honour gates
        await world.until(lambda: world.holders("before") == ["w1", "w2", "w3"])
        await world.settled()
        world["w2"].local.faults.add(ServerError(), verb="create", plural="workloads")
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w3"])
        world["w3"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world.status()["clusterName"] == "w3"
