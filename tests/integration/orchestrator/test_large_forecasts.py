"""Forecasts that take long: no look waits for them, and what they say is used and checked when they are there.

That nothing keeps the loop for longer than 50 ms is checked at the end of every world.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from config.api.identifiers import WorkerName
from localcluster.kueue.profile import CURRENT
from localcluster.kueue.stand_in import LocalKueue
from manager.models.observation import Observation
from tests.integration.orchestrator.forecasting import begin, forecasting, give, passing, queue, record, result, tenant
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj
from tests.integration.orchestrator.world import World, world
from tests.support.builders import Builder
from tests.support.builders import workload as build_workload

MANY = 1800
POD_SETS = 18
"""Kueue allows no more."""


def pod_sets(cpu: int, count: int = POD_SETS) -> list[Obj]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": str(cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return [{"name": f"p{number}", "count": 1, "template": template} for number in range(count)]


def submit(made: World, cpu: int, name: str = "wl", count: int = POD_SETS) -> None:
    made.submit_ownerless(name, podSets=pod_sets(cpu, count), priority=1000)
    made.hub.reserve(name)


def observation(made: World, worker: str = "w1") -> Observation:
    found = made.running_daemon().fleet.links[WorkerName(worker)].observation
    assert found is not None
    return found


def crowd(made: World, worker: str = "w1", count: int = MANY) -> None:
    """Let the daemon's model of a worker hold many Workloads that run, as if it watched them."""
    cluster = observation(made, worker).cluster
    raw = build_workload("t").queue("main").request(cpu=1).holds("main").raw
    for number in range(count):
        metadata = {**raw["metadata"], "name": f"t{number}", "namespace": NAMESPACE, "uid": f"t{number}"}
        each = {**raw, "metadata": metadata, "spec": {**raw["spec"], "priority": number % 100}}
        cluster.put("Workload", NAMESPACE, f"t{number}", cluster.read("Workload", each))


@asynccontextmanager
async def busy_thread(made: World) -> AsyncIterator[threading.Event]:
    """Keep the thread in which forecasts are made busy until the event is set."""
    done = threading.Event()
    waiting = asyncio.create_task(observation(made).background.in_thread(lambda _: done.wait()))
    try:
        yield done
    finally:
        done.set()
        await waiting


_STOP = "localcluster.multikueue-turnstile.dev/stop-seconds"
MANY_WAYS = 36
"""So many victims, and two flavors for the room that they leave: every order in which they may leave is followed."""


def crowded(victims: int = MANY_WAYS, cpu: int = 1) -> list[Builder]:
    objects: list[Builder] = [queue(victims * cpu).quota("g", cpu=1)]
    return [*objects, *tenants(victims, cpu)]


def tenants(count: int, cpu: int) -> list[Builder]:
    return [tenant(f"t{number}", cpu, number).annotate(_STOP, "20") for number in range(count)]


