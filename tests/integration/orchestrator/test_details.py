"""Scenarios MK of docs/scenarios.md to the letter, where the tests of the main stories show them only in part."""

import gc
from pathlib import Path
from typing import Any

import pytest

from config.api.meta import ObjectKey
from config.loading.loading import load_configuration
from config.reading.problems import ConfigurationError
from gates.model import marks
from gates.model.texts import SIBLINGS_APART, no_client
from gates.wire.records import HubRecord
from localcluster.serving.faults import ServerError
from localcluster.store.deletion import DeleteOptions, DeletionPropagation
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj, job, workload
from tests.integration.orchestrator.timing import opened, pending
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import CONFIG, World, running, world

FIFTEEN = tuple(f"w{number:02}" for number in range(15, 0, -1))
"""Not in the order of their names: that is what makes the configured order visible."""
DISPATCHED = "multikueue_workloads_dispatched_total"
ADMITTED = "multikueue_workloads_admitted_total"


def nominated(world: World) -> list[str]:
    return list(world.status().get("nominatedClusterNames", []))


async def test_01_what_is_left_of_a_check_that_vanished_is_removed(tmp_path: Path) -> None:
    """Kueue drops the checks of a Workload that backs off; its copies must not run on."""
    async with running(tmp_path, "w1", "w2", gc_interval="0") as world:
        await won_by(world)
        world.hub.set_status("wl", lambda s: s.pop("admissionChecks"))
        await world.until(lambda: world.holders() == [] and not world["w1"].find("jobs", "job-wl", "batch"))


