"""Forecasts of the running daemon against what the stand-in for Kueue then does."""

from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from localcluster.access.auth import Allow
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.fields import resource
from localcluster.kinds.structural.builder import preserved, string
from localcluster.kueue.profile import CURRENT
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
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import running
from tests.support.builders import Builder
from tests.support.worker_names import W1


async def test_a_preemption_is_forecast_and_found_exact(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue(), tenant("low")]}) as world:
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")

        found = record(world)
        assert found["cluster"] == "w1"
        assert found["verdict"] == "Preempts"
        assert [victim["workload"] for victim in found["victims"]] == ["team/low"]
        assert found["victims"][0]["reason"] == "InClusterQueue"
        assert found["flavors"] == {"cpu": "f"}
        assert found["cost"]["victims"] == 1
        forecasts = world.daemon.forecasts if world.daemon is not None else None
        await world.until(lambda: forecasts is not None and forecasts.history.results(W1) == ("exact",))
        assert [event["reason"] for event in world.events() if event["reason"] == "ForecastMissed"] == []


SITUATIONS: dict[str, list[Builder]] = {
    "the cheapest of several victims": [queue(6), tenant("a", 2, 5), tenant("b", 2, 1), tenant("c", 2, 3)],
    "two victims": [queue(), tenant("a", 2), tenant("b", 2)],
    "reclaim from the cohort": [
        queue().cohort("all").preemption(reclaim="Any"),
        queue(4, "other").cohort("all"),
        tenant("borrower", 8, queue_name="other"),
    ],
    "only the lower of two priorities": [queue(8), tenant("equal", 4, 100), tenant("low", 4)],
    "a second flavor": [queue(2).quota("g", cpu=4), tenant("low", 4)],
}


@pytest.mark.parametrize("objects", SITUATIONS.values(), ids=SITUATIONS)
async def test_what_is_forecast_is_what_the_worker_does(tmp_path: Path, objects: list[Builder]) -> None:
    async with forecasting(tmp_path, {"w1": objects}) as world:
        submit(world)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) not in ("", "pending"))
        assert (result(world), record(world)["verdict"]) == ("exact", "Preempts"), record(world)


async def test_a_forecast_survives_a_restart(tmp_path: Path) -> None:
    slow = tenant("low").annotate("localcluster.multikueue-turnstile.dev/stop-seconds", "20")
    async with forecasting(tmp_path, {"w1": [queue(), slow]}) as world:
        submit(world)
        await passing(world, lambda: world["w1"].condition("Evicted", "low"))
        assert result(world) == "pending"
        await world.stop()
        await begin(world)
        await passing(world, lambda: world.check()["state"] == "Ready", 5)
        await world.until(lambda: result(world) == "exact")


async def test_a_victim_that_never_stops_is_a_timeout(tmp_path: Path) -> None:
    stubborn = tenant("low").annotate("localcluster.multikueue-turnstile.dev/stop-seconds", "never")
    async with forecasting(tmp_path, {"w1": [queue(), stubborn]}) as world:
        submit(world)
        await passing(world, lambda: world["w1"].condition("Evicted", "low"))
        await world.pass_time(299)
        assert result(world) == "pending"
        await world.pass_time(2)
        assert result(world) == "timeout"
        (event,) = [event for event in world.events() if event["reason"] == "ForecastMissed"]
        assert event["message"].startswith("Forecast for cluster w1: timeout. forecast: preempted team/low")


async def test_a_wrong_forecast_is_told_and_counted(tmp_path: Path) -> None:
    """A user admits by hand what the forecast says cannot be."""
    async with running(tmp_path, "w1", kinds={"w1": CURRENT.kinds()}, forecast={"enabled": True}) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].block()
        await world.until(lambda: world["w1"].gate() == "Open")
        await world.settled()
        assert result(world) == "pending"
        world["w1"].admit()
        await world.until(lambda: result(world) not in ("", "pending"))
        assert result(world) == "wrong", record(world)
        await world.settled()
        assert record(world)["verdict"] == "Cannot"
        assert any(event["reason"] == "ForecastMissed" for event in world.events())


