"""Who gets a replica, in what form and when; numbers are those of docs/scenarios.md."""

from pathlib import Path
from typing import Any

import pytest

from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.model import marks
from gates.model.texts import no_client
from localcluster.cluster import Partition
from localcluster.serving.faults import ServerError
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.world import CONFIG, ORIGIN, World, running, world

INCREMENTAL = {"mode": "Incremental", "step_size": 1}
EXTERNAL = {"mode": "External"}


def annotation(world: World, name: str) -> str | None:
    found = world.hub.workload()["metadata"].get("annotations", {}).get(name)
    return None if found is None else str(found)


# --- ownership and rejection


async def test_01_a_workload_without_our_check_is_left_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue(check="another")
        before = world.hub.workload()
        await world.settled()
        assert world.hub.workload() == before
        assert world.holders() == []


async def test_02_an_ownerless_workload_is_rejected_when_asked_to(tmp_path: Path) -> None:
    options = {"jobs": {"integrations": ["batch/job"], "ownerless_workloads": "Reject"}}
    async with running(tmp_path, "w1", **options) as world:
        world.submit_ownerless()
        world.hub.reserve()
        await world.until(lambda: world.check()["state"] == "Rejected")
        assert world.check()["message"] == 'No multikueue adapter found, Previously: "Pending"'
        assert world.holders() == []


async def test_02_an_ownerless_workload_is_replicated_gated_and_finished_by_default(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.submit_ownerless()
        world.hub.reserve()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))
        await world.until(lambda: world.holders() == [])


