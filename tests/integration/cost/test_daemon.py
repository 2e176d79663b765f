"""The cost controller as a part of the daemon: on the hub and on the workers that the daemon finds."""

from pathlib import Path

import pytest

from manager.base.errors import StartupError
from tests.integration.cost.jobs import cost, submit
from tests.integration.cost.world import BOOST
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.world import SYSTEM, World, world


async def started(made: World) -> None:
    for cluster in (made.hub, made["w1"]):
        submit(cluster, "local")
    await made.start()
    await made.connected()


async def test_costs_are_written_wherever_the_daemon_is_connected(tmp_path: Path) -> None:
    boost = {"workers": ("w1",)}
    async with world(tmp_path, "w1", cost_controller={"enabled": True, "priority_boost": boost}) as made:
        await started(made)
        await made.until(lambda: (cost(made.hub, "local"), cost(made["w1"], "local")) == ("2", "2"))
        await made.until(lambda: made["w1"].workload("local")["metadata"].get("annotations", {}).get(BOOST) == "2")
        assert BOOST not in made.hub.workload("local")["metadata"].get("annotations", {})


async def test_only_the_listed_kind_of_cluster_gets_costs(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", cost_controller={"enabled": True, "clusters": ("Workers",)}) as made:
        await started(made)
        await made.until(lambda: cost(made["w1"], "local") == "2")
        assert cost(made.hub, "local") is None


async def test_a_worker_that_leaves_is_left_alone(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2", cost_controller={"enabled": True}) as made:
        await started(made)
        await made.until(lambda: cost(made["w1"], "local") == "2")
        made.hub.delete("multikueueclusters", "w1", KUEUE, "")
        assert made.daemon is not None
        costs = made.daemon.costs
        assert costs is not None
        await made.until(lambda: {place.name for place in costs.controllers} == {"hub", "w2"})


async def test_the_daemon_writes_no_costs_unless_asked(tmp_path: Path) -> None:
    async with world(tmp_path, "w1") as made:
        await started(made)
        await made.settled()
        assert (cost(made.hub, "local"), cost(made["w1"], "local")) == (None, None)


async def test_a_model_that_is_missing_keeps_the_daemon_from_starting(tmp_path: Path) -> None:
    async with world(tmp_path, cost_controller={"enabled": True, "model": "missing"}) as made:
        with pytest.raises(StartupError, match=r'^costController\.model: "missing" is not installed'):
            await made.start()


async def test_a_daemon_that_stands_by_writes_no_costs_until_it_leads(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", cost_controller={"enabled": True}) as made:
        for cluster in (made.hub, made["w1"]):
            submit(cluster, "local")
        other = {"holderIdentity": "other", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
        lease = {"metadata": {"name": "turnstile", "namespace": SYSTEM}, "spec": other}
        made.hub.create("leases", lease, "coordination.k8s.io", SYSTEM)
        await made.start(elects=True)
        await made.connected()
        await made.pass_time(14, settle=False)
        assert (cost(made.hub, "local"), cost(made["w1"], "local")) == (None, None)
        await made.pass_time(2, settle=False)
        await made.until(lambda: (cost(made.hub, "local"), cost(made["w1"], "local")) == ("2", "2"))