async def test_16_an_external_dispatcher_names_some_of_many(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3", dispatcher={"mode": "External"}) as world:
        world.queue()
        await world.settled()
        assert world.holders() == []
        world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w3", "w1"]))
        await world.until(lambda: world.holders() == ["w1", "w3"])
        await world.settled()
        assert nominated(world) == ["w3", "w1"], "the list is another client's"


async def test_17_a_nominated_cluster_without_a_connection_is_told_on_the_check(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", dispatcher={"mode": "External"}) as world:
        world.queue()
        world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w1", "w9"]))
        await world.until(lambda: world.holders() == ["w1"])
        await world.until(lambda: no_client("w9") in world.check()["message"])


async def test_19_fifteen_clusters_three_a_round_in_configuration_order(tmp_path: Path) -> None:
    async with running(tmp_path, *FIFTEEN, dispatcher={"mode": "Incremental"}) as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 3)
        await world.settled()
        assert nominated(world) == list(FIFTEEN[:3])
        started = int(world.hub.workload()["metadata"]["annotations"][marks.ROUND_STARTED])
        await world.pass_time(300 - (world.clock.now_ns() - started) / 1e9)
        assert nominated(world) == list(FIFTEEN[:3]), "exactly at five minutes nothing yet"
        await world.pass_time(1)
        assert nominated(world) == list(FIFTEEN[:6])
        await world.until(lambda: len(world.holders()) == 6)


async def test_20_five_clusters_two_a_round(tmp_path: Path) -> None:
    names = ("w5", "w4", "w3", "w2", "w1")
    async with running(tmp_path, *names, dispatcher={"mode": "Incremental", "step_size": 2}) as world:
        world.queue()
        await world.until(lambda: nominated(world) == ["w5", "w4"])
        await world.pass_time(301)
        assert nominated(world) == ["w5", "w4", "w3", "w2"]
        await world.pass_time(301)
        assert nominated(world) == list(names)


def no_check(world: World) -> None:
    world.hub.set_status("wl", lambda s: s.pop("admissionChecks"))


def rejected(world: World) -> None:
    world.give_check("wl", state="Rejected")


def finished(world: World) -> None:
    world.hub.finish()


def no_quota(world: World) -> None:
    world.release_quota()


def leaving(world: World) -> None:
    """The hub evicts it, and the cluster where it was is still recorded."""

    def change(status: Obj) -> None:
        status.pop("nominatedClusterNames")
        status["clusterName"] = "w1"

    world.hub.set_status("wl", lambda s: s.update(nominatedClusterNames=["w1"]))
    world.hub.set_status("wl", change)
    world.hub.set_condition("wl", "Evicted", reason="Preempted")


@pytest.mark.parametrize("state", [no_check, rejected, finished, no_quota, leaving])
async def test_22_rounds_begin_only_for_what_waits_for_a_place(tmp_path: Path, state: Any) -> None:
    async with world(tmp_path, "w1", "w2", dispatcher={"mode": "Incremental"}) as made:
        made.queue()
        state(made)
        await made.start()
        await made.connected()
        await made.settled()
        assert nominated(made) == []
        assert made.holders() == []
        assert marks.ROUND_STARTED not in made.hub.workload()["metadata"].get("annotations", {})


async def test_25_a_config_that_lists_the_same_clusters_wakes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await pending(world)
        world.decisions.clear()
        world.hub.change("multikueueconfigs", CONFIG, lambda c: c["metadata"].update(labels={"a": "b"}), KUEUE, "")
        await world.settled()
        assert world.decisions == []
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.until(lambda: not world.running_daemon().workloads.is_idle or world.is_settled())
        await world.settled()
        assert world.holders() == ["w1"]
        world.list_workers("w1")
        await world.until(lambda: world.decisions)


async def test_29_siblings_on_different_clusters_are_an_error(tmp_path: Path) -> None:
    jobs = {"integrations": ["leaderworkerset.x-k8s.io/leaderworkerset"]}
    async with world(tmp_path, "w1", "w2", jobs=jobs) as made:
        document = {"metadata": {"name": "lws"}, "spec": {"replicas": 3}}
        owner = made.hub.create("leaderworkersets", document, "leaderworkerset.x-k8s.io", NAMESPACE)
        for index, cluster in enumerate(("w1", "w2", "")):
            name = f"wl-{index}"
            component = workload(name, owner)
            component["metadata"]["annotations"] = {
                marks.JOB_OWNER_GVK: "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet",
                marks.JOB_OWNER_NAME: "lws",
                marks.COMPONENT_INDEX: str(index),
            }
            made.hub.create("workloads", component, KUEUE, NAMESPACE)
            made.give_check(name)
            made.hub.reserve(name)
            if cluster:
                made.hub.set_status(name, lambda s: s.update(nominatedClusterNames=[cluster]))  # noqa: B023
                made.hub.set_status(
                    name,
                    lambda s: (s.pop("nominatedClusterNames"), s.update(clusterName=cluster)),  # noqa: B023
                )
        await made.start()
        await made.until(lambda: made.check("wl-2")["message"] == SIBLINGS_APART)
        assert made.holders("wl-2") == []


async def test_32_the_losers_objects_are_gone_before_the_job_is_created(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        identity = world.running_daemon().identity
        left = job("job-wl", managed_by=None)
        left["metadata"]["labels"] |= {
            "kueue.x-k8s.io/multikueue-origin": identity.origin,
            "kueue.x-k8s.io/prebuilt-workload-name": "wl",
        }
        uid = world.hub.get("jobs", "job-wl", "batch")["metadata"]["uid"]
        left["metadata"]["annotations"] = {marks.HUB: identity.hub, marks.HUB_UID: uid}
        world["w2"].create("jobs", left, "batch", NAMESPACE)
        await world.settled()
        remaining: list[tuple[bool, bool]] = []
        kind = world["w1"].store.kind("jobs", "batch")
        world["w1"].store.subscribe(
            kind,
            lambda _: remaining.append((world["w2"].has_workload(), bool(world["w2"].find("jobs", "job-wl", "batch")))),
        )
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        assert remaining[0] == (False, False)


async def test_37_a_spec_that_changed_on_the_hub_reaches_the_replica(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await pending(world)
        old = world["w1"].workload()["metadata"]["uid"]
        await world.stop()
        world.release_quota()
        world.hub.change("workloads", "wl", lambda w: w["spec"].update(queueName="another"), KUEUE)
        world.hub.reserve()
        await world.start()
        await world.until(lambda: world["w1"].has_workload() and world["w1"].workload()["metadata"]["uid"] != old)
        assert world["w1"].workload()["spec"]["queueName"] == "another"


async def test_44_out_of_sync_while_a_retry_is_under_way_writes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        world["w1"].finish(reason="OutOfSync")
        await world.until(lambda: world.check()["state"] == "Retry")
        await world.settled()
        version = world.hub.workload()["metadata"]["resourceVersion"]
        world["w1"].set_condition("wl", "Other")
        await world.settled()
        assert world.hub.workload()["metadata"]["resourceVersion"] == version
        assert world.hub.condition("Finished") is None


async def test_46_replicas_and_flips_to_ready_are_counted_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world)
        metrics = world.running_daemon().metrics

        def count(name: str, cluster: str) -> float:
            return metrics.value(name, cluster_queue="cq", cluster=cluster)

        assert [count(DISPATCHED, name) for name in ("w1", "w2")] == [1, 1]
        assert [count(ADMITTED, name) for name in ("w1", "w2")] == [1, 0]
        await world.pass_time(1000)
        world["w1"].evict()
        await world.until(lambda: world.check()["state"] == "Retry")
        await world.settled()
        assert [count(ADMITTED, name) for name in ("w1", "w2")] == [1, 0], "a retry is no admission"
        world.evict_on_hub()
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        world.requeue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.settled()
        assert [count(DISPATCHED, name) for name in ("w1", "w2")] == [2, 2]
        assert [count(ADMITTED, name) for name in ("w1", "w2")] == [1, 1]


async def test_46_a_rejection_is_not_counted(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        owner = world.hub.create("jobs", job("theirs", managed_by=None), "batch", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.check()["state"] == "Rejected")
        assert world.running_daemon().metrics.value(ADMITTED, cluster_queue="cq", cluster="w1") == 0


async def test_53_a_deleted_workload_is_forgotten(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await won_by(world)
        uid = world.hub.get("workloads", "wl", KUEUE)["metadata"]["uid"]
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.holders() == [])
        await world.settled()
        world.looks.clear()
        gc.collect()
        assert not [each for each in gc.get_objects() if isinstance(each, HubRecord) and each.uid == uid]


async def test_55_a_deleted_hub_job_takes_everything_along_without_the_collector(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", gc_interval="0") as world:
        await won_by(world)
        store = world.hub.store
        background = DeleteOptions(propagation=DeletionPropagation.BACKGROUND)
        store.delete(store.kind("jobs", "batch"), "job-wl", NAMESPACE, background)
        await world.until(lambda: not world.hub.has_workload())
        await world.until(lambda: world.holders() == [] and not world["w1"].find("jobs", "job-wl", "batch"))


async def test_57_a_loser_that_was_away_at_the_end_is_cleaned_when_it_is_back(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        await world.cut("w2")
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished") and not world["w1"].has_workload())
        assert world.holders() == ["w2"]
        await world.mend("w2")
        await world.until(lambda: world.holders() == [])


async def test_58_a_worker_that_cannot_be_read_is_unknown_not_empty(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await won_by(world, "w2")
        await world.stop()
        world["w2"].local.faults.add(ServerError(), verb="list", plural="workloads")
        world.queue("other")
        await world.start()
        await world.until(lambda: world.holders("other") == ["w1"])
        await world.pass_time(20, settle=False)
        assert world.check()["state"] == "Ready", "its replica was not seen, which does not mean that it is gone"
        world["w2"].local.faults.clear()
        await world.pass_time(60)
        assert world.check()["state"] == "Ready"
        assert world.holders("other") == ["w1", "w2"]


@pytest.mark.parametrize("value", ["0", "-30s", "999ms"])
def test_92_a_timeout_of_nothing_is_refused_at_the_start(tmp_path: Path, value: str) -> None:
    file = tmp_path / "turnstile.yaml"
    head = "apiVersion: config.multikueue-turnstile.dev/v1alpha1\nkind: Configuration\n"
    file.write_text(f'{head}gates:\n  singleClusterPreemptionTimeout: "{value}"\n')
    with pytest.raises(ConfigurationError) as refused:
        load_configuration(file, {})
    (problem,) = refused.value.problems
    assert "gates.singleClusterPreemptionTimeout" in str(problem)
    assert "a duration of at least 1s" in str(problem)


async def test_92_a_short_timeout_is_kept_to_the_second(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", gates={"single_cluster_preemption_timeout": "30s"}) as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        world["w2"].block()
        await world.settled()
        opening = world.running_daemon().hub.workload(ObjectKey(NAMESPACE, "wl")).openings[0]  # type: ignore[union-attr]
        left = 30 - (world.clock.now_ns() - opening.opened_ns) / 1e9
        await world.pass_time(left - 0.001)
        assert opened(world) == ["w1"]
        await world.pass_time(0.001)
        await world.until(lambda: opened(world) == ["w1", "w2"])
