"""The plan of a synchronisation is carried out on the versions that were decided on, and on no others."""

from dataclasses import replace
from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from gates.model.actions import SyncJob
from gates.model.job_plan import JobOperation, ObjectVersion, PlannedJob
from gates.wire.records import HubRecord
from manager.queueing.action_slots import ActionEffect
from manager.reconcile.job_sync import JobSyncer
from manager.reconcile.remote_jobs import RemoteJobs
from tests.integration.orchestrator.kueue import NAMESPACE, job
from tests.integration.orchestrator.world import World, running
from tests.support.worker_names import W1
from workerclient.base.errors import Conflict


async def carry_out(world: World, plan: PlannedJob) -> ActionEffect:
    daemon = world.running_daemon()
    hub = daemon.hub.workload(ObjectKey(NAMESPACE, "wl"))
    assert isinstance(hub, HubRecord)
    syncer = JobSyncer(daemon.hub, daemon.identity, RemoteJobs(daemon.hub, daemon.identity), world.clock)
    return await syncer.sync(daemon.fleet.links[W1], hub, SyncJob(W1, plan=(plan,)))


def version(raw: dict[str, dict[str, str]]) -> ObjectVersion:
    return ObjectVersion(raw["metadata"]["uid"], raw["metadata"]["resourceVersion"])


async def test_a_job_is_created_from_the_version_that_was_decided_on(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        made = world.hub.create("jobs", job(), "batch", NAMESPACE)
        name = made["metadata"]["name"]
        world.queue(owner=made)
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        plan = PlannedJob(name, version(world.hub.get("jobs", name, "batch")), None, (JobOperation.CREATE,))
        with pytest.raises(Conflict, match="has changed since the decision"):
            await carry_out(world, replace(plan, hub=replace(plan.hub, resource_version="1")))
        assert world["w1"].find("jobs", name, "batch") is None
        assert await carry_out(world, plan) is ActionEffect.DONE
        assert world["w1"].find("jobs", name, "batch") is not None


async def test_nothing_is_done_that_is_not_planned(tmp_path: Path) -> None:
    """The caches say that a job is missing, and the plan says to copy a status."""
    async with running(tmp_path, "w1") as world:
        made = world.hub.create("jobs", job(), "batch", NAMESPACE)
        name = made["metadata"]["name"]
        world.queue(owner=made)
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        here = version(world.hub.get("jobs", name, "batch"))
        gone = ObjectVersion("gone", "1")
        with pytest.raises(Conflict, match="has changed since the decision"):
            await carry_out(world, PlannedJob(name, here, gone, (JobOperation.COPY_STATUS,)))
        assert world["w1"].find("jobs", name, "batch") is None
