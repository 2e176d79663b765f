"""A worker whose objects are malformed: it is out of sight for that Workload, says why, and holds up no other."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from config.api.identifiers import WorkerName
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.jobs.copying import PREBUILT
from gates.model import marks
from localcluster.kueue.profile import CURRENT
from localcluster.serving.faults import Latency
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj
from tests.integration.orchestrator.poisoning import (
    Poison,
    good_runs_and_finishes,
    metadata,
    poison,
    status,
    write_past_validation,
)
from tests.integration.orchestrator.world import ORIGIN, running


def gate(**fields: Any) -> Poison:
    entry = {"name": MULTIKUEUE_NAME, "position": "Open", **fields}
    return lambda w: w["status"].update(preemptionGates=[entry])


def conditions(*entries: Any) -> Poison:
    return lambda w: w["status"].update(conditions=list(entries))


def spec(**fields: Any) -> Poison:
    return lambda w: w["spec"].update(fields)


TIME = "2026-01-01T00:00:00Z"
FINISHED = {"type": "Finished", "status": "True", "reason": "x", "message": "y"}
UNREADABLE: dict[str, Poison] = {
    "status.preemptionGates[0].lastTransitionTime": gate(),
    "must be a time": gate(lastTransitionTime="yesterday"),
    "status.preemptionGates[0].lastTransitionTime is 7": gate(lastTransitionTime=7),
    "status.preemptionGates[0].position": gate(position=["Open"], lastTransitionTime=TIME),
    "status.preemptionGates is 'none'": status(preemptionGates="none"),
    "status.preemptionGates[1].name": status(preemptionGates=[{"name": "a"}, {"name": "a"}]),
    "status.conditions must be a list": status(conditions={"Finished": "True"}),
    "status.conditions[0] must be a map": conditions(None),
    "status.conditions[0].message": conditions({**FINISHED, "message": {"a": 1}}),
    "status.conditions[0].lastTransitionTime": conditions(
        {**FINISHED, "lastTransitionTime": "9999-12-31T23:59:59-12:00"}
    ),
    "has a type twice": conditions(FINISHED, FINISHED),
    "status.conditions[0].observedGeneration": conditions({**FINISHED, "observedGeneration": 1e30}),
    "spec.podSets is 5": spec(podSets=5),
    "spec.podSets[0].count": lambda w: w["spec"]["podSets"][0].update(count=1 << 40),
    "spec.preemptionGates[0]": spec(preemptionGates=[None]),
    "status is 'gone'": lambda w: w.update(status="gone"),
    "metadata.generation": metadata(generation="1"),
    "metadata.creationTimestamp": metadata(creationTimestamp="0000-00-00T00:00:00Z"),
    "metadata.finalizers[0]": metadata(finalizers=[{}]),
    "metadata.annotations['multikueue-turnstile.dev/hub']": lambda w: w["metadata"]["annotations"].update(
        {marks.HUB: 5}
    ),
    "status.admission.podSetAssignments": status(admission={"podSetAssignments": {}}),
}
HARMLESS: dict[str, Poison] = {
    "another number of pod sets": lambda w: w["spec"]["podSets"].append({"name": "more", "count": 1, "template": {}}),
    "no pod sets": spec(podSets=None),
    "no status": lambda w: w.pop("status"),
    "nulls everywhere": status(conditions=None, preemptionGates=None, admission=None),
    "the first second there is": gate(lastTransitionTime="0001-01-01T00:00:00Z"),
    "the last second there is": gate(lastTransitionTime="9999-12-31T23:59:59Z"),
    "finished at the end of time": conditions(
        {**FINISHED, "type": "Evicted", "lastTransitionTime": "9999-12-31T23:59:59Z"}
    ),
    "an unheard-of gate": status(preemptionGates=[{"name": "x", "position": "Ajar"}]),
    "large numbers": metadata(generation=(1 << 63) - 1),
}


@pytest.mark.parametrize("field", UNREADABLE)
async def test_F8_a_poisoned_copy_makes_its_worker_unreadable_and_another_wins(tmp_path: Path, field: str) -> None:
    async with running(tmp_path, "evil", "good") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["evil", "good"])
        await world.settled()
        poison(world["evil"], UNREADABLE[field])
        await world.until(lambda: f"worker evil: {NAMESPACE}/wl: " in world.check()["message"])
        assert field in world.check()["message"]
        world["good"].admit()
        await good_runs_and_finishes(world)


@pytest.mark.parametrize("name", [*HARMLESS, *UNREADABLE])
async def test_F8_a_copy_poisoned_after_another_won_changes_nothing(tmp_path: Path, name: str) -> None:
    async with running(tmp_path, "good", "evil") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["good", "evil"])
        await world.settled()
        copy = deepcopy(world["evil"].workload())
        world["good"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.until(lambda: world.holders() == ["good"])
        copy.setdefault("status", {})
        (HARMLESS | UNREADABLE)[name](copy)
        write_past_validation(world["evil"], "workloads", KUEUE, copy)  # it is back, and odd
        await world.settled()
        await good_runs_and_finishes(world)


@pytest.mark.parametrize("name", HARMLESS)
async def test_F8_odd_values_with_a_meaning_hold_up_no_workload(tmp_path: Path, name: str) -> None:
    async with running(tmp_path, "evil", "good") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["evil", "good"])
        await world.settled()
        poison(world["evil"], HARMLESS[name])
        await world.settled()
        world["good"].admit()
        await good_runs_and_finishes(world)


JOB_POISONS: dict[str, Obj] = {
    "status.conditions is 5": {"status": {"conditions": 5}},
    "status.conditions[0]": {"status": {"conditions": [None]}},
    "status.conditions[0].type": {"status": {"conditions": [{"type": ["Complete"], "status": "True"}]}},
    "status is a list": {"status": []},
    "status.active": {"status": {"active": -1}},
    "spec.suspend": {"spec": {"suspend": "no"}},
    "spec is 7": {"spec": 7},
    "metadata.annotations is a list": {"metadata": {"annotations": []}},
    "spec.parallelism": {"spec": {"parallelism": 1 << 63}},
}


@pytest.mark.parametrize("field", JOB_POISONS)
async def test_F8_a_poisoned_job_of_a_worker_that_did_not_win_holds_up_no_workload(tmp_path: Path, field: str) -> None:
    async with running(tmp_path, "evil", "good") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["evil", "good"])
        await world.settled()
        hub_uid = world.hub.get("jobs", "job-wl", "batch")["metadata"]["uid"]
        identity = world["evil"].workload()["metadata"]["annotations"][marks.HUB]
        annotations = {marks.HUB: identity, marks.HUB_UID: hub_uid, PREBUILT: "wl", marks.ELASTIC: "true"}
        change = JOB_POISONS[field]
        meta = {
            "name": "job-wl",
            "namespace": NAMESPACE,
            "uid": "of-the-job-there",
            "labels": {ORIGIN_LABEL: ORIGIN},
            "annotations": annotations,
            **change.get("metadata", {}),
        }
        document = {"apiVersion": "batch/v1", "kind": "Job", **change, "metadata": meta}
        write_past_validation(world["evil"], "jobs", "batch", document)
        await world.until(lambda: f"worker evil: {NAMESPACE}/job-wl: " in world.check()["message"])
        assert field in world.check()["message"]
        world["good"].admit()
        await good_runs_and_finishes(world)


async def test_F13_a_loser_that_says_finished_before_the_winner_is_on_the_hub_is_not_believed(tmp_path: Path) -> None:
    async with running(tmp_path, "good", "evil") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["good", "evil"])
        await world.settled()
        copy = deepcopy(world["evil"].workload())
        slow = world["good"].local.faults.add(Latency(5), plural="jobs", verb="create")
        world["good"].admit()
        await world.until(lambda: slow.hits and world.holders() == ["good"])
        assert "clusterName" not in world.status()
        copy["status"] = {"conditions": [{**FINISHED, "lastTransitionTime": world["evil"].now()}]}
        write_past_validation(world["evil"], "workloads", KUEUE, copy)
        await world.pass_time(1, settle=False)
        assert world.hub.condition("Finished") is None
        await world.pass_time(10)
        await good_runs_and_finishes(world)


SCHEDULE_POISONS: dict[str, tuple[str, str, str, Obj]] = {
    "the parent of a Cohort": ("cohorts", KUEUE, "", {"spec": {"parentName": {"a": []}}}),
    "the cohort of a ClusterQueue": ("clusterqueues", KUEUE, "", {"spec": {"cohortName": [None]}}),
    "a LimitRange without limits that are any": ("limitranges", "", NAMESPACE, {"spec": {"limits": "none"}}),
    "a LimitRange that is no map": ("limitranges", "", NAMESPACE, {"spec": True}),
    "a LocalQueue of nothing": ("localqueues", KUEUE, NAMESPACE, {"spec": {"clusterQueue": [[]]}}),
}


@pytest.mark.parametrize("name", SCHEDULE_POISONS)
async def test_F8_a_poisoned_queue_silences_forecasts_at_most_and_opens_gates_as_ever(
    tmp_path: Path, name: str
) -> None:
    kinds = {"evil": CURRENT.kinds()}
    async with running(tmp_path, "evil", kinds=kinds, forecast={"enabled": True}) as world:
        assert world.daemon is not None
        observation = world.daemon.fleet.links[WorkerName("evil")].observation
        assert observation is not None
        await world.until(lambda: observation.is_complete)
        plural, group, namespace, fields = SCHEDULE_POISONS[name]
        store = world["evil"].store
        collection = store.collection(store.kind(plural, group))
        meta = {"name": "poison", "namespace": namespace, "uid": "of-the-poison"}
        head = {"apiVersion": collection.kind.api_version, "kind": collection.kind.kind}
        store.ledger.put(collection, (namespace, "poison"), {**head, "metadata": meta, **fields})
        world.queue()
        await world.until(world["evil"].has_workload)
        world["evil"].block()
        await world.until(lambda: world["evil"].gate() == "Open")
        store.ledger.remove(collection, (namespace, "poison"), {**head, "metadata": {**meta}, **fields})
        await world.until(lambda: observation.is_complete)
