"""Workers whose Kueue does not know gates: found out, handled by policy, and used again once they are upgraded."""

from pathlib import Path

import pytest

from config.api.identifiers import WorkerName
from config.names import MULTIKUEUE_NAME
from gates.model.marks import GATE_OPENINGS
from gates.model.texts import GATES_NOT_HONOURED
from gates.model.view import GateSupport
from gates.wire.annotations import parse_openings
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import LocalCluster, Partition
from localcluster.serving.faults import Latency, RawAnswer
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE
from tests.integration.orchestrator.timing import T
from tests.integration.orchestrator.world import running, world
from tests.support.odd_answers import document, raw_answer

ODD_GROUPS = {
    "a version without a name": document({"kind": "APIGroup", "versions": [{"version": "v1beta2"}, {"version": 7}]}),
    "versions that are a string": document({"kind": "APIGroup", "versions": "v1beta2"}),
    "another kind": document({"kind": "Status", "versions": [{"version": "v1beta2"}]}),
    "no group at all": raw_answer(b"{}", status="404 Not Found"),
    "nothing that can be read": raw_answer(b"v1beta2"),
}


@pytest.mark.parametrize("policy", ["allow", "exclude", "sequential"])
async def test_90_a_worker_whose_feature_is_off_is_handled_by_its_policy(tmp_path: Path, policy: str) -> None:
    workers = [{"name": name, "gates_unsupported": policy} for name in ("w2", "w3")]
    kinds = dict.fromkeys(("w1", "w2", "w3"), all_kinds(v1beta1=True))
    async with running(tmp_path, "w1", "w2", "w3", kinds=kinds, workers=workers) as world:
        for name in ("w2", "w3"):
            world[name].shows_gates = False
        world.queue()
        await world.until(world["w2"].has_workload)
        await world.settled()
        assert world.holders() == (["w1", "w2", "w3"] if policy == "allow" else ["w1", "w2"])
        await world.pass_time(40)
        (active,) = world.hub.get("multikueueclusters", "w2", KUEUE, "")["status"]["conditions"]
        assert active["message"].startswith(f"Connected; {GATES_NOT_HONOURED}: ")
        assert active["message"].endswith(f"(gatesUnsupported: {policy})")
        await world.pass_time(T + 40)  # until the other one had its window, too
        world.queue("next")  # now that it is known
        await world.until(lambda: world["w1"].has_workload("next"))
        await world.settled()
        want = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2"]}
        assert world.holders("next") == want[policy]
        await world.pass_time(T + 1)
        later = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2", "w3"]}
        assert world.holders("next") == later[policy]


async def test_90_a_worker_whose_feature_is_switched_on_is_found_by_one_workload_and_then_used(tmp_path: Path) -> None:
    workers = [{"name": "w2", "gates_unsupported": "exclude"}]
    async with running(tmp_path, "w1", "w2", workers=workers) as world:
        world["w2"].shows_gates = False
        for name in ("a", "b", "c"):
            world.queue(name)
        await world.until(lambda: all(world.holders(name) == ["w1", "w2"] for name in ("a", "b", "c")))
        await world.pass_time(40)
        assert [world.holders(name) for name in ("a", "b", "c")] == [["w1"]] * 3
        await world.pass_time(565)  # it is tried again, by one Workload alone
        trying = [name for name in ("a", "b", "c") if "w2" in world.holders(name)]
        assert len(trying) == 1
        world["w2"].close_gate(trying[0])  # upgraded meanwhile
        world["w2"].shows_gates = True
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
        looks = world["w1"].local.faults.add(Latency(0), path="/openapi/v3/apis")
        await world.pass_time(599)
        assert looks.hits == 0
        await world.pass_time(2)
        await world.until(lambda: looks.hits)


async def test_90_gates_of_v0_20_count_as_honoured_before_any_replica_exists(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3", kinds={"w3": all_kinds(v1beta1=True)}) as world:
        links = world.running_daemon().fleet.links
        assert {name: link.gates.verdict for name, link in links.items()} == {
            "w1": GateSupport.HONOURED,
            "w2": GateSupport.HONOURED,
            "w3": GateSupport.UNKNOWN,
        }
        world["w2"].shows_gates = False
        world.queue()
        await world.until(lambda: {"w1", "w2"} <= set(world.holders()))
        world["w2"].set_condition("wl", "QuotaReserved", "False", "Pending", "waits")
        await world.settled()
        await world.pass_time(7)  # what a replica shows counts more
        await world.until(lambda: links[WorkerName("w2")].gates.verdict is GateSupport.MISSING)
        assert links[WorkerName("w1")].gates.verdict is GateSupport.HONOURED


async def test_90_a_kueue_of_v0_20_that_is_down_gets_no_replica_again_and_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        for name in ("w1", "w2"):
            world[name].shows_gates = False
        world.queue()
        await world.until(lambda: world.holders() == ["w1", "w2"])
        created = world["w2"].local.faults.add(Latency(0), verb="create", plural="workloads")
        await world.pass_time(60)
        assert created.hits <= 1


async def test_13_57_90_a_worker_that_has_just_fallen_silent_holds_up_no_gate(tmp_path: Path) -> None:
    """Nobody knows yet that it is away, so it would be sent a replica that may have to count as an opening."""
    kinds = dict.fromkeys(("w1", "w2"), all_kinds(v1beta1=True))
    async with running(tmp_path, "w1", "w2", kinds=kinds) as world:
        await world["w2"].local.partition(Partition.BLACK_HOLE)
        world.queue()
        await world.until(world["w1"].has_workload)
        await world.until(lambda: world["w1"].gate() == "Closed")
        world["w1"].block()
        await world.pass_time(30, settle=False)
        assert world["w1"].gate() == "Open"


async def test_90_an_opening_that_was_none_stays_forgotten_when_the_winner_is_evicted(tmp_path: Path) -> None:
    """It is struck out of the record together with the choice; the process must not take that for a loss."""
    kinds = dict.fromkeys(("w1", "w2"), all_kinds(v1beta1=True))
    async with running(tmp_path, "w1", "w2", kinds=kinds) as world:
        world["w1"].shows_gates = world["w2"].shows_gates = False
        world.queue()
        await world.until(world["w1"].has_workload)
        world["w1"].close_gate()
        world["w1"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w1"].evict()
        await world.until(lambda: world.check()["state"] == "Retry")
        world.evict_on_hub()
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        await world.pass_time(6)  # so that gates have to be shown again
        world.requeue()
        await world.until(world["w1"].has_workload)  # at once, because no window runs
        await world.settled()
        assert [
            opening.cluster
            for opening in parse_openings(world.hub.workload()["metadata"]["annotations"][GATE_OPENINGS])
        ] == ["w1"]


@pytest.mark.parametrize("odd", ODD_GROUPS.values(), ids=ODD_GROUPS.keys())
async def test_90_odd_versions_show_nothing_and_harm_nothing(tmp_path: Path, odd: bytes) -> None:
    async with world(tmp_path, "w1") as made:
        asked = made["w1"].local.faults.add(RawAnswer(odd), path=f"/apis/{KUEUE}", verb="")
        await made.start()
        await made.connected()
        assert asked.hits
        assert made.running_daemon().fleet.links[WorkerName("w1")].gates.verdict is GateSupport.UNKNOWN
