"""Sentences of Kueue v0.19.1."""

import pytest

from config.api.quantity import UNLIMITED
from engine.vocabulary import messages
from engine.vocabulary.messages import PreemptionReason


def test_1_request_above_capacity() -> None:
    text = messages.exceeds_capacity("cpu", "f", assumed=0, request=5000, capacity=4000)
    assert text == (
        "insufficient quota for cpu in flavor f, previously considered podsets requests (0) + "
        "current podset request (5) > maximum capacity (4)"
    )


def test_capacity_prints_unlimited_but_a_request_prints_its_number() -> None:
    text = messages.exceeds_capacity("memory", "f", assumed=UNLIMITED, request=UNLIMITED, capacity=UNLIMITED)
    assert text.endswith(
        "requests (<unlimited>) + current podset request (9223372036854775807) > maximum capacity (<unlimited>)"
    )


def test_3_request_above_unused_quota() -> None:
    text = messages.exceeds_unused_quota("cpu", "f", 1000)
    assert text == "insufficient unused quota for cpu in flavor f, 1 more needed"


def test_14_reasons_are_sorted_and_kept_twice() -> None:
    text = messages.assignment_message([("a", ["z", "b", "b"]), ("c", ["d"])])
    assert text == "couldn't assign flavors to pod set a: b, b, z; couldn't assign flavors to pod set c: d"


def test_16_uncovered_resource() -> None:
    assert messages.resource_unavailable("memory") == "resource memory unavailable in ClusterQueue"


def test_assignment_error_stands_alone() -> None:
    assert messages.assignment_error("main", "boom") == "failed to assign flavors to pod set main: boom"


def test_70_pending_preemption_is_appended() -> None:
    assert messages.with_pending_preemption("m", 2) == "m. Pending the preemption of 2 workload(s)"


@pytest.mark.parametrize(
    ("names", "want"), [(["org", "l", "a"], "/org/l/a"), (["a"], "/a"), ([], "")], ids=["144", "no cohort", "unknown"]
)
def test_path_runs_from_the_top_cohort_to_the_queue(names: list[str], want: str) -> None:
    assert messages.queue_path(names) == want


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (PreemptionReason.IN_CLUSTER_QUEUE, "prioritization in the ClusterQueue"),
        (PreemptionReason.IN_COHORT_RECLAMATION, "reclamation within the cohort"),
        (PreemptionReason.IN_COHORT_FAIR_SHARING, "Fair Sharing within the cohort"),
        (PreemptionReason.IN_COHORT_RECLAIM_WHILE_BORROWING, "reclamation within the cohort while borrowing"),
        (PreemptionReason.IN_CLUSTER_QUEUE_TIME_BASED, "time-based prioritization in the ClusterQueue"),
    ],
)
def test_144_victim_reads_who_took_its_place_and_why(reason: PreemptionReason, cause: str) -> None:
    text = messages.preempted_message(
        preemptor_uid="u", preemptor_job_uid="j", reason=reason, preemptor_path="/org/l/a", preemptee_path="/b"
    )
    assert text == (
        f"Preempted to accommodate a workload (UID: u, JobUID: j) due to {cause}; "
        "preemptor path: /org/l/a; preemptee path: /b"
    )


def test_unknown_parts_say_so() -> None:
    text = messages.preempted_message(
        preemptor_uid="",
        preemptor_job_uid="",
        reason=PreemptionReason.IN_CLUSTER_QUEUE,
        preemptor_path="",
        preemptee_path="",
    )
    assert text == (
        "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: UNKNOWN) due to prioritization in the "
        "ClusterQueue; preemptor path: UNKNOWN; preemptee path: UNKNOWN"
    )


def test_106_blockers_of_the_queues() -> None:
    assert messages.local_queue_inactive("L") == "LocalQueue L is inactive"
    assert messages.local_queue_missing("L") == "LocalQueue L doesn't exist"
    assert messages.cluster_queue_missing("C") == "ClusterQueue C doesn't exist"
    assert messages.cluster_queue_inactive("C") == "ClusterQueue C is inactive"
    assert messages.namespace_missing("n") == 'workload namespace "n" does not exist: Namespace "n" not found'


def test_92_overlap_that_will_fit() -> None:
    assert messages.FITS_AFTER_PREEMPTIONS == (
        "Workload has overlapping preemption targets with another workload, "
        "but will fit after these preemptions complete"
    )


def test_long_messages_are_cut_with_an_ellipsis() -> None:
    assert messages.cut_for_event("x" * 1024) == "x" * 1024
    assert messages.cut_for_event("x" * 1025) == "x" * 1020 + " ..."
    assert len(messages.cut_for_condition("x" * 40000)) == 32768
    assert messages.cut_for_event("é" * 600).endswith(" ...")
    assert len(messages.cut_for_event("é" * 600).encode()) <= 1024


def test_reset_check_remembers_its_state() -> None:
    assert messages.check_reset_message("Ready") == "Reset to Pending after eviction. Previously: Ready"
