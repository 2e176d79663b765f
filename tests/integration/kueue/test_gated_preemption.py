"""What a worker's Kueue does with a closed preemption gate: scenarios MK-74 to 80 and 91."""

import pytest

from localcluster.kueue.profile import BEFORE_GATES, CURRENT, GATES_OFF, KEP_8303, KueueProfile
from tests.integration.kueue.stage import GATE, Stage
from tests.support.builders import ClusterQueueBuilder, WorkloadBuilder, cluster_queue, workload

GATED_MESSAGE = "Workload requires preemption, but it's gated"
CLOSED = {GATE: "Closed"}


def queue(name: str = "cq", cpu: int = 4) -> ClusterQueueBuilder:
    return cluster_queue(name).quota("f", cpu=cpu).preemption(within="LowerPriority")


def low(name: str = "low", cpu: int = 4) -> WorkloadBuilder:
    return workload(name).queue("cq").priority(0).request(cpu=cpu)


def high(name: str = "high", cpu: int = 4) -> WorkloadBuilder:
    return workload(name).queue("cq").priority(100).request(cpu=cpu).with_spec(preemptionGates=[{"name": GATE}])


def full_worker(profile: KueueProfile = CURRENT) -> Stage:
    return Stage(profile).given(queue(), low())


def test_scenario_74_a_closed_gate_stops_the_preemption_and_the_worker_asks() -> None:
    stage = full_worker().submit(high())

    assert not stage.holds("low", "Evicted")
    assert stage.holds("low", "Admitted")
    assert stage.told("high", "BlockedOnPreemptionGates") == ("True", "PreemptionGated", GATED_MESSAGE)
    assert stage.told("high", "QuotaReserved") == ("False", "Pending", GATED_MESSAGE)
    assert stage.gates("high") == CLOSED


def test_scenario_74_one_closed_gate_among_open_ones_is_enough() -> None:
    stage = full_worker().submit(high().with_spec(preemptionGates=[{"name": GATE}, {"name": "other"}]))

    stage.open_gate("high")

    assert stage.gates("high") == {GATE: "Open", "other": "Closed"}
    assert not stage.holds("low", "Evicted")
    assert stage.holds("high", "BlockedOnPreemptionGates")


def test_scenario_75_what_fits_is_admitted_behind_a_closed_gate_without_asking() -> None:
    stage = Stage().given(queue(cpu=8), low()).submit(high())

    assert stage.told("high", "Admitted") == ("True", "Admitted", "The workload is admitted")
    assert stage.condition("high", "BlockedOnPreemptionGates") is None
    assert stage.gates("high") == CLOSED


def test_scenario_76_without_candidates_no_worker_asks() -> None:
    stage = full_worker().submit(high("equal").priority(0))

    assert stage.told("equal", "QuotaReserved") == (
        "False",
        "Pending",
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 4 more needed",
    )
    assert stage.condition("equal", "BlockedOnPreemptionGates") is None


def test_scenario_77_best_effort_others_overtake_a_gated_head_which_preempts_once_it_may() -> None:
    stage = Stage().given(queue(cpu=5), low()).submit(high(), low("small", cpu=1))

    assert stage.holds("high", "BlockedOnPreemptionGates")
    assert stage.holds("small", "Admitted")

    stage.open_gate("high").advance(1)

    assert stage.holds("high", "Admitted")
    assert stage.holds("low", "Evicted")
    assert not stage.holds("small", "Evicted")


def test_scenario_77_strict_fifo_a_gated_head_blocks_its_queue() -> None:
    strict = queue(cpu=5).with_spec(queueingStrategy="StrictFIFO")
    stage = Stage().given(strict, low()).submit(high(), low("small", cpu=1)).advance(60)

    assert stage.holds("high", "BlockedOnPreemptionGates")
    assert not stage.holds("small", "QuotaReserved")


@pytest.mark.parametrize(
    ("when_can_preempt", "want_admitted"),
    [
        pytest.param("MayStopSearch", False, id="scenario 78: the first flavor that can preempt is taken, so it asks"),
        pytest.param("TryNextFlavor", True, id="scenario 78: the free flavor is taken, so it does not ask"),
    ],
)
def test_scenario_78_whether_a_gate_matters_depends_on_the_flavor(
    *, when_can_preempt: str, want_admitted: bool
) -> None:
    flavors = queue().quota("g", cpu=4).fungibility(preempt=when_can_preempt)
    stage = Stage().given(flavors, low()).submit(high())

    assert stage.holds("high", "Admitted") is want_admitted
    assert (stage.condition("high", "BlockedOnPreemptionGates") is None) is want_admitted


