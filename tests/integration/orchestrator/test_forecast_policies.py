"""Policies and dispatch that use forecasts, with the stand-in for Kueue on the workers."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gates.decision.policies import ANOTHER_MAY_ADMIT
from localcluster.kueue.profile import CURRENT
from localcluster.kueue.stand_in import LocalKueue
from localcluster.serving.faults import Latency
from tests.integration.orchestrator.forecasting import (
    begin,
    forecasting,
    give,
    passing,
    queue,
    record,
    result,
    submit,
    tenant,
)
from tests.integration.orchestrator.kueue import KUEUE, Obj
from tests.integration.orchestrator.world import World, world
from tests.support.builders import Builder

TWO_SMALL = [queue(), tenant("a", 2), tenant("b", 2)]
ONE_LARGE = [queue(), tenant("c", 4)]


def evicted(made: World, worker: str) -> list[str]:
    """Return who was preempted on a worker."""
    cluster = made[worker]
    stored = cluster.store.list(cluster.store.kind("workloads", KUEUE))
    names = [raw["metadata"]["name"] for raw in stored]
    return [name for name in names if cluster.condition("Preempted", name) is not None]


@pytest.mark.parametrize(
    ("policy", "winner"), [("FirstComeFirstServed", "w1"), ("LeastDisruption", "w2")], ids=["first come", "cheapest"]
)
async def test_the_policy_chooses_the_victims(tmp_path: Path, policy: str, winner: str) -> None:
    async with forecasting(tmp_path, {"w1": TWO_SMALL, "w2": ONE_LARGE}, gates={"policy": policy}) as made:
        submit(made)
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert made.status()["clusterName"] == winner
        victims = {"w1": ["a", "b"], "w2": ["c"]}
        assert evicted(made, winner) == victims[winner]
        assert evicted(made, "w2" if winner == "w1" else "w1") == []
        await made.until(lambda: result(made) == "exact")


async def test_nothing_is_preempted_while_room_may_come_up_elsewhere(tmp_path: Path) -> None:
    """One worker asks; the other has room, and its Kueue takes its time."""
    gates = {"policy": "PreferNoPreemption", "grace_period": "30s"}
    options: Obj = {"gates": gates, "forecast": {"enabled": True}}
    kinds = {name: CURRENT.kinds() for name in ("w1", "w2")}
    async with world(tmp_path, "w1", "w2", kinds=kinds, **options) as made, AsyncExitStack() as stack:
        give(made["w1"], *ONE_LARGE)
        give(made["w2"], queue())
        LocalKueue(made["w2"].store, CURRENT).settle().stop()
        await stack.enter_async_context(LocalKueue(made["w1"].store, CURRENT).running())
        await begin(made)
        submit(made)
        await made.until(lambda: ANOTHER_MAY_ADMIT in made.check().get("message", ""))
        await stack.enter_async_context(LocalKueue(made["w2"].store, CURRENT).running())
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert made.status()["clusterName"] == "w2"
        assert evicted(made, "w1") == []


def counted(made: World, verb: str) -> dict[str, Any]:
    return {name: cluster.local.faults.add(Latency(0), verb=verb) for name, cluster in made.workers.items()}


FREE: dict[str, list[Builder]] = {"w1": [queue(3)], "w2": [queue(3)]}


async def test_forecast_first_sends_each_workload_where_it_fits_and_nowhere_else(tmp_path: Path) -> None:
    async with forecasting(tmp_path, FREE, dispatcher={"mode": "ForecastFirst"}) as made:
        creates = counted(made, "create")
        names = [f"wl-{number}" for number in range(6)]
        for name in names:
            submit(made, name, cpu=1)
        await passing(made, lambda: all(made.check(name)["state"] == "Ready" for name in names), 0.1)
        hits = {name: fault.hits for name, fault in creates.items()}
        assert hits == {"w1": 3, "w2": 3}, "one copy each, spread by the quota that is promised already"


async def test_forecast_first_goes_everywhere_when_nothing_is_free(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": TWO_SMALL, "w2": ONE_LARGE}, dispatcher={"mode": "ForecastFirst"}) as made:
        submit(made)
        await passing(made, lambda: made.check()["state"] == "Ready")
        assert ["w1", "w2"] in [[worker.name for worker in group.holders] for group, _ in made.decisions]
        await made.until(lambda: result(made) == "exact")


async def test_forecast_first_widens_after_a_round(tmp_path: Path) -> None:
    """The worker that is forecast to fit never gets to it: its Kueue is not running."""
    options: Obj = {"dispatcher": {"mode": "ForecastFirst"}, "forecast": {"enabled": True}}
    async with world(tmp_path, "w1", "w2", kinds={name: CURRENT.kinds() for name in ("w1", "w2")}, **options) as made:
        give(made["w1"], queue())
        give(made["w2"], queue(), tenant("low"))
        LocalKueue(made["w2"].store, CURRENT).settle().stop()
        LocalKueue(made["w1"].store, CURRENT).settle().stop()
        await begin(made)
        submit(made)
        await made.until(lambda: made.holders() == ["w1"])
        await made.settled()
        await made.pass_time(29)
        assert made.holders() == ["w1"]
        await made.pass_time(2)
        assert made.holders() == ["w1", "w2"]


async def test_a_change_in_between_overtakes_the_forecast_and_is_shown_by_replaying_it(tmp_path: Path) -> None:
    """While the worker's Kueue pauses, the forecast victim rises above another workload."""
    reference = {"group": KUEUE, "kind": "WorkloadPriorityClass", "name": "rising"}
    options: Obj = {"forecast": {"enabled": True}}
    async with world(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, **options) as made:
        worker = made["w1"]
        first = tenant("first", 4, 1).with_spec(priorityClassRef=reference)
        give(worker, queue(8), first, tenant("second", 4, 2))
        kueue = LocalKueue(worker.store, CURRENT)
        kueue.settle()
        await begin(made)
        submit(made)
        await made.until(lambda: made.holders() == ["w1"])
        kueue.settle()
        await made.until(lambda: worker.gate() == "Open")
        await made.settled()
        assert [victim["workload"] for victim in record(made)["victims"]] == ["team/first"]

        worker.change("workloads", "first", lambda raw: raw["spec"].update(priority=3), KUEUE)
        await made.settled()
        kueue.settle()

        def has_quota() -> object:
            kueue.settle()
            return worker.condition("Admitted")

        await passing(made, has_quota)

        await made.until(lambda: result(made) not in ("", "pending"))
        assert evicted(made, "w1") == ["second"]
        assert (result(made), record(made)["resultMessage"]) == (
            "overtaken",
            "exact after the change of Workload team/first",
        )
        kueue.stop()
