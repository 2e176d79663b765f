"""A worker whose objects hold very many small values: few bytes, but much to read in one piece."""

from pathlib import Path
from typing import Any

import pytest

from config.api.identifiers import WorkerName
from config.names import ORIGIN_LABEL
from gates.jobs.copying import PREBUILT
from gates.model import marks
from tests.integration.orchestrator.kueue import NAMESPACE, Obj
from tests.integration.orchestrator.poisoning import good_runs_and_finishes, poison, write_past_validation
from tests.integration.orchestrator.world import ORIGIN, World, running

TIME = "2026-01-01T00:00:00.{:09}Z"
DENSE: dict[str, tuple[int, Any]] = {
    "pod sets": (80_000, lambda n: {"spec": {"podSets": [{} for _ in range(n)]}}),
    "conditions": (
        10_000,
        lambda n: {
            "status": {"conditions": [{"type": f"T{i}", "lastTransitionTime": TIME.format(i)} for i in range(n)]}
        },
    ),
    "gates": (
        10_000,
        lambda n: {
            "status": {"preemptionGates": [{"name": f"g{i}", "lastTransitionTime": TIME.format(i)} for i in range(n)]}
        },
    ),
    "assignments": (
        30_000,
        lambda n: {"status": {"admission": {"podSetAssignments": [{"count": 1} for _ in range(n)]}}},
    ),
    "owners": (30_000, lambda n: {"metadata": {"ownerReferences": [{"kind": "Workload"} for _ in range(n)]}}),
    "long texts": (
        40,
        lambda n: {"status": {"conditions": [{"type": f"T{i}", "message": "x" * 40_000} for i in range(n)]}},
    ),
    "more values than are decoded": (400_000, lambda n: {"spec": {"anything": [[] for _ in range(n)]}}),
}


def merged(obj: Obj, change: Obj) -> None:
    for name, fields in change.items():
        obj.setdefault(name, {}).update(fields)


async def both_hold(world: World) -> None:
    world.queue()
    await world.until(lambda: world.holders() == ["evil", "good"])
    await world.settled()
    world.lag.forget()


@pytest.mark.parametrize("what", DENSE)
async def test_F12_a_dense_copy_does_not_block_the_loop(tmp_path: Path, what: str) -> None:
    """The world itself fails a test in which the daemon keeps the loop for long."""
    count, make = DENSE[what]
    async with running(tmp_path, "evil", "good") as world:
        await both_hold(world)
        poison(world["evil"], lambda copy: merged(copy, make(count)))
        if "decoded" in what:
            link = world.daemon.fleet.links[WorkerName("evil")] if world.daemon is not None else None
            await world.until(lambda: link is not None and link.workloads.reflector.counts.garbage)
        else:
            await world.until(lambda: f"worker evil: {NAMESPACE}/wl: " in world.check()["message"])
        world["good"].admit()
        await good_runs_and_finishes(world)


async def test_F12_a_dense_job_does_not_block_the_loop(tmp_path: Path) -> None:
    async with running(tmp_path, "evil", "good") as world:
        await both_hold(world)
        identity = world["evil"].workload()["metadata"]["annotations"][marks.HUB]
        hub_uid = world.hub.get("jobs", "job-wl", "batch")["metadata"]["uid"]
        meta = {
            "name": "job-wl",
            "namespace": NAMESPACE,
            "uid": "of-the-job-there",
            "labels": {ORIGIN_LABEL: ORIGIN},
            "annotations": {marks.HUB: identity, marks.HUB_UID: hub_uid, PREBUILT: "wl"},
        }
        status = {"conditions": [{"type": "T"} for _ in range(30_000)]}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {}, "status": status}
        write_past_validation(world["evil"], "jobs", "batch", job)
        await world.until(lambda: f"worker evil: {NAMESPACE}/job-wl: " in world.check()["message"])
        world["good"].admit()
        await good_runs_and_finishes(world)
