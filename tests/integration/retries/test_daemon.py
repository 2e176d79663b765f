"""What the daemon's queues and connections try again: longer each time, told each time, and in the end it works."""

import asyncio
from itertools import pairwise
from pathlib import Path

from localcluster.serving.faults import ServerError
from manager.base.retrying import RetriedOperation
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.world import CHECK, World, running
from tests.support.worker_names import W1


def waits(world: World, operation: RetriedOperation, subject: str = "") -> list[float]:
    """Return the waits of what was tried again, of one subject if it is named."""
    return [
        retry.seconds
        for retry in world.retried
        if retry.operation == operation and (not subject or retry.subject == subject)
    ]


async def grown(world: World, operation: RetriedOperation, times: int, subject: str = "") -> list[float]:
    """Let time pass until something was tried again so often, and return the waits, each longer than the one before."""
    async with asyncio.timeout(60):
        while len(waits(world, operation, subject)) < times:
            await world.clock.advance(0.1)
            await asyncio.sleep(0.001)
    found = waits(world, operation, subject)[:times]
    assert all(before < after for before, after in pairwise(found)), found
    return found


async def pass_until(world: World, condition: object) -> None:
    assert callable(condition)
    async with asyncio.timeout(60):
        while not condition():
            await world.clock.advance(0.1)
            await asyncio.sleep(0.001)


async def test_actions_on_a_worker_and_their_requests(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        fault = world["w1"].local.faults.add(ServerError(), verb="create", plural="workloads")
        world.queue()
        found = await grown(world, RetriedOperation.ACTION, 3)
        assert found == [0.375, 0.75, 1.5]
        assert {retry.subject for retry in world.retried if retry.operation == RetriedOperation.ACTION} == {
            f"{NAMESPACE}/wl on w1"
        }
        world["w1"].local.faults.remove(fault)
        await pass_until(world, lambda: world.holders() == ["w1", "w2"])


async def test_requests_are_counted_by_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        assert world.daemon is not None
        registry, name = world.daemon.metrics.registry, "turnstile_worker_request_retries_total"
        before = registry.get_sample_value(name, {"cluster": "w1"})
        fault = world["w1"].local.faults.add(ServerError(), verb="delete", plural="workloads")
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        world["w2"].admit()
        await grown(world, RetriedOperation.REQUEST, 3, "w1")
        after = registry.get_sample_value(name, {"cluster": "w1"})
        assert before == 0.0
        assert after is not None
        assert after >= 3.0
        assert registry.get_sample_value(name, {"cluster": "w2"}) == 0.0
        world["w1"].local.faults.remove(fault)
        await pass_until(world, lambda: world.holders() == ["w2"])


async def test_the_reconcile_of_a_workload(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        fault = world.hub.local.faults.add(ServerError(), verb="patch", plural="workloads")
        world.queue()
        await grown(world, RetriedOperation.WORKLOAD, 3, f"{NAMESPACE}/wl")
        world.hub.local.faults.remove(fault)
        await pass_until(world, lambda: world.check()["message"])


async def test_a_condition(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await world.settled()
        fault = world.hub.local.faults.add(ServerError(), verb="patch", plural="admissionchecks")
        world.list_workers("w1", "missing")
        await grown(world, RetriedOperation.CONDITION, 3, f'AdmissionCheck "{CHECK}"')
        world.hub.local.faults.remove(fault)

        def says_so() -> bool:
            check = world.hub.find("admissionchecks", CHECK, KUEUE, "")
            assert check is not None
            conditions = {each["type"]: str(each["message"]) for each in check["status"]["conditions"]}
            return "missing" in conditions["Active"]

        await pass_until(world, says_so)


async def test_which_cluster_a_worker_is(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await world.stop()
        world.retried.clear()
        fault = world["w1"].local.faults.add(ServerError(), verb="get", plural="namespaces", name="kube-system")
        await world.start()
        assert await grown(world, RetriedOperation.WORKER_IDENTITY, 4, "w1") == [1.0, 2.0, 4.0, 8.0]
        world["w1"].local.faults.remove(fault)
        daemon = world.daemon
        assert daemon is not None
        await pass_until(world, lambda: daemon.fleet.links[W1].is_connected)


async def test_permissions_on_a_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await world.stop()
        world.retried.clear()
        fault = world["w1"].local.faults.add(ServerError(), path="/apis/authorization.k8s.io")
        await world.start()
        assert await grown(world, RetriedOperation.WORKER_PERMISSIONS, 3, "w1") == [3.75, 7.5, 15.0]
        world["w1"].local.faults.remove(fault)
        told = len(waits(world, RetriedOperation.WORKER_PERMISSIONS))
        await world.pass_time(120)
        assert len(waits(world, RetriedOperation.WORKER_PERMISSIONS)) == told, "an answer ends it"