async def test_03_07_a_kind_that_is_not_switched_on_is_rejected_by_name(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        document = {"metadata": {"name": "mpi"}, "spec": {}}
        owner = world.hub.create("mpijobs", document, "kubeflow.org", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.check()["state"] == "Rejected")
        want = 'No multikueue adapter found for owner kind "kubeflow.org/v2beta1, Kind=MPIJob", Previously: "Pending"'
        assert world.check()["message"] == want
        assert world.holders() == []


@pytest.mark.parametrize("manager", [None, "example.com/other"])
async def test_04_08_a_job_that_another_controller_manages_is_rejected(tmp_path: Path, manager: str | None) -> None:
    async with running(tmp_path, "w1") as world:
        owner = world.hub.create("jobs", job("theirs", managed_by=manager), "batch", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.check()["state"] == "Rejected")
        want = f'Expecting spec.managedBy to be "{MULTIKUEUE_NAME}" not "{manager or ""}"'
        assert want in world.check()["message"]
        assert world.holders() == []


async def test_05_06_a_rejected_workload_is_skipped_and_cleaned_once_it_lost_its_quota(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world.give_check("wl", state="Rejected")
        await world.settled()
        assert len(world.holders()) == 2
        world.give_check("wl", state="Pending")
        world.release_quota()
        await world.until(lambda: world.holders() == [])


async def test_09_a_job_that_cannot_be_read_is_no_reason_to_reject(tmp_path: Path) -> None:
    async with world(tmp_path, "w1") as made:
        made.hub.local.faults.add(ServerError(), verb="list", plural="jobs")
        await made.start()
        await made.connected()
        made.queue()
        await made.until(lambda: made.decisions)
        await made.until(lambda: made.running_daemon().workloads.is_idle)
        assert made.check()["state"] == "Pending"
        assert made.holders() == []
        made.hub.local.faults.clear()
        await made.pass_time(30)
        await made.until(lambda: made.holders() == ["w1"])


# --- dispatch


async def test_10_39_68_replicas_carry_our_marks_and_nothing_of_the_hubs_cluster(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.submit(preemptionGates=[{"name": "example.com/hub-only"}])
        world.hub.change("workloads", "wl", lambda w: w["metadata"].update(finalizers=["a/b"]), KUEUE)
        world.hub.reserve()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        assert world.status()["nominatedClusterNames"] == ["w1", "w2"]
        replica = world["w1"].workload()
        metadata = replica["metadata"]
        assert metadata["labels"] == {ORIGIN_LABEL: ORIGIN}
        assert not {"ownerReferences", "finalizers"} & set(metadata)
        assert metadata["annotations"][marks.HUB_UID] == world.hub.workload()["metadata"]["uid"]
        assert replica["spec"]["preemptionGates"] == [{"name": MULTIKUEUE_NAME}]
        wanted = {k: v for k, v in world.hub.workload()["spec"].items() if k != "preemptionGates"}
        assert {k: v for k, v in replica["spec"].items() if k != "preemptionGates"} == wanted
        created = replica["metadata"]["uid"]
        await world.pass_time(120)
        assert world["w1"].workload()["metadata"]["uid"] == created


async def test_11_only_the_missing_replica_is_created(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        kept = world["w1"].workload()["metadata"]["uid"]
        world["w2"].delete("workloads", "wl", KUEUE)
        await world.until(world["w2"].has_workload)
        assert world["w1"].workload()["metadata"]["uid"] == kept


async def test_12_30_a_worker_without_the_namespace_is_told_by_name_and_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world["w2"].delete("namespaces", NAMESPACE, namespace="")
        await world.until(lambda: world["w2"].find("namespaces", NAMESPACE, namespace="") is None)
        world.queue()
        await world.until(lambda: "not found" in world.check()["message"])
        assert "cluster w2: create workloads.kueue.x-k8s.io team/wl" in world.check()["message"]
        assert world.holders() == ["w1"]
        assert world.status()["nominatedClusterNames"] == ["w1", "w2"]
        world["w2"].create("namespaces", {"metadata": {"name": NAMESPACE}})
        await world.pass_time(10)
        assert world.holders() == ["w1", "w2"]
        assert world.check()["message"] == "Pending on w1, w2"


async def test_13_26_a_lost_worker_is_not_nominated_and_gets_its_replica_when_it_is_back(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        await made["w2"].local.partition(Partition.REFUSED)
        await made.start()
        await made.connected("w1")
        await made.known("w2")
        made.queue()
        await made.until(lambda: made.holders() == ["w1"])
        await made.settled()
        assert made.status()["nominatedClusterNames"] == ["w1"]
        await made.mend("w2")
        await made.until(lambda: made.holders() == ["w1", "w2"])


async def test_14_the_same_nominations_in_another_order_are_not_written(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        made.queue()
        made.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w2", "w1"]))
        await made.start()
        await made.until(lambda: len(made.holders()) == 2)
        await made.settled()
        assert made.status()["nominatedClusterNames"] == ["w2", "w1"]


async def test_15_nothing_is_dispatched_before_the_other_checks_are_ready(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.submit()
        world.give_check("wl", "provisioning")
        world.hub.reserve()
        await world.settled()
        assert world.holders() == []
        world.give_check("wl", "provisioning", "Ready")
        await world.until(lambda: world.holders() == ["w1"])


async def test_16_18_an_external_dispatcher_decides_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", dispatcher=EXTERNAL) as world:
        world.queue()
        await world.settled()
        assert world.holders() == []
        world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w2"]))
        await world.until(lambda: world.holders() == ["w2"])
        world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w1"]))
        await world.until(lambda: world.holders() == ["w1"])


async def test_17_an_external_nomination_of_a_lost_worker_waits_for_it(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", dispatcher=EXTERNAL) as world:
        await world.cut("w2")
        world.queue()
        world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w1", "w2"]))
        await world.until(lambda: world.holders() == ["w1"])
        notes = [note for _, decision in world.decisions for note in decision.notes]
        assert no_client("w2") in notes
        await world.mend("w2")
        await world.until(lambda: world.holders() == ["w1", "w2"])


async def test_19_20_21_incremental_rounds_add_the_next_workers_in_configuration_order(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3", dispatcher=INCREMENTAL) as world:
        world.list_workers("w3", "w1", "w2")
        world.queue()
        await world.until(lambda: world.holders() == ["w3"])
        await world.pass_time(299)
        assert world.status()["nominatedClusterNames"] == ["w3"]
        await world.pass_time(2)
        assert world.status()["nominatedClusterNames"] == ["w3", "w1"]
        await world.pass_time(302)
        assert world.holders() == ["w1", "w2", "w3"]
        writes = world.hub.workload()["metadata"]["resourceVersion"]
        await world.pass_time(700)
        assert world.hub.workload()["metadata"]["resourceVersion"] == writes


async def test_22_incremental_leaves_a_placed_workload_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", dispatcher=INCREMENTAL) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.pass_time(700)
        assert world.holders() == ["w1"]


async def test_23_a_round_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", dispatcher=INCREMENTAL) as world:
        world.queue()
        await world.until(lambda: annotation(world, marks.ROUND_STARTED) is not None)
        await world.pass_time(200)
        await world.stop()
        await world.start()
        await world.connected()
        await world.settled()
        await world.pass_time(99)
        assert world.holders() == ["w1"]
        await world.pass_time(3)
        assert world.holders() == ["w1", "w2"]


async def test_24_a_worker_that_is_added_to_the_configuration_gets_pending_workloads(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.list_workers("w1")
        await world.settled()
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world.list_workers("w1", "w2")
        await world.until(lambda: world.holders() == ["w1", "w2"])


async def test_25_a_change_that_concerns_no_workload_wakes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        world.decisions.clear()
        spec = {"clusters": ["w1"]}
        world.hub.create("multikueueconfigs", {"metadata": {"name": "unused"}, "spec": spec}, KUEUE)
        await world.settled()
        assert world.decisions == []
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.settled()
        assert world.holders() == ["w1"]


async def test_27_nothing_is_nominated_while_an_eviction_is_in_progress(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        made.queue()
        made.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w1"]))

        def place(status: dict[str, Any]) -> None:
            status.pop("nominatedClusterNames")
            status["clusterName"] = "w1"

        made.hub.set_status("wl", place)
        made.hub.set_condition("wl", "Evicted", reason="Preempted")
        await made.start()
        await made.connected()
        await made.settled()
        assert made.holders() == []
        assert "nominatedClusterNames" not in made.status()
        made.hub.set_condition("wl", "Evicted", status="False", reason="QuotaReserved")
        await made.until(lambda: made.holders() == ["w1", "w2"])
        assert "clusterName" not in made.status(), "its writer has to remove it"


async def test_28_33_an_admitted_replica_that_was_never_nominated_is_nominated_first(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.stop()
        world.hub.set_status("wl", lambda s: s.pop("nominatedClusterNames"))
        world["w1"].admit()
        await world.start()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert world.status()["clusterName"] == "w1"


# --- component workloads


async def test_29_94_components_wait_for_each_other_and_follow_the_primary(tmp_path: Path) -> None:
    options = {"jobs": {"integrations": ["leaderworkerset.x-k8s.io/leaderworkerset"]}}
    async with running(tmp_path, "w1", "w2", **options) as world:
        document = {"metadata": {"name": "lws"}, "spec": {"replicas": 2}}
        owner = world.hub.create("leaderworkersets", document, "leaderworkerset.x-k8s.io", NAMESPACE)

        def component(name: str, index: int) -> None:
            made = workload(name, owner)
            made["metadata"]["annotations"] = {
                marks.JOB_OWNER_GVK: "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
                marks.JOB_OWNER_NAME: "lws",
                marks.COMPONENT_INDEX: str(index),
            }
            world.hub.create("workloads", made, KUEUE, NAMESPACE)
            world.give_check(name)
            world.hub.reserve(name)

        component("first", 0)
        await world.settled()
        assert world.holders("first") == []
        component("second", 1)
        await world.until(lambda: world.holders("first") == ["w1", "w2"])
        assert world.holders("second") == []
        world["w2"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        await world.until(lambda: world.holders("second") == ["w2"])
        assert "preemptionGates" not in world["w2"].workload("second")["spec"]
        assert world["w2"].get("leaderworkersets", "lws", "leaderworkerset.x-k8s.io")
