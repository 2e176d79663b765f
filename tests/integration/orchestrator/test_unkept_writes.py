"""Writes that a cluster answers with 200 and does not keep: nothing repeats for them, and nothing relies on them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from config.names import MULTIKUEUE_NAME
from gates.model.actions import SyncJob, UpdateReplicaSpec
from localcluster.kinds.fields import resource
from localcluster.kinds.kinds import Lookup, ServedKind
from localcluster.kinds.structural.builder import obj, preserved, string
from localcluster.kinds.structural.types import Schema
from tests.integration.orchestrator.job_kinds import KINDS, RAY, elastic_workload, ray_cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj
from tests.integration.orchestrator.terminating import at_rest
from tests.integration.orchestrator.world import World, running

JOBSETS = ("jobsets", "j", "jobset.x-k8s.io")


def with_kind(plural: str, change: Callable[[ServedKind], ServedKind]) -> tuple[ServedKind, ...]:
    return tuple(change(kind) if kind.plural == plural else kind for kind in KINDS)


def decided(world: World, action: type[Any], since: int = 0) -> int:
    return sum(isinstance(each, action) for look in world.looks[since:] for each in look.decision.actions)


# --- jobs


async def running_job_set(world: World) -> None:
    document = {"metadata": {"name": "j"}, "spec": {"managedBy": MULTIKUEUE_NAME}}
    world.queue(owner=world.hub.create("jobsets", document, "jobset.x-k8s.io", NAMESPACE))
    await world.until(lambda: world.holders() == ["w1"])
    world["w1"].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    await world.settled()


async def test_F2_a_status_field_that_the_hub_does_not_know_is_not_copied_for_ever(tmp_path: Path) -> None:
    """The CustomResourceDefinition on the hub is older than the worker's: it prunes what it does not have."""
    narrow = resource({"spec": preserved(), "status": obj({"phase": string()})})
    kinds = {"hub": with_kind("jobsets", lambda kind: replace(kind, schema=narrow)), "w1": KINDS}
    async with running(tmp_path, "w1", kinds=kinds, jobs={"integrations": ["jobset.x-k8s.io/jobset"]}) as world:
        await running_job_set(world)
        for phase in ("Running", "Done"):
            known = len(world.looks)
            status = {"phase": phase, "newer": phase}
            world["w1"].change_status(*JOBSETS[:2], lambda s, new=status: s.update(new), JOBSETS[2])  # type: ignore[misc]
            await world.until(lambda p=phase: world.hub.get(*JOBSETS).get("status") == {"phase": p})  # type: ignore[misc]
            await at_rest(world)
            assert decided(world, SyncJob, known) <= 3
        world["w1"].finish()
        await world.until(lambda: world.hub.condition("Finished"))


async def test_F2_a_field_that_the_worker_fills_in_is_not_taken_away_for_ever(tmp_path: Path) -> None:
    def fill_in(ray: Obj) -> None:
        for group in ray["spec"].get("workerGroupSpecs", []):
            group.setdefault("numOfHosts", 1)

    kinds = {"hub": KINDS, "w1": with_kind("rayclusters", lambda kind: replace(kind, set_defaults=fill_in))}
    async with running(tmp_path, "w1", kinds=kinds, jobs={"integrations": ["ray.io/raycluster"]}) as world:
        elastic_workload(
            world, "wl", world.hub.create("rayclusters", ray_cluster(2), RAY, NAMESPACE), head=1, cpu=2, gpu=2
        )
        world.hub.reserve()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        known = len(world.looks)
        await at_rest(world)
        assert decided(world, SyncJob, known) == 0


async def test_F2_a_change_that_the_worker_does_not_take_is_passed_on_once(tmp_path: Path) -> None:
    """A webhook on the worker writes the configuration in its own way; then the hub's changes once more."""

    def normalise(service: Obj) -> None:
        service["spec"]["serveConfigV2"] = "normal"

    integration = "ray.io/rayservice"
    kinds = {"hub": KINDS, "w1": with_kind("rayservices", lambda kind: replace(kind, set_defaults=normalise))}
    async with running(tmp_path, "w1", kinds=kinds, jobs={"integrations": [integration]}) as world:
        spec = {"managedBy": MULTIKUEUE_NAME, "serveConfigV2": "first"}
        world.queue(owner=world.hub.create("rayservices", {"metadata": {"name": "s"}, "spec": spec}, RAY, NAMESPACE))
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await at_rest(world)
        known = len(world.looks)
        world.hub.change("rayservices", "s", lambda s: s["spec"].update(serveConfigV2="second"), RAY)
        await at_rest(world)
        assert decided(world, SyncJob, known) == 1


