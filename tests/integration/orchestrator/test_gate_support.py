"""Workers whose Kueue does not know gates: found out, handled by policy, and used again once they are upgraded."""

from pathlib import Path

import pytest

from config.names import MULTIKUEUE_NAME
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster
from localcluster.serving.faults import Latency
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.timing import T, pending
from tests.integration.orchestrator.world import running


@pytest.mark.parametrize("policy", ["allow", "exclude", "sequential"])
async def test_90_a_worker_whose_feature_is_off_is_handled_by_its_policy(tmp_path: Path, policy: str) -> None:
    workers = [{"name": name, "gates_unsupported": policy} for name in ("w2", "w3")]
    async with running(tmp_path, "w1", "w2", "w3", workers=workers) as world:
        await pending(world)
        world["w1"].close_gate()
        await world.pass_time(40)
        (active,) = world.hub.get("multikueueclusters", "w2", KUEUE, "")["status"]["conditions"]
        assert active["message"] == "Connected; its Kueue does not honour preemption gates"
        assert world.holders() == {"exclude": ["w1"]}.get(policy, ["w1", "w2", "w3"])
        world.queue("next")  # now that it is known
        await world.until(lambda: world["w1"].has_workload("next"))
        await world.settled()
        want = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2"]}
        assert world.holders("next") == want[policy]
        world["w1"].close_gate("next")
        await world.pass_time(T + 1)
        later = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2", "w3"]}
        assert world.holders("next") == later[policy]


async def test_90_a_worker_whose_feature_is_switched_on_is_found_by_one_workload_and_then_used(tmp_path: Path) -> None:
    workers = [{"name": "w2", "gates_unsupported": "exclude"}]
    async with running(tmp_path, "w1", "w2", workers=workers) as world:
        for name in ("a", "b", "c"):
            world.queue(name)
        await world.until(lambda: all(world.holders(name) == ["w1", "w2"] for name in ("a", "b", "c")))
        for name in ("a", "b", "c"):
            world["w1"].close_gate(name)
        await world.pass_time(40)
        assert [world.holders(name) for name in ("a", "b", "c")] == [["w1"]] * 3
        await world.pass_time(565)  # it is tried again, by one Workload alone
        trying = [name for name in ("a", "b", "c") if "w2" in world.holders(name)]
        assert len(trying) == 1
        world["w2"].close_gate(trying[0])  # upgraded meanwhile
        await world.until(lambda: all(world.holders(name) == ["w1", "w2"] for name in ("a", "b", "c")))
        (active,) = world.hub.get("multikueueclusters", "w2", KUEUE, "")["status"]["conditions"]
        assert active["message"] == "Connected"


async def test_90_a_worker_whose_schema_is_upgraded_is_used_again(tmp_path: Path) -> None:
    kinds = {"w2": all_kinds(preemption_gates=False)}
    workers = [{"name": "w2", "gates_unsupported": "exclude"}]
    async with running(tmp_path, "w1", "w2", kinds=kinds, workers=workers) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        old = world["w2"]
        identity = old.get("namespaces", "kube-system", namespace="")["metadata"]["uid"]
        await old.local.stop()
        async with LocalCluster("w2", tmp_path / "upgraded", clock=old.clock) as upgraded:
            world.workers["w2"].local, world.workers["w2"].store = upgraded, upgraded.store
            old.create("namespaces", {"metadata": {"name": NAMESPACE}})
            old.identify_as(identity)
            world.put_secret("w2")
            await world.connected()
            await world.until(lambda: world.holders() == ["w1", "w2"])
            assert world["w2"].workload()["spec"]["preemptionGates"] == [{"name": MULTIKUEUE_NAME}]


async def test_90_the_schema_of_a_worker_without_gates_is_looked_at_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", kinds={"w1": all_kinds(preemption_gates=False)}) as world:
        looks = world["w1"].local.faults.add(Latency(0), path="/openapi/v3")
        await world.pass_time(599)
        assert looks.hits == 0
        await world.pass_time(2)
        await world.until(lambda: looks.hits)
