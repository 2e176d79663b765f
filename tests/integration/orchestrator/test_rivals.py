"""Other controllers that serve the same checks, under both names that Turnstile can have."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from config.names import CONTROLLER_NAME, MULTIKUEUE_NAME
from manager.base.errors import RivalError
from manager.upkeep.rivals import PROBE_SECONDS
from tests.integration.orchestrator.conditions import check, cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.rivals import Obj, hub, kueue_writes_as_itself
from tests.integration.orchestrator.world import CHECK, World
from tests.integration.orchestrator.world import world as prepared_world


def keep_words(world: World, plural: str, name: str, message: str) -> None:
    """Serve an object as another controller does: whatever others write to its condition is put right at once."""
    words = {"reason": "Active", "message": message, "lastTransitionTime": world.hub.now()}

    def put_right(status: Obj) -> None:
        status["conditions"] = [{"type": "Active", "status": "True", **words}]

    def look(_change: object) -> None:
        conditions = world.hub.get(plural, name, KUEUE, "").get("status", {}).get("conditions", [])
        if [c["message"] for c in conditions] != [message]:
            asyncio.get_running_loop().call_soon(world.hub.change_status, plural, name, put_right, KUEUE, "")

    world.hub.store.subscribe(world.hub.store.kind(plural, KUEUE), look)
    world.hub.change_status(plural, name, put_right, KUEUE, "")


async def reason_of_the_end(world: World, meanwhile: Callable[[], object] = lambda: None) -> str:
    """Let time pass until the daemon ends by itself, and return what it says."""
    task = world.task
    assert task is not None
    async with asyncio.timeout(60):
        while not task.done():
            meanwhile()
            await world.clock.advance(0.5)
            await asyncio.sleep(0.005)
    world.task = None
    with pytest.raises(ExceptionGroup) as failure:
        task.result()
    found = failure.value.split(RivalError)[0]
    assert found is not None
    return str(leaf(found))


def leaf(error: BaseException) -> BaseException:
    return leaf(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


async def started(world: World) -> None:
    await world.start()
    await world.clock.advance(PROBE_SECONDS)
    await world.connected()
    await world.until(lambda: check(world) == ("True", "Active", "The admission check is active"))
    await world.settled()


async def test_a_hub_whose_kueue_serves_the_same_checks_is_refused(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(MULTIKUEUE_NAME)) as world:
        keep_words(world, "admissionchecks", CHECK, "The admission check is active")
        await world.start()
        reason = await reason_of_the_end(world)
        assert f'AdmissionCheck "{CHECK}" is served by another controller' in reason
        assert "switch off Kueue's feature gate MultiKueue on the hub" in reason


async def test_a_hub_whose_kueue_keeps_out_is_served_under_kueues_name(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(MULTIKUEUE_NAME)) as world:
        await started(world)
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])


@pytest.mark.parametrize("name", [MULTIKUEUE_NAME, CONTROLLER_NAME])
async def test_a_controller_that_begins_to_serve_one_of_our_checks_ends_the_daemon(tmp_path: Path, name: str) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(name)) as world:
        await started(world)
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        keep_words(world, "admissionchecks", CHECK, "another client says so")
        reason = await reason_of_the_end(world)
        assert f'AdmissionCheck "{CHECK}" is served by another controller' in reason
        assert "'another client says so'" in reason
        world["w1"].admit()
        world.queue("later")
        await asyncio.sleep(0.05)
        assert world.holders("later") == []
        assert world.check()["state"] == "Pending"


async def test_kueues_field_manager_on_one_of_our_workloads_ends_the_daemon(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(MULTIKUEUE_NAME)) as world:
        world.queue("old")
        kueue_writes_as_itself(world, "old")  # from the time before Kueue's controller was switched off
        await started(world)
        await world.until(lambda: world.holders("old") == ["w1"])
        await world.pass_time(5)
        kueue_writes_as_itself(world, "old")
        reason = await reason_of_the_end(world)
        assert f'Workload "{NAMESPACE}/old" is served by another controller' in reason


async def test_beside_kueue_its_field_manager_is_no_rival(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(CONTROLLER_NAME)) as world:
        await started(world)
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.pass_time(5)
        kueue_writes_as_itself(world, "wl")
        await world.settled()
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_beside_kueue_the_condition_of_a_shared_cluster_is_left_to_it_in_the_end(tmp_path: Path) -> None:
    """Both controllers keep the condition of a MultiKueueCluster; that must not become a tug-of-war."""
    async with prepared_world(tmp_path, "w1", hub=hub(CONTROLLER_NAME)) as world:
        await started(world)
        keep_words(world, "multikueueclusters", "w1", "Kueue says so")
        await world.until(lambda: (cluster(world, "w1") or ("", "", ""))[2] == "Kueue says so")
        await world.settled()
        await asyncio.sleep(0.05)
        version = world.hub.get("multikueueclusters", "w1", KUEUE, "")["metadata"]["resourceVersion"]
        await world.pass_time(120)
        assert world.hub.get("multikueueclusters", "w1", KUEUE, "")["metadata"]["resourceVersion"] == version
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])


async def test_a_person_who_edits_a_condition_is_no_rival(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub=hub(CONTROLLER_NAME)) as world:
        await started(world)
        for _ in range(4):
            world.hub.change_status(
                "admissionchecks", CHECK, lambda s: s["conditions"][0].update(message="x"), KUEUE, ""
            )
            await world.until(lambda: check(world) == ("True", "Active", "The admission check is active"))
            await world.pass_time(61)