# --- replicas


async def test_F2_a_replica_that_keeps_its_own_priority_is_told_once_and_still_gets_its_gate(tmp_path: Path) -> None:
    def keep(new: Obj, old: Obj | None, _lookup: Lookup) -> str | None:
        if old is not None:
            new["spec"]["priority"] = old["spec"]["priority"]
        return None

    stubborn = with_kind("workloads", lambda kind: replace(kind, admit=keep))
    async with running(tmp_path, "w1", "w2", kinds={"hub": KINDS, "w1": stubborn, "w2": KINDS}) as world:
        world.queue(priority=10)
        await world.until(lambda: len(world.holders()) == 2)
        known = len(world.looks)
        world.hub.change("workloads", "wl", lambda w: w["spec"].update(priority=20), KUEUE)
        await world.until(lambda: world["w2"].workload()["spec"]["priority"] == 20)
        await at_rest(world)
        assert decided(world, UpdateReplicaSpec, known) <= 4
        world["w1"].block()
        await world.until(lambda: world["w1"].gate() == "Open")


def without_gates(schema: Schema) -> Schema:
    status = schema.properties["status"]
    kept = {name: field for name, field in status.properties.items() if name != "preemptionGates"}
    return replace(schema, properties={**schema.properties, "status": replace(status, properties=kept)})


async def test_F2_a_gate_that_a_worker_does_not_keep_open_is_a_problem_of_that_worker(tmp_path: Path) -> None:
    """Kueue asks for the gate, and the worker's API server drops the entry that would open it."""
    older = with_kind("workloads", lambda kind: replace(kind, schema=without_gates(kind.schema)))
    async with running(tmp_path, "w1", "w2", kinds={"hub": KINDS, "w1": older, "w2": KINDS}) as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].set_condition("wl", "BlockedOnPreemptionGates", reason="PreemptionGated")
        await world.until(
            lambda: (
                "an open preemption gate was written but is missing from the stored object" in world.check()["message"]
            )
        )
        known = len(world.looks)
        await world.pass_time(60)
        assert len(world.looks) - known <= 30


# --- the hub's Workload


async def test_F2_no_gate_opens_while_the_hub_does_not_keep_the_record_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def strip(new: Obj, _old: Obj | None, _lookup: Lookup) -> str | None:
        if is_stripping:
            annotations = new["metadata"].get("annotations", {})
            new["metadata"]["annotations"] = {k: v for k, v in annotations.items() if "turnstile" not in k}
        return None

    is_stripping = True
    stripping = with_kind("workloads", lambda kind: replace(kind, admit=strip))
    async with running(tmp_path, "w1", "w2", kinds={"hub": stripping, "w1": KINDS, "w2": KINDS}) as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        await world.settled()
        known = len(world.looks)
        world["w1"].block()
        await world.settled()
        await world.pass_time(120)
        assert world["w1"].gate() == "Closed"
        assert len(world.looks) - known <= 12
        assert (
            "annotation multikueue-turnstile.dev/gate-openings was written but is missing from the stored object"
            in (capsys.readouterr().out)
        )
        is_stripping = False
        await world.pass_time(300)
        assert world["w1"].gate() == "Open"


async def test_F2_a_nomination_that_the_hub_does_not_keep_is_not_written_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def older(kind: ServedKind) -> ServedKind:
        status = kind.schema.properties["status"]
        kept = {name: field for name, field in status.properties.items() if name != "nominatedClusterNames"}
        schema = replace(
            kind.schema,
            properties={**kind.schema.properties, "status": replace(status, properties=kept, invariants=())},
            invariants=(),
        )
        return replace(kind, schema=schema)

    async with running(tmp_path, "w1", kinds={"hub": with_kind("workloads", older), "w1": KINDS}) as world:
        world.queue()
        await world.settled()
        await at_rest(world)
        assert world.holders() == []
        assert (
            "status.nominatedClusterNames was written but is missing from the stored object" in capsys.readouterr().out
        )