async def test_S1_a_forecast_that_takes_long_comes_later_and_blocks_no_other_work(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as made:
        give(made["w1"], queue(MANY))
        await begin(made)
        crowd(made)
        submit(made, cpu=MANY // POD_SETS)
        await made.until(lambda: made.holders() == ["w1"])
        await made.settled()
        made.lag.forget()
        made["w1"].block()
        await made.until(lambda: made["w1"].gate() == "Open")
        await made.until(lambda: result(made) == "pending")
        found = record(made)
        assert (found["verdict"], found["cost"]["victims"]) == ("Preempts", MANY)
        assert int(found["madeAtUnixNano"]) <= int(found["openedAtUnixNano"]), "it is of the state before the opening"


async def test_S1_what_takes_seconds_is_too_large_to_forecast_and_not_tried_for_ever(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as made:
        give(made["w1"], queue(300).quota("g", cpu=1))
        await begin(made)
        crowd(made, count=300)
        submit(made, cpu=300 // POD_SETS)
        await made.until(lambda: made.holders() == ["w1"])
        await made.settled()
        made["w1"].block()
        await made.until(lambda: made["w1"].gate() == "Open")
        await made.until(lambda: result(made) == "none")
        found = record(made)
        why = "too large to forecast: too many possibilities: given up after 400000 steps"
        assert (found["verdict"], found["message"]) == ("Unsupported", why)
        crowd(made, count=10)  # the model changes
        made.look_after(0)
        await made.settled()
        assert observation(made).background.is_idle, "it is not tried again"


@pytest.mark.parametrize("moment", ["before the preemption", "after the preemption"])
async def test_S1_a_forecast_that_comes_after_the_opening_is_of_the_state_before_and_is_verified(
    tmp_path: Path, moment: str
) -> None:
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as made:
        worker = made["w1"]
        give(worker, *crowded())
        kueue = LocalKueue(worker.store, CURRENT)
        kueue.settle()
        await begin(made)
        async with busy_thread(made) as done:
            submit(made, cpu=MANY_WAYS // POD_SETS)
            await made.until(lambda: made.holders() == ["w1"])
            kueue.settle()
            await made.until(lambda: worker.gate() == "Open")
            await made.settled()
            assert record(made) == {}, "the gate did not wait for its forecast"
            if moment.startswith("after"):
                kueue.settle()
                assert worker.condition("Preempted", "t0") is not None
                await made.settled()
            done.set()
        await made.until(lambda: result(made) == "pending")
        found = record(made)
        assert (found["verdict"], found["cost"]["victims"]) == ("Preempts", MANY_WAYS)
        assert int(found["madeAtUnixNano"]) <= int(found["openedAtUnixNano"])

        def has_quota() -> object:
            kueue.settle()
            return worker.condition("Admitted")

        await passing(made, has_quota)
        await made.until(lambda: result(made) not in ("", "pending"))
        assert result(made) == "exact", record(made)
        kueue.stop()


async def test_S1_a_change_while_a_forecast_is_being_made_overtakes_it_honestly(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as made:
        worker = made["w1"]
        give(worker, *crowded(), tenant("high", 1, 2000))
        worker.change("clusterqueues", "main", _with_quota(MANY_WAYS + 1), KUEUE, "")
        kueue = LocalKueue(worker.store, CURRENT)
        kueue.settle()
        await begin(made)
        async with busy_thread(made) as done:
            submit(made, cpu=MANY_WAYS // POD_SETS)
            await made.until(lambda: made.holders() == ["w1"])
            kueue.settle()
            await made.until(lambda: worker.gate() == "Open")
            worker.delete("workloads", "high", KUEUE)  # one victim less is needed now
            await made.settled()
            done.set()
        await made.until(lambda: result(made) == "pending")
        await made.settled()
        assert record(made)["cost"]["victims"] == MANY_WAYS, "it is labelled with the moment that it is of"

        def has_quota() -> object:
            kueue.settle()
            return worker.condition("Admitted")

        await passing(made, has_quota)
        await made.until(lambda: result(made) not in ("", "pending"))
        assert (result(made), record(made)["resultMessage"]) == (
            "overtaken",
            "exact after the change of Workload team/high",
        )
        kueue.stop()


async def test_S1_a_worker_that_changes_faster_than_forecasts_are_made_again_costs_only_the_judgement(
    tmp_path: Path,
) -> None:
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as made:
        worker = made["w1"]
        give(worker, *crowded(), tenant("high", 1, 2000))
        worker.change("clusterqueues", "main", _with_quota(MANY_WAYS + 1), KUEUE, "")
        kueue = LocalKueue(worker.store, CURRENT)
        kueue.settle()
        await begin(made)
        submit(made, cpu=MANY_WAYS // POD_SETS)
        await made.until(lambda: made.holders() == ["w1"])
        kueue.settle()
        await made.until(lambda: result(made) == "pending")
        await made.until(lambda: observation(made).background.is_idle)
        await made.settled()
        async with busy_thread(made):
            for number in range(12):
                worker.create("namespaces", {"metadata": {"name": f"n{number}"}}, "", "")
            await made.settled()
            worker.delete("workloads", "high", KUEUE)  # one victim less is needed now
            await made.settled()

        def has_quota() -> object:
            kueue.settle()
            return worker.condition("Admitted")

        await passing(made, has_quota)
        await made.until(lambda: result(made) not in ("", "pending"))
        why = "the cluster changed faster than the forecast could be made again; forecast: preempted team/t0"
        assert (result(made), record(made)["resultMessage"].startswith(why)) == ("none", True), record(made)
        kueue.stop()


def _with_quota(cpu: int) -> Callable[[Obj], None]:
    def change(raw: Obj) -> None:
        raw["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = str(cpu)

    return change


async def test_S1_least_disruption_waits_for_a_forecast_that_is_being_made(tmp_path: Path) -> None:
    setting = {"w1": [queue(36), *tenants(36, 1)], "w2": crowded(18, 2)}
    async with forecasting(tmp_path, setting, gates={"policy": "LeastDisruption", "grace_period": "60s"}) as made:
        async with busy_thread(made) as done:
            submit(made, cpu=2)
            await made.until(lambda: "its forecast is still being computed" in made.check().get("message", ""))
            assert {made["w1"].gate(), made["w2"].gate()} == {"Closed"}
            done.set()
            await made.until(lambda: observation(made, "w2").background.is_idle)
            await passing(made, lambda: made.check()["state"] == "Ready", 5)
        assert made.status()["clusterName"] == "w2", "18 victims are fewer than 36"


async def test_S1_least_disruption_waits_for_a_forecast_for_a_bounded_time(tmp_path: Path) -> None:
    setting = {"w1": [queue(36), *tenants(36, 1)], "w2": crowded(18, 2)}
    gates = {"policy": "LeastDisruption", "grace_period": "60s"}
    async with forecasting(tmp_path, setting, gates=gates) as made, busy_thread(made):
        submit(made, cpu=2)
        await made.until(lambda: "its forecast is still being computed" in made.check().get("message", ""))
        await made.pass_time(11)
        assert (made["w1"].gate(), made["w2"].gate()) == ("Open", "Closed")


async def test_S1_forecast_first_waits_for_a_forecast_for_a_bounded_time(tmp_path: Path) -> None:
    setting = {"w1": crowded(), "w2": crowded()}
    async with forecasting(tmp_path, setting, dispatcher={"mode": "ForecastFirst"}) as made, busy_thread(made):
        submit(made, cpu=2)
        await made.settled()
        assert made.holders() == []
        await made.pass_time(11)
        assert made.holders() == ["w1", "w2"]
