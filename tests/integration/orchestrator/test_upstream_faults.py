"""Faults that Kueue v0.19.1's own controller has, and that Turnstile does not have: K in docs/scenarios.md.

Where a scenario's test shows the same at length, the short story here is the fault's own.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.decision.decide import decide
from gates.model import marks
from gates.model.actions import OpenGate
from gates.model.settings import SECOND
from gates.model.texts import foreign_replica
from gates.model.timeouts import is_short
from localcluster.catalogue.registry import all_kinds
from localcluster.serving.faults import ServerError
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.timing import T, ledger, opened, pending
from tests.integration.orchestrator.winning import won_by
from tests.integration.orchestrator.world import CHECK, CONFIG, SYSTEM, World, running, world
from tests.unit.gates.groups import NOW, SETTINGS, group, hub, signalled, worker

L = 15 * 60


def condition(world: World, plural: str, name: str) -> dict[str, Any]:
    (found,) = world.hub.get(plural, name, KUEUE, "").get("status", {}).get("conditions") or ({"reason": ""},)
    return dict(found)


async def the_recorded_winner_stays(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.cut("w2")
        world["w2"].admit()
        await world.pass_time(5)
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        uid = world["w1"].workload()["metadata"]["uid"]
        await world.mend("w2")
        await world.until(lambda: world.holders() == ["w1"])
        assert world["w1"].workload()["metadata"]["uid"] == uid


async def stale_outcomes_of_losers_mean_nothing(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
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


async def the_grace_ends_without_a_client_too(path: Path) -> None:
    async with running(path, "w1") as world:
        await won_by(world)
        await world.stop()
        world.hub.delete("multikueueclusters", "w1", KUEUE, "")
        await world.start()
        await world.until(lambda: world.running_daemon().hub.is_connected)
        await world.settled()
        await world.pass_time(L - 30)
        assert world.check()["state"] == "Ready"
        await world.pass_time(60)
        assert world.check()["state"] == "Retry"


async def coming_and_going_wakes_workloads(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        world.decisions.clear()
        await world.cut("w2")
        assert world.decisions
        assert world.status()["nominatedClusterNames"] == ["w1"]
        world["w2"].delete("workloads", "wl", KUEUE)
        await world.mend("w2")
        await world.until(lambda: world.holders() == ["w1", "w2"])


async def a_worker_that_cannot_be_read_stops_no_other_worker(path: Path) -> None:
    async with world(path, "w1", "w2") as made:
        made["w2"].local.faults.add(ServerError(), verb="list", plural="workloads")
        made.queue()
        await made.start()
        await made.until(lambda: made.holders() == ["w1"])
        made["w1"].admit()
        await made.until(lambda: made.check()["state"] == "Ready")


async def a_missing_job_kind_blocks_only_itself(path: Path) -> None:
    kinds = tuple(kind for kind in all_kinds() if kind.plural != "jobsets")
    jobs = {"integrations": ["batch/job", "jobset.x-k8s.io/jobset"]}
    async with running(path, "w1", kinds={"w1": kinds}, jobs=jobs) as world:
        await won_by(world)


async def a_foreign_workload_of_the_same_name_survives(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        theirs = world["w1"].create("workloads", workload("wl"), KUEUE, NAMESPACE)
        world.queue()
        await world.until(world["w2"].has_workload)
        await world.until(lambda: foreign_replica(["w1"]) in world.check()["message"])
        world.release_quota()
        await world.until(lambda: not world["w2"].has_workload())
        await world.settled()
        assert world["w1"].workload() == theirs


async def hubs_do_not_share_an_origin_by_default(path: Path) -> None:
    hub = {"namespace": SYSTEM}
    async with world(path / "a", "w1", hub=hub) as first, world(path / "b", "w1", hub=hub) as second:
        origins = {(await made.start()).identity.origin for made in (first, second)}
        assert len(origins) == 2
        first.queue()
        await first.until(lambda: first.holders() == ["w1"])
        assert first["w1"].workload()["metadata"]["labels"][ORIGIN_LABEL] in origins


async def a_cluster_that_left_the_list_keeps_nothing(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await won_by(world, "w2")
        world.list_workers("w1")
        await world.until(lambda: world.check()["state"] == "Retry")
        world.evict_on_hub()
        world.release_quota()
        await world.until(lambda: world.holders() == [] and not world["w2"].find("jobs", "job-wl", "batch"))


async def ties_are_broken_by_the_configuration(_path: Path) -> None:
    configured = ("w3", "w1", "w2")
    for order in permutations(configured):
        asking = (worker(name, signalled(name, at=NOW - SECOND)) for name in order)
        placed = (replace(each, position=configured.index(each.name)) for each in asking)
        decision = decide(group(hub(nominated=configured), *placed), NOW, SETTINGS, {})
        assert [action.cluster for action in decision.actions if isinstance(action, OpenGate)] == ["w3"]


async def a_disconnect_does_not_shorten_the_window(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.cut("w1")
        world["w2"].block()
        await world.pass_time(100)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(T - 90)
        assert world["w2"].gate() == "Open"


async def an_opening_by_hand_outlasts_the_connection(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        entry = {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": world["w1"].now()}
        world["w1"].set_status("wl", lambda s: s.update(preemptionGates=[entry]))
        await world.until(lambda: [e["cluster"] for e in ledger(world)] == ["w1"])
        await world.cut("w1")
        world["w2"].block()
        await world.pass_time(T - 30)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(40)
        assert world["w2"].gate() == "Open"


async def a_replica_without_the_gate_starves_no_other_worker(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        world["w1"].change("workloads", "wl", lambda w: w["spec"].pop("preemptionGates"), KUEUE)
        world["w1"].set_condition("wl", "BlockedOnPreemptionGates", reason="PreemptionGated")
        await world.pass_time(5)
        world["w2"].block()
        await world.until(lambda: opened(world) == ["w2"])


async def a_stale_signal_costs_one_timeout_and_no_more(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        world["w1"].set_condition("wl", "QuotaReserved", status="False", reason="Pending", message="no longer fits")
        await world.until(lambda: opened(world) == ["w1"])
        world["w2"].block()
        await world.pass_time(T + 1)
        assert opened(world) == ["w1", "w2"]


async def a_reverted_gate_is_opened_again(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        before = ledger(world)
        world["w1"].close_gate()
        await world.until(lambda: opened(world) == ["w1"])
        assert ledger(world) == before


async def ready_is_written_once_with_one_event(path: Path) -> None:
    async with running(path, "w1") as world:
        await won_by(world)
        version = world.hub.workload()["metadata"]["resourceVersion"]
        for number in range(3):
            status = {"active": 3, "ready": number}
            world["w1"].change_status("jobs", "job-wl", lambda s: s.update(status), "batch")  # noqa: B023
            await world.settled()
        await world.pass_time(2 * L)
        assert world.hub.workload()["metadata"]["resourceVersion"] == version
        assert len(world.events()) == 1


async def rounds_skip_lost_workers_outlast_restarts_and_end_in_peace(path: Path) -> None:
    rounds = {"mode": "Incremental", "step_size": 1}
    async with running(path, "w1", "w2", "w3", dispatcher=rounds) as world:
        await world.cut("w1")
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        await world.pass_time(200)
        await world.stop()
        await world.start()
        await world.connected("w2", "w3")
        await world.known("w1")
        await world.pass_time(90)
        assert world.status()["nominatedClusterNames"] == ["w2"]
        await world.pass_time(20)
        await world.until(lambda: world.holders() == ["w2", "w3"])
        await world.settled()
        world.decisions.clear()
        await world.pass_time(600)
        assert len(world.decisions) < 10, "nothing is left to nominate, and nothing is decided any more"


async def jobs_without_replica_or_controller_are_collected(path: Path) -> None:
    async with running(path, "w1") as world:
        identity = world.running_daemon().identity
        orphan = job("orphan", managed_by=None)
        orphan["metadata"]["labels"] |= {ORIGIN_LABEL: identity.origin, "kueue.x-k8s.io/prebuilt-workload-name": "gone"}
        orphan["metadata"]["annotations"] = {marks.HUB: identity.hub, marks.HUB_UID: "x"}
        world["w1"].create("jobs", orphan, "batch", NAMESPACE)
        await world.settled()
        await world.pass_time(130)
        await world.until(lambda: world["w1"].find("jobs", "orphan", "batch") is None)


async def a_priority_class_that_comes_later_is_taken_over_in_place(path: Path) -> None:
    async with running(path, "w1") as world:
        await pending(world)
        uid = world["w1"].workload()["metadata"]["uid"]
        assert "priorityClassRef" not in world["w1"].workload()["spec"]
        reference = {"group": KUEUE, "kind": "WorkloadPriorityClass", "name": "high"}
        await world.stop()
        world.hub.set_status("wl", lambda s: s.update(conditions=[], admission=None))
        world.hub.change("workloads", "wl", lambda w: w["spec"].update(priority=7, priorityClassRef=reference), KUEUE)
        world.hub.reserve()
        await world.start()
        await world.until(lambda: world["w1"].workload()["spec"].get("priority") == 7)
        assert world["w1"].workload()["metadata"]["uid"] == uid
        assert world["w1"].workload()["spec"]["priorityClassRef"] == reference


async def a_permanent_mismatch_ends(path: Path) -> None:
    async with running(path, "w1", "w2") as world:
        world.queue()
        for _ in range(3):
            await world.until(world["w1"].has_workload)
            world["w1"].admit()
            await world.until(lambda: world.check()["state"] == "Ready")
            world["w1"].finish(reason="OutOfSync")
            await world.until(lambda: world.check()["state"] == "Retry")
            world.evict_on_hub()
            world.release_quota()
            await world.until(lambda: world.holders() == [])
            world.requeue()
        await world.until(lambda: world.holders() == ["w2"])
        await world.pass_time(60)
        assert world.holders() == ["w2"]


async def variants_of_concurrent_admission_are_left_alone(path: Path) -> None:
    async with running(path, "w1") as world:
        await pending(world)
        parent = world["w1"].workload()
        variant = workload(
            "wl-variant", parent, preemptionGates=[{"name": MULTIKUEUE_NAME}, {"name": marks.CONCURRENT_GATE}]
        )
        variant["metadata"] |= {key: parent["metadata"][key] for key in ("labels", "annotations")}
        made = world["w1"].create("workloads", variant, KUEUE, NAMESPACE)
        world["w1"].set_condition("wl-variant", "BlockedOnPreemptionGates", reason="PreemptionGated")
        await world.settled()
        told = "its Kueue admits concurrently, which does not go with preemption gates: nothing preempts there"
        assert condition(world, "multikueueclusters", "w1")["message"] == f"Connected; {told}"
        await world.pass_time(200)
        found = world["w1"].workload("wl-variant")
        assert found["metadata"]["uid"] == made["metadata"]["uid"]
        assert {gate["position"] for gate in found["status"].get("preemptionGates", ())} <= {"Closed"}


async def the_timeout_is_a_setting_also_of_one_check(path: Path) -> None:
    async with running(path, "w1", "w2", gates={"single_cluster_preemption_timeout": "90s"}) as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        world["w2"].block()
        annotate = {marks.PREEMPTION_TIMEOUT: "soon"}
        world.hub.change("admissionchecks", CHECK, lambda c: c["metadata"].update(annotations=annotate), KUEUE, "")
        await world.settled()
        message = condition(world, "admissionchecks", CHECK)["message"]
        assert message.startswith(f"The admission check is active; annotation {marks.PREEMPTION_TIMEOUT} is 'soon'")
        await world.pass_time(40)
        assert opened(world) == ["w1"]
        annotate[marks.PREEMPTION_TIMEOUT] = "40s"
        world.hub.change("admissionchecks", CHECK, lambda c: c["metadata"].update(annotations=annotate), KUEUE, "")
        await world.until(lambda: opened(world) == ["w1", "w2"])
        await world.settled()
        message = condition(world, "admissionchecks", CHECK)["message"]
        assert message.startswith(f"The admission check is active; {is_short(timedelta(seconds=40))}")


async def a_config_that_comes_later_wakes_workloads(path: Path) -> None:
    async with world(path, "w1") as made:
        made.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        made.queue()
        await made.start()
        await made.until(lambda: condition(made, "admissionchecks", CHECK)["reason"] == "BadConfig")
        await made.settled()
        made.list_workers("w1")
        await made.until(lambda: made.holders() == ["w1"])
        assert made.clock.monotonic() == 0


async def a_deletion_needs_neither_check_nor_config(path: Path) -> None:
    async with running(path, "w1", "w2", gc_interval="0") as world:
        await won_by(world)
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.holders() == [])
        world.list_workers("w1", "w2")
        world.queue("second")
        await world.until(lambda: len(world.holders("second")) == 2)
        world.hub.delete("admissionchecks", CHECK, KUEUE, "")
        world.hub.delete("workloads", "second", KUEUE)
        await world.until(lambda: world.holders("second") == [])
        assert world["w1"].find("jobs", "job-wl", "batch") is None


Fault = Callable[[Path], Awaitable[None]]
FAULTS: dict[str, Fault] = {
    "fault-1": the_recorded_winner_stays,
    "fault-2": stale_outcomes_of_losers_mean_nothing,
    "fault-3": the_grace_ends_without_a_client_too,
    "fault-4": coming_and_going_wakes_workloads,
    "fault-5": a_worker_that_cannot_be_read_stops_no_other_worker,
    "fault-6": a_missing_job_kind_blocks_only_itself,
    "fault-7": a_foreign_workload_of_the_same_name_survives,
    "fault-8": hubs_do_not_share_an_origin_by_default,
    "fault-9": a_cluster_that_left_the_list_keeps_nothing,
    "fault-10": ties_are_broken_by_the_configuration,
    "fault-11 disconnect": a_disconnect_does_not_shorten_the_window,
    "fault-11 by hand": an_opening_by_hand_outlasts_the_connection,
    "fault-11 no gate in the spec": a_replica_without_the_gate_starves_no_other_worker,
    "fault-11 stale signal": a_stale_signal_costs_one_timeout_and_no_more,
    "fault-11 reverted": a_reverted_gate_is_opened_again,
    "fault-12": ready_is_written_once_with_one_event,
    "fault-13": rounds_skip_lost_workers_outlast_restarts_and_end_in_peace,
    "fault-14": jobs_without_replica_or_controller_are_collected,
    "fault-15": a_priority_class_that_comes_later_is_taken_over_in_place,
    "fault-16": a_permanent_mismatch_ends,
    "fault-17": variants_of_concurrent_admission_are_left_alone,
    "fault-18": the_timeout_is_a_setting_also_of_one_check,
    "fault-19": a_config_that_comes_later_wakes_workloads,
    "fault-20": a_deletion_needs_neither_check_nor_config,
}


@pytest.mark.parametrize("story", [pytest.param(f, id=f"{n}: {f.__name__}") for n, f in FAULTS.items()])
async def test_no_fault_of_kueues_controller(tmp_path: Path, story: Fault) -> None:
    await story(tmp_path)