def test_scenario_79_an_eviction_closes_the_gate_and_ends_the_signal_in_one_write() -> None:
    stage = full_worker().submit(high()).open_gate("high").advance(1)
    assert stage.holds("high", "Admitted")
    versions: list[tuple[bool, str]] = []
    stage.store.subscribe(
        stage.store.kind("workloads", "kueue.x-k8s.io"),
        lambda _: versions.append((stage.holds("high", "Evicted"), stage.gates("high")[GATE])),
    )

    stage.submit(low("higher").priority(200))

    assert (True, "Open") not in versions
    assert (True, "Closed") in versions
    assert not stage.holds("high", "BlockedOnPreemptionGates")


def test_scenario_79_a_gated_workload_that_is_told_to_go_no_longer_asks() -> None:
    stage = full_worker().submit(high())

    stage.patch("Workload", "high", {"spec": {"active": False}}).settle()

    message = "The workload is deactivated"
    assert stage.told("high", "Evicted") == ("True", "Deactivated", message)
    assert stage.told("high", "BlockedOnPreemptionGates") == ("False", "Deactivated", message)


def test_scenario_79_an_evicted_workload_asks_again_when_it_wants_to_preempt_again() -> None:
    reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "sinking"}
    stage = full_worker().submit(high()).open_gate("high").advance(1)
    stage.submit(low("higher").priority(200).with_spec(priorityClassRef=reference)).advance(2)
    assert stage.holds("higher", "Admitted")
    assert not stage.holds("high", "BlockedOnPreemptionGates"), "nothing has a lower priority"

    stage.patch("Workload", "higher", {"spec": {"priority": 1}}).advance(1)

    assert stage.gates("high") == CLOSED
    assert stage.told("high", "BlockedOnPreemptionGates") == ("True", "PreemptionGated", GATED_MESSAGE)
    assert stage.holds("higher", "Admitted"), "the gate that was open before its eviction does not count"

    stage.open_gate("high").advance(1)
    assert stage.holds("high", "Admitted")


def test_scenario_80_of_two_full_workers_only_the_one_whose_gate_opens_preempts() -> None:
    first, second = full_worker().submit(high()), full_worker().submit(high())

    first.open_gate("high").advance(5)
    second.advance(5)

    assert first.holds("high", "Admitted")
    assert first.holds("low", "Evicted")
    assert second.holds("low", "Admitted")
    assert second.condition("low", "Evicted") is None


def test_scenario_91_states_follow_the_gates_of_the_spec() -> None:
    stage = full_worker().submit(high())
    since = stage.workload("high")["status"]["preemptionGates"][0]["lastTransitionTime"]

    stage.advance(10).patch("Workload", "high", {"spec": {"preemptionGates": [{"name": GATE}, {"name": "b"}]}}).settle()
    assert stage.gates("high") == {GATE: "Closed", "b": "Closed"}
    assert stage.workload("high")["status"]["preemptionGates"][0]["lastTransitionTime"] == since

    stage.patch("Workload", "high", {"spec": {"preemptionGates": [{"name": "b"}]}}).settle()
    assert stage.gates("high") == {"b": "Closed"}


def test_scenario_91_states_follow_the_gates_of_an_admitted_workload_too() -> None:
    stage = Stage().given(queue()).submit(high())
    assert stage.holds("high", "Admitted")

    stage.patch("Workload", "high", {"spec": {"preemptionGates": [{"name": "b"}]}}).settle()

    assert stage.gates("high") == {"b": "Closed"}


def test_the_keps_dialect_spells_signal_and_state_its_own_way() -> None:
    stage = full_worker(KEP_8303).submit(high())

    assert stage.told("high", "QuotaReservationBlocked") == ("True", "PreemptionGated", GATED_MESSAGE)
    assert stage.condition("high", "BlockedOnPreemptionGates") is None
    (entry,) = stage.workload("high")["status"]["preemptionGates"]
    assert entry == {"name": GATE, "state": "Closed", "lastTransitionTime": stage.now()}

    stage.open_gate("high", field="state").advance(1)

    assert stage.holds("high", "Admitted")
    assert stage.told("high", "QuotaReservationBlocked") == ("False", "QuotaReserved", f"Previously: {GATED_MESSAGE}")


@pytest.mark.parametrize("profile", [GATES_OFF, BEFORE_GATES], ids=["the feature is off", "the version is older"])
def test_a_kueue_without_gates_says_nothing_about_them_and_preempts(profile: KueueProfile) -> None:
    stage = full_worker(profile).submit(high())

    assert stage.holds("high", "Admitted")
    assert stage.holds("low", "Evicted")
    assert "preemptionGates" not in stage.workload("high")["status"]
    assert stage.condition("high", "BlockedOnPreemptionGates") is None
    assert ("preemptionGates" in stage.workload("high")["spec"]) is profile.has_gate_fields
