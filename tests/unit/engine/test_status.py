"""Conditions and events that Kueue writes."""

import pytest

from config.api.meta import Condition
from engine.reporting import status
from engine.reporting.status import EventType, PriorityParts, UnadmittedReason, WorkloadEvent
from engine.vocabulary.features import FeatureGates
from engine.vocabulary.messages import PreemptionReason

GATES = FeatureGates()
OBSERVED = FeatureGates(unadmitted_workloads_observability=True)


def test_transition_time_moves_only_with_the_status() -> None:
    old = Condition("QuotaReserved", "False", "Pending", "old", 1, 1)
    same = status.put({"QuotaReserved": old}, Condition("QuotaReserved", "False", "Pending", "new", 9, 2))
    assert same["QuotaReserved"] == Condition("QuotaReserved", "False", "Pending", "new", 1, 2)
    turned = status.put({"QuotaReserved": old}, Condition("QuotaReserved", "True", "QuotaReserved", "new", 9, 2))
    assert turned["QuotaReserved"].last_transition_ns == 9


def test_147_reservation_ends_what_stood_against_the_workload() -> None:
    before = {
        "Evicted": Condition("Evicted", "True", "Preempted", "out", 1, 1),
        "Preempted": Condition("Preempted", "True", "InClusterQueue", "out", 1),
        "BlockedOnPreemptionGates": Condition("BlockedOnPreemptionGates", "False", "Preempted", "x", 1),
        "Finished": Condition("Finished", "False"),
    }
    assert status.reserve_quota(before, "cq", 9, 4) == {
        "QuotaReserved": Condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq", 9, 4),
        "Evicted": Condition("Evicted", "False", "QuotaReserved", "Previously: out", 9, 4),
        "Preempted": Condition("Preempted", "False", "QuotaReserved", "Previously: out", 9, 4),
        "BlockedOnPreemptionGates": before["BlockedOnPreemptionGates"],
        "Finished": before["Finished"],
    }


def test_admitted_and_not() -> None:
    assert status.admitted(9, 4) == Condition("Admitted", "True", "Admitted", "The workload is admitted", 9, 4)
    plain = status.not_admitted(9, 4, GATES, all_checks_ready=True)
    assert (plain.status, plain.reason, plain.message) == ("False", "NoReservation", "The workload has no reservation")
    unready = status.not_admitted(9, 4, GATES, all_checks_ready=False)
    assert unready.reason == "NoReservationUnsatisfiedChecks"
    assert unready.message == "The workload has no reservation and not all checks ready"
    assert status.not_admitted(9, 4, OBSERVED, all_checks_ready=False).reason == "NoReservation"


@pytest.mark.parametrize(("gates", "want"), [(GATES, "Pending"), (OBSERVED, "ExceedsMaxQuota")])
def test_detailed_reason_shows_only_with_its_gate(gates: FeatureGates, want: str) -> None:
    condition = status.quota_not_reserved("m", 9, 4, gates, UnadmittedReason.EXCEEDS_MAX_QUOTA)
    assert condition == Condition("QuotaReserved", "False", want, "m", 9, 4)
    assert status.pending_event(condition) == WorkloadEvent(EventType.WARNING, want, "m")


@pytest.mark.parametrize(("gates", "want"), [(GATES, "Inadmissible"), (OBSERVED, "Suspended")])
def test_106_blocked_queue(gates: FeatureGates, want: str) -> None:
    condition = status.queue_blocked("LocalQueue L is inactive", 9, 4, gates, UnadmittedReason.SUSPENDED)
    assert (condition.status, condition.reason) == ("False", want)


def test_102_gate_signal_in_both_dialects() -> None:
    want = ("True", "PreemptionGated", "Workload requires preemption, but it's gated")
    for name in ("BlockedOnPreemptionGates", "QuotaReservationBlocked"):
        condition = status.blocked_on_gates(9, 4, name)
        assert (condition.type, condition.status, condition.reason, condition.message) == (name, *want)
    assert status.blocked_on_gates(9, 4).type == "BlockedOnPreemptionGates"


def test_eviction_takes_the_gate_signal_back() -> None:
    before = {"BlockedOnPreemptionGates": Condition("BlockedOnPreemptionGates", "True", "PreemptionGated", "g", 1, 1)}
    assert status.evict(before, "Preempted", "out", 9, 4) == {
        "Evicted": Condition("Evicted", "True", "Preempted", "out", 9, 4),
        "BlockedOnPreemptionGates": Condition("BlockedOnPreemptionGates", "False", "Preempted", "out", 9, 4),
    }


def test_preempted_has_no_observed_generation() -> None:
    want = Condition("Preempted", "True", "InCohortFairSharing", "m", 9, 0)
    assert status.preempted(PreemptionReason.IN_COHORT_FAIR_SHARING, "m", 9) == want


@pytest.mark.parametrize(
    ("reason", "is_pod_owned", "want"),
    [
        pytest.param("Preempted", False, "True", id="a preempted workload comes back"),
        pytest.param("Preempted", True, "False", id="146: owned by one pod"),
        pytest.param("NodeFailures", False, "True", id="after node failures too"),
        pytest.param("PodsReadyTimeout", False, "False", id="others wait for their back-off"),
    ],
)
def test_requeued(reason: str, is_pod_owned: bool, want: str) -> None:
    eviction = Condition("Evicted", "True", reason, "out", 1, 1)
    condition = status.requeued(eviction, 9, 4, is_pod_owned=is_pod_owned)
    assert condition == Condition("Requeued", want, reason, "out", 9, 4)


POD = {"apiVersion": "v1", "kind": "Pod", "name": "p"}


@pytest.mark.parametrize(
    ("metadata", "want"),
    [
        pytest.param({"ownerReferences": [POD]}, True, id="146: one pod"),
        pytest.param({"ownerReferences": [POD, POD]}, False, id="two pods"),
        pytest.param({"ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job"}]}, False, id="a job"),
        pytest.param(
            {"ownerReferences": [POD], "annotations": {"kueue.x-k8s.io/is-group-workload": "true"}},
            False,
            id="a pod group of one",
        ),
        pytest.param({}, False, id="none"),
    ],
)
def test_workload_of_a_single_pod(metadata: dict[str, object], want: bool) -> None:
    assert status.is_owned_by_single_pod({"metadata": metadata}) is want


def test_events_of_admission() -> None:
    assert status.reservation_event("cq", 61.6) == WorkloadEvent(
        EventType.NORMAL, "QuotaReserved", "Quota reserved in ClusterQueue cq, wait time since queued was 62s"
    )
    assert status.reservation_event("cq", 0, "f(Fit)").message.endswith("; Flavors considered: f(Fit)")
    assert status.admission_event("cq").message == "Admitted by ClusterQueue cq, wait time since reservation was 0s"


def test_events_of_preemption() -> None:
    preemptor, victim = PriorityParts(10, 0), PriorityParts(5, -2)
    priorities = (
        "preemptor effective priority: 10 (base: 10, boost: 0); preemptee effective priority: 3 (base: 5, boost: -2)"
    )
    assert status.preemption_events("out", preemptor, victim) == (
        WorkloadEvent(EventType.NORMAL, "EvictedDueToPreempted", "out"),
        WorkloadEvent(EventType.NORMAL, "Preempted", f"out; {priorities}"),
    )
    assert status.preemptor_event("ns/v", "u", "cq", preemptor, victim) == WorkloadEvent(
        EventType.NORMAL, "PreemptedWorkload", f"Preempted workload ns/v (UID: u) in ClusterQueue cq; {priorities}"
    )