async def test_a_kind_that_may_not_be_read_costs_the_forecast_and_nothing_else(tmp_path: Path) -> None:
    rules = (
        Allow(("*",), ("workloads", "workloads/status", "workloads/finalizers"), (KUEUE,)),
        Allow(("*",), ("jobs", "jobs/status"), ("batch",)),
        Allow(("get",), ("namespaces",), ("",)),
    )
    async with running(tmp_path, "w1", limited={"w1": rules}, forecast={"enabled": True}) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].block()
        await world.until(lambda: world["w1"].gate() == "Open")
        await world.settled()
        found = record(world)
        assert (found["verdict"], found["result"]) == ("Unsupported", "none")
        assert "forbidden" in found["message"]
        status = world.hub.get("multikueueclusters", "w1", KUEUE, "")["status"]
        assert [entry["message"] for entry in status["conditions"]] == ["Connected"]


async def test_a_worker_without_the_role_for_forecasts_is_told_once(tmp_path: Path) -> None:
    rules = (
        Allow(("*",), ("workloads", "workloads/status", "workloads/finalizers"), (KUEUE,)),
        Allow(("*",), ("jobs", "jobs/status"), ("batch",)),
    )
    with capture_logs() as lines:
        async with running(tmp_path, "w1", limited={"w1": rules}, forecast={"enabled": True}) as world:
            await world.pass_time(60)
    (line,) = [line for line in lines if line["event"].startswith("forecasts.")]
    assert (line["event"], line["log_level"], line["worker"]) == ("forecasts.unavailable", "warning", "w1")
    assert line["problem"] == (
        "namespaces, limitranges, runtimeclasses, resourceflavors, admissionchecks, cohorts, clusterqueues, "
        "localqueues: may not be read"
    )
    assert line["remedy"] == "apply deploy/rbac/worker-forecasts.yaml on the worker, or set forecast.enabled: false"


async def test_an_object_that_is_malformed_is_named(tmp_path: Path) -> None:
    """A worker whose API server lets through what ours refuses."""
    schema = resource({"overhead": preserved(), "handler": string()})
    kinds = tuple(replace(kind, schema=schema) if kind.kind == "RuntimeClass" else kind for kind in all_kinds())
    async with running(tmp_path, "w1", kinds={"w1": kinds}, forecast={"enabled": True}) as world:
        overhead = {"metadata": {"name": "odd"}, "handler": "odd", "overhead": {"podFixed": {"cpu": "much"}}}
        world["w1"].create("runtimeclasses", overhead, "node.k8s.io")
        assert world.daemon is not None
        observation = world.daemon.fleet.links[W1].observation
        assert observation is not None
        await world.until(observation.why_silent)
        assert observation.why_silent().startswith("RuntimeClass odd cannot be read: RuntimeClass")

        world["w1"].delete("runtimeclasses", "odd", "node.k8s.io", "")
        await world.until(lambda: observation.is_complete)


async def test_without_forecasts_nothing_is_followed_but_what_gates_need(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        assert world.daemon is not None
        assert world.daemon.fleet.links[W1].observation is None
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].block()
        await world.until(lambda: world["w1"].gate() == "Open")
        assert record(world) == {}


async def test_new_objects_on_a_worker_change_its_forecast(tmp_path: Path) -> None:
    async with forecasting(tmp_path, {"w1": [queue(8), tenant("old", 8)]}) as world:
        worker = world["w1"]
        await passing(world, lambda: worker.condition("Admitted", "old"))
        worker.delete("workloads", "old", KUEUE)
        give(worker, tenant("new", 8))
        await passing(world, lambda: worker.has_workload("new") and worker.condition("Admitted", "new"))
        submit(world, cpu=8)
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")
        assert [victim["workload"] for victim in record(world)["victims"]] == ["team/new"]
