"""Objects and answers that make no sense: said by name, others go on, nothing foreign is touched."""

from pathlib import Path

from config.names import ORIGIN_LABEL
from gates import marks
from localcluster.auth import ANY, Allow
from localcluster.faults import ServerError
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, workload
from tests.integration.orchestrator.world import CONFIG, running
from tests.integration.orchestrator.world import world as prepared_world

EVERYTHING_BUT_CREATE = (Allow(("get", "list", "watch", "update", "patch", "delete"), (ANY,)),)


async def test_a_foreign_workload_of_the_same_name_stops_only_its_own_worker(tmp_path: Path) -> None:
    """Fault 7 of Kueue v0.19.1: the origin of a replica is not verified."""
    async with running(tmp_path, "w1", "w2") as world:
        theirs = workload("wl", queueName="theirs")
        theirs["metadata"]["labels"] = {ORIGIN_LABEL: "another-hub"}
        made = world["w1"].create("workloads", theirs, KUEUE, NAMESPACE)
        world.queue()
        await world.until(world["w2"].has_workload)
        await world.until(lambda: "a foreign Workload of the same name is on: w1" in world.check()["message"])
        world.release_quota()
        await world.until(lambda: not world["w2"].has_workload())
        await world.pass_time(300)
        assert world["w1"].workload() == made


async def test_a_foreign_workload_that_goes_makes_room(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world["w1"].create("workloads", workload("wl"), KUEUE, NAMESPACE)
        world.queue()
        await world.until(lambda: "a foreign Workload" in world.check()["message"])
        world["w1"].delete("workloads", "wl", KUEUE)
        await world.pass_time(61)
        assert world["w1"].workload()["metadata"]["labels"][ORIGIN_LABEL]


async def test_a_replica_of_an_earlier_workload_of_the_same_name_is_not_adopted(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        old = world["w1"].workload()["metadata"]["uid"]
        await world.stop()
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.until(lambda: world.hub.find("jobs", "job-wl", "batch") is None)
        world["w1"].admit()
        world.queue()
        await world.start()
        await world.until(lambda: world["w1"].has_workload() and world["w1"].workload()["metadata"]["uid"] != old)
        await world.settled()
        assert world.check()["state"] == "Pending"


async def test_a_worker_that_forbids_one_verb_is_told_with_the_remedy(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", limited={"w1": EVERYTHING_BUT_CREATE}) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        want = 'grant the verb "create" on workloads.kueue.x-k8s.io in cluster w1'
        await world.until(lambda: want in world.check()["message"])
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_an_action_is_tried_again_after_its_rest_even_if_somebody_looked_in_between(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        broken = world["w1"].local.faults.add(ServerError(), verb="create", plural="jobs")
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: broken.hits and not world.running_actions())
        world["w1"].local.faults.clear()
        world.look_after(0.05)
        await world.pass_time(0.05)
        assert world["w1"].find("jobs", "job-wl", "batch") is None
        await world.pass_time(5)
        assert world["w1"].find("jobs", "job-wl", "batch") is not None


async def test_a_damaged_record_holds_its_own_workload_only(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.submit("damaged")
        damage = {marks.GATE_OPENINGS: "{nonsense"}
        world.hub.change("workloads", "damaged", lambda w: w["metadata"].update(annotations=damage), KUEUE)
        world.hub.reserve("damaged")
        world.queue("sound")
        await world.until(lambda: len(world.holders("sound")) == 2)
        await world.settled()
        assert world.holders("damaged") == []
        assert world.hub.workload("damaged")["metadata"]["annotations"] == damage
        world.hub.change("workloads", "damaged", lambda w: w["metadata"].update(annotations={}), KUEUE)
        await world.until(lambda: len(world.holders("damaged")) == 2)


async def test_faults_2_a_stale_outcome_of_a_loser_is_no_outcome(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.cut("w2")
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w2"].finish()
        await world.mend("w2")
        await world.until(lambda: world.holders() == ["w1"])
        assert world.hub.condition("Finished") is None
        assert world.check()["state"] == "Ready"


async def test_faults_8_the_default_origin_is_the_hubs_own(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub={"namespace": "turnstile-system"}) as world:
        await world.start()
        await world.connected()
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        uid = world.hub.get("namespaces", "kube-system", namespace="")["metadata"]["uid"]
        assert world["w1"].workload()["metadata"]["labels"][ORIGIN_LABEL] == f"hub-{uid}"


async def test_faults_19_a_config_that_comes_after_its_workloads_wakes_them(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.start()
        await world.connected()
        world.queue()
        await world.settled()
        assert world.holders() == []
        world.list_workers("w1")
        await world.until(lambda: world.holders() == ["w1"])


async def test_faults_20_a_workload_is_cleaned_up_although_its_check_and_config_are_gone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", gc_interval="0") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        world.hub.delete("admissionchecks", "mk", KUEUE, "")
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.settled()
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.holders() == [])
