"""One cluster per timeout: which gate opens, when, and what keeps that true. T is the timeout, five minutes."""

from datetime import timedelta
from pathlib import Path

import pytest

from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.model.texts import GATES_NOT_HONOURED
from localcluster.catalogue.registry import all_kinds
from localcluster.cluster import Partition
from localcluster.serving.faults import ServerError
from tests.integration.orchestrator.kueue import KUEUE
from tests.integration.orchestrator.timing import T, ledger, opened, pending
from tests.integration.orchestrator.world import World, running, world


def window_left(world: World) -> float:
    """Return the seconds until another cluster may begin."""
    (entry,) = ledger(world)
    return T - (world.clock.now_ns() - int(entry["openedAtUnixNano"])) / 1e9


async def test_69_70_71_first_come_first_served_one_per_timeout(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w2"].block()
        await world.until(lambda: opened(world) == ["w2"])
        await world.settled()
        await world.pass_time(2)
        world["w1"].block()
        await world.settled()
        assert world["w1"].gate() == "Closed"
        await world.pass_time(T - 3)
        assert opened(world) == ["w2"]
        await world.pass_time(1)
        await world.until(lambda: opened(world) == ["w1", "w2"])


async def test_69_both_asked_before_the_daemon_looked_the_earlier_is_first(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        await world.stop()
        world["w2"].block()
        await world.clock.advance(5)
        world["w1"].block()
        await world.start()
        await world.until(lambda: opened(world) == ["w2"])
        await world.settled()
        assert world["w1"].gate() == "Closed"


async def test_69_the_record_is_on_the_hub_and_names_the_replica(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        assert [(e["cluster"], e["replicaUID"]) for e in ledger(world)] == [
            ("w1", world["w1"].workload()["metadata"]["uid"])
        ]


async def test_72_without_a_second_signal_nothing_opens(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        await world.pass_time(3 * T)
        assert opened(world) == ["w1"]


async def test_73_86_only_a_true_signal_for_our_gate_counts(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as world:
        await pending(world)
        world["w1"].set_condition("wl", "BlockedOnPreemptionGates", status="False", reason="PreemptionGated")
        world["w2"].change("workloads", "wl", lambda w: w["spec"].update(preemptionGates=[{"name": "a/b"}]), KUEUE)
        world["w2"].set_condition("wl", "BlockedOnPreemptionGates", reason="PreemptionGated")
        await world.settled()
        assert opened(world) == []
        world["w3"].block()
        await world.until(lambda: opened(world) == ["w3"])


async def test_79_after_an_eviction_the_next_signal_of_that_worker_opens_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        await world.pass_time(5)
        world["w1"].evict()
        await world.pass_time(5)
        assert opened(world) == []
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        world["w2"].block()
        await world.pass_time(T - 1)
        assert opened(world) == ["w1"]
        await world.pass_time(2)
        assert opened(world) == ["w1", "w2"]


async def test_81_equal_signals_are_ordered_by_the_configuration(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.list_workers("w2", "w1")
        await pending(world)
        await world.stop()
        world["w1"].block()
        world["w2"].block()
        await world.start()
        await world.until(lambda: opened(world) == ["w2"])
        await world.settled()
        assert opened(world) == ["w2"]


@pytest.mark.parametrize("how", list(Partition))
async def test_82_the_window_holds_while_its_worker_is_unreachable(tmp_path: Path, how: Partition) -> None:
    """Kueue v0.19.1 opens the second gate as soon as anything touches the Workload."""
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.cut("w1", how)
        world["w2"].block()
        await world.settled()
        world.hub.change("workloads", "wl", lambda w: w["metadata"]["labels"].update(touched="yes"), KUEUE)
        await world.settled()
        assert world["w2"].gate() == "Closed"
        await world.pass_time(window_left(world) - 1)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(2)
        assert world["w2"].gate() == "Open"


async def test_82_a_cut_the_moment_the_gate_opens_does_not_open_another(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: ledger(world))
        await world.cut("w1")
        world["w2"].block()
        await world.settled()
        await world.pass_time(window_left(world) - 1)
        assert world["w2"].gate() == "Closed"
        # The first try may have been sent: w1's API server gets another minute to carry it out.
        await world.pass_time(60)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(20)
        assert world["w2"].gate() == "Open"


async def test_83_a_restart_inside_the_window_opens_nothing_early(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        await world.pass_time(100)
        world["w2"].block()
        await world.stop()
        await world["w1"].local.partition(Partition.REFUSED)
        await world.start()
        await world.connected("w2")
        await world.known("w1")
        await world.settled()
        assert world["w2"].gate() == "Closed"
        await world.pass_time(window_left(world) - 1)
        assert world["w2"].gate() == "Closed"
        await world.pass_time(2)
        assert world["w2"].gate() == "Open"


async def test_84_a_worker_whose_clock_is_an_hour_ahead_starves_no_other_worker(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2") as made:
        made["w1"].clock.skew = timedelta(hours=1)
        await made.start()
        await made.connected()
        await pending(made)
        await made.stop()
        made["w1"].block()
        await made.clock.advance(10)
        made["w2"].block()
        await made.start()
        await made.until(lambda: opened(made) == ["w1"])
        await made.settled()
        (active,) = made.hub.get("multikueueclusters", "w1", KUEUE, "")["status"]["conditions"]
        assert active["message"] == "Connected; its clock is more than 30 s off"
        await made.pass_time(T + 1)
        assert opened(made) == ["w1", "w2"]


async def test_85_a_clock_that_was_set_back_never_makes_the_wait_longer(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        world.clock.set_wall(world.clock.now_ns() - 3600 * 10**9)
        world["w2"].block()
        await world.settled()
        await world.pass_time(T - 1)
        assert opened(world) == ["w1"]
        await world.pass_time(2)
        assert opened(world) == ["w1", "w2"]


async def test_87_a_conflict_is_looked_at_again_and_one_gate_opens(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        world["w2"].block()
        for number in range(20):
            label = {"n": str(number)}
            world["w1"].change("workloads", "wl", lambda w: w["metadata"]["labels"].update(label), KUEUE)  # noqa: B023
        await world.until(lambda: opened(world))
        await world.settled()
        await world.pass_time(5)
        assert len(opened(world)) == 1


async def test_88_a_reverted_gate_is_opened_again_with_the_same_window(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        before = ledger(world)
        await world.pass_time(100)
        world["w1"].close_gate()
        await world.until(lambda: opened(world) == ["w1"])
        await world.settled()
        assert ledger(world) == before
        world["w2"].block()
        await world.pass_time(T - 101)
        assert opened(world) == ["w1"]
        await world.pass_time(2)
        assert opened(world) == ["w1", "w2"]


async def test_89_no_gate_opens_while_a_worker_has_quota_reserved(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].reserve()
        await world.settled()
        world["w2"].block()
        await world.pass_time(2 * T)
        assert opened(world) == []
        world["w1"].evict()
        await world.until(lambda: opened(world) == ["w2"])


@pytest.mark.parametrize("policy", ["allow", "exclude", "sequential"])
async def test_90_a_worker_that_prunes_gates_is_handled_by_its_policy(tmp_path: Path, policy: str) -> None:
    kinds = {name: all_kinds(preemption_gates=False) for name in ("w2", "w3")}
    workers = [{"name": name, "gates_unsupported": policy} for name in ("w2", "w3")]
    async with running(tmp_path, "w1", "w2", "w3", kinds=kinds, workers=workers) as world:
        world.queue()
        await world.until(lambda: "w1" in world.holders())
        await world.settled()
        want = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2"]}
        assert world.holders() == want[policy]
        (active,) = world.hub.get("multikueueclusters", "w2", KUEUE, "")["status"]["conditions"]
        assert active["message"].startswith(f"Connected; {GATES_NOT_HONOURED}, which it does not know")
        assert f"(gatesUnsupported: {policy})" in active["message"]
        await world.pass_time(T + 1)
        later = {"allow": ["w1", "w2", "w3"], "exclude": ["w1"], "sequential": ["w1", "w2", "w3"]}
        assert world.holders() == later[policy]


async def test_90_a_worker_whose_feature_is_off_is_found_out_by_its_silence(tmp_path: Path) -> None:
    workers = [{"name": "w2", "gates_unsupported": "exclude"}]
    async with running(tmp_path, "w1", "w2", workers=workers) as world:
        world["w2"].shows_gates = False
        await pending(world)
        await world.pass_time(40)
        assert world.holders() == ["w1"]


async def test_92_the_timeout_is_the_configured_one(tmp_path: Path) -> None:
    gates = {"single_cluster_preemption_timeout": "30s"}
    async with running(tmp_path, "w1", "w2", gates=gates) as world:
        await pending(world)
        world["w1"].block()
        await world.until(lambda: opened(world) == ["w1"])
        world["w2"].block()
        await world.pass_time(28)
        assert opened(world) == ["w1"]
        await world.pass_time(3)
        assert opened(world) == ["w1", "w2"]


async def test_93_two_workloads_have_a_window_each(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue("a")
        world.queue("b")
        await world.until(lambda: len(world.holders("a")) == len(world.holders("b")) == 2)
        world["w1"].block("a")
        world["w2"].block("b")
        await world.until(lambda: world["w1"].gate("a") == world["w2"].gate("b") == "Open")


async def test_a_worker_that_speaks_the_keps_dialect_is_understood(tmp_path: Path) -> None:
    kinds = {"w2": all_kinds(gate_dialect=GateDialect.KEP)}
    async with running(tmp_path, "w1", "w2", kinds=kinds) as world:
        world["w2"].gate_field = "state"
        await pending(world)
        world["w2"].close_gate("wl", "state")
        world["w2"].set_condition("wl", "QuotaReservationBlocked", reason="PreemptionGated")
        await world.until(lambda: world["w2"].gate("wl", "state") == "Open")
        world["w1"].block()
        await world.settled()
        assert world["w1"].gate() == "Closed"


async def test_a_gate_that_cannot_be_opened_does_not_starve_the_others(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        await pending(world)
        world["w1"].local.faults.add(ServerError(), verb="patch", plural="workloads", subresource="status")
        world["w1"].block()
        await world.until(lambda: ledger(world))
        await world.pass_time(1, settle=False)
        world["w2"].block()
        await world.pass_time(2 * T, settle=False)
        assert opened(world) == ["w2"]


async def test_a_gate_of_another_client_is_left_as_it_is(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        await pending(world)
        others = [{"name": "a/b"}, {"name": MULTIKUEUE_NAME}]
        world["w1"].change("workloads", "wl", lambda w: w["spec"].update(preemptionGates=others), KUEUE)
        theirs = {"name": "a/b", "position": "Closed", "lastTransitionTime": world["w1"].now()}
        ours = {"name": MULTIKUEUE_NAME, "position": "Closed", "lastTransitionTime": world["w1"].now()}
        world["w1"].set_status("wl", lambda s: s.update(preemptionGates=[theirs, ours]))
        world["w1"].set_condition("wl", "BlockedOnPreemptionGates", reason="PreemptionGated")
        await world.until(lambda: opened(world) == ["w1"])
        assert theirs in world["w1"].workload()["status"]["preemptionGates"]
