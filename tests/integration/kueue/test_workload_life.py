"""The turns of a Workload's life on a cluster with the stand-in: admission, eviction, requeueing, deactivation."""

import pytest

from localcluster.kueue.annotations import STOP_SECONDS
from localcluster.kueue.stand_in import LocalKueue
from tests.integration.kueue.stage import Stage
from tests.support.builders import (
    ClusterQueueBuilder,
    WorkloadBuilder,
    admission_check,
    cluster_queue,
    flavor,
    local_queue,
    workload,
)

CHECK = "multikueue"


def queue(cpu: int = 4) -> ClusterQueueBuilder:
    return cluster_queue("cq").quota("f", cpu=cpu).preemption(within="LowerPriority")


def checked_queue() -> ClusterQueueBuilder:
    return queue().with_spec(admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]})


def wl(name: str, priority: int = 0, cpu: int = 4) -> WorkloadBuilder:
    return workload(name).queue("cq").priority(priority).request(cpu=cpu)


def set_check(stage: Stage, name: str, state: str, message: str = "", **more: object) -> Stage:
    entry = {"name": CHECK, "state": state, "message": message, "lastTransitionTime": stage.now(), **more}
    return stage.patch("Workload", name, {"status": {"admissionChecks": [entry]}}, "status").settle()


def test_a_workload_that_fits_reserves_quota_and_is_admitted() -> None:
    stage = Stage().given(queue(), wl("a"))

    assert stage.told("a", "QuotaReserved") == ("True", "QuotaReserved", "Quota reserved in ClusterQueue cq")
    assert stage.told("a", "Admitted") == ("True", "Admitted", "The workload is admitted")
    (assignment,) = stage.workload("a")["status"]["admission"]["podSetAssignments"]
    assert assignment == {"name": "main", "count": 1, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "4"}}


def test_an_object_that_comes_later_is_enough() -> None:
    stage = Stage().submit(wl("a"))
    assert stage.told("a", "QuotaReserved") == ("False", "Inadmissible", "LocalQueue cq doesn't exist")

    stage.submit(local_queue("cq", "cq"))
    assert stage.told("a", "QuotaReserved") == ("False", "Inadmissible", "ClusterQueue cq doesn't exist")

    stage.submit(queue())
    assert stage.told("a", "QuotaReserved") == ("False", "Inadmissible", "ClusterQueue cq is inactive")

    stage.submit(flavor("f")).advance(1)
    assert stage.holds("a", "Admitted")


def test_a_victim_keeps_its_quota_until_it_has_stopped_then_queues_again() -> None:
    stage = Stage().given(queue(), wl("low").annotate(STOP_SECONDS, "30"))
    uid = stage.submit(wl("high", 10)).workload("high")["metadata"]["uid"]
    message = (
        f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; "
        "preemptor path: /cq; preemptee path: /cq"
    )

    assert stage.told("low", "Preempted") == ("True", "InClusterQueue", message)
    assert stage.told("low", "Evicted") == ("True", "Preempted", message)
    assert stage.holds("low", "QuotaReserved")
    assert not stage.holds("high", "QuotaReserved")

    stage.advance(29)
    assert stage.holds("low", "QuotaReserved")

    stage.advance(1)
    assert stage.holds("high", "Admitted")
    assert stage.told("low", "Requeued") == ("True", "Preempted", message)
    assert stage.told("low", "Admitted") == ("False", "NoReservation", "The workload has no reservation")
    assert stage.workload("low")["status"]["accumulatedPastExecutionTimeSeconds"] == 30
    assert stage.workload("low")["status"]["schedulingStats"] == {
        "evictions": [{"reason": "Preempted", "underlyingCause": "", "count": 1}]
    }

    stage.delete("Workload", "high").advance(1)
    assert stage.holds("low", "Admitted")
    assert stage.told("low", "Evicted") == ("False", "QuotaReserved", f"Previously: {message}")


def test_a_victim_that_never_stops_blocks_its_preemptor() -> None:
    stage = Stage().given(queue(), wl("low").annotate(STOP_SECONDS, "never")).submit(wl("high", 10))

    stage.advance(24 * 3600)

    assert stage.holds("low", "QuotaReserved")
    assert not stage.holds("high", "QuotaReserved")


def test_a_deactivated_workload_goes_and_comes_back_when_it_is_activated() -> None:
    stage = Stage().given(queue(), wl("a"))

    stage.patch("Workload", "a", {"spec": {"active": False}}).settle()
    assert stage.told("a", "Evicted") == ("True", "Deactivated", "The workload is deactivated")
    assert stage.told("a", "Requeued") == ("False", "Deactivated", "The workload is deactivated")
    assert not stage.holds("a", "QuotaReserved")

    stage.patch("Workload", "a", {"spec": {"active": True}}).advance(1)
    assert stage.told("a", "Requeued") == ("True", "Reactivated", "The workload was reactivated")
    assert stage.holds("a", "Admitted")


def test_a_deactivation_that_the_hub_asks_for_says_why() -> None:
    stage = Stage().given(queue(), wl("a"))
    target = {
        "type": "DeactivationTarget",
        "status": "True",
        "reason": "EvictedOnManagerCluster",
        "message": "Evicted on manager: by preemption",
        "lastTransitionTime": stage.now(),
    }
    conditions = [*stage.workload("a")["status"]["conditions"], target]

    stage.patch("Workload", "a", {"status": {"conditions": conditions}}, "status").settle()

    assert stage.workload("a")["spec"]["active"] is False
    assert stage.condition("a", "DeactivationTarget") is None
    message = "The workload is deactivated due to Evicted on manager: by preemption"
    assert stage.told("a", "Evicted") == ("True", "DeactivatedDueToEvictedOnManagerCluster", message)
    (count,) = stage.workload("a")["status"]["schedulingStats"]["evictions"]
    assert count == {"reason": "Deactivated", "underlyingCause": "EvictedOnManagerCluster", "count": 1}
    assert not stage.holds("a", "QuotaReserved")


def test_a_check_keeps_a_workload_with_quota_from_being_admitted_until_it_is_ready() -> None:
    stage = Stage().given(checked_queue(), admission_check(CHECK), wl("a"))

    assert stage.holds("a", "QuotaReserved")
    assert not stage.holds("a", "Admitted")
    (check,) = stage.workload("a")["status"]["admissionChecks"]
    assert check == {"name": CHECK, "state": "Pending", "message": "", "lastTransitionTime": stage.now()}

    set_check(stage, "a", "Ready", 'The workload was admitted on "w1"')

    assert stage.told("a", "Admitted") == ("True", "Admitted", "The workload is admitted")


def test_a_check_of_another_flavor_is_dropped_with_the_reservation() -> None:
    rules = [{"name": CHECK, "onFlavors": ["g"]}]
    two_flavors = queue().quota("g", cpu=4).with_spec(admissionChecksStrategy={"admissionChecks": rules})
    stage = Stage().given(two_flavors, admission_check(CHECK), wl("a")).submit(wl("b"))

    assert "admissionChecks" not in stage.workload("a")["status"]
    assert stage.holds("a", "Admitted")
    assert stage.workload("b")["status"]["admissionChecks"][0]["state"] == "Pending"
    assert not stage.holds("b", "Admitted")


def test_a_check_that_wants_a_retry_evicts_and_starts_over() -> None:
    stage = Stage().given(checked_queue(), admission_check(CHECK), wl("a"))
    stage.patch("Workload", "a", {"status": {"nominatedClusterNames": ["w1"]}}, "status")
    stage.patch("Workload", "a", {"status": {"nominatedClusterNames": None, "clusterName": "w1"}}, "status")
    set_check(stage, "a", "Ready")
    set_check(stage, "a", "Retry", "lost w1")

    message = f'Evicted due to AdmissionCheck in Retry state: "{CHECK}" (lost w1)'
    assert stage.told("a", "Requeued") == ("True", "BackoffFinished", "The workload backoff was finished")
    assert stage.holds("a", "QuotaReserved"), "it queued again and found its place"
    assert stage.told("a", "Evicted") == ("False", "QuotaReserved", f"Previously: {message}")
    (check,) = stage.workload("a")["status"]["admissionChecks"]
    assert (check["state"], check["message"]) == ("Pending", "Reset to Pending after eviction. Previously: Retry")
    assert check["retryCount"] == 1
    assert stage.workload("a")["status"]["clusterName"] == "w1", "who wrote it has to take it away"


def test_a_check_that_wants_a_retry_later_is_waited_for() -> None:
    stage = Stage().given(checked_queue(), admission_check(CHECK), wl("a"))

    set_check(stage, "a", "Retry", requeueAfterSeconds=60)
    assert not stage.holds("a", "QuotaReserved")

    stage.advance(58)
    assert not stage.holds("a", "QuotaReserved")

    stage.advance(4)
    assert stage.holds("a", "QuotaReserved")


def test_a_check_that_rejects_deactivates() -> None:
    stage = Stage().given(checked_queue(), admission_check(CHECK), wl("a"))

    set_check(stage, "a", "Rejected", "No multikueue adapter found")

    cause = f'AdmissionCheck in Rejected state: "{CHECK}" (No multikueue adapter found)'
    assert stage.workload("a")["spec"]["active"] is False
    assert stage.told("a", "Evicted") == (
        "True",
        "DeactivatedDueToAdmissionCheck",
        f"The workload is deactivated due to {cause}",
    )
    (check,) = stage.workload("a")["status"]["admissionChecks"]
    assert (check["state"], check["message"]) == ("Pending", "Reset to Pending after eviction. Previously: Rejected")
    assert not stage.holds("a", "QuotaReserved")


@pytest.mark.parametrize(
    ("kind", "want_evicted", "want_restarted"),
    [
        pytest.param("LocalQueue", "LocalQueueStopped", "LocalQueueRestarted", id="a LocalQueue"),
        pytest.param("ClusterQueue", "ClusterQueueStopped", "ClusterQueueRestarted", id="a ClusterQueue"),
    ],
)
def test_draining_a_queue_evicts_and_restarting_it_requeues(kind: str, want_evicted: str, want_restarted: str) -> None:
    stage = Stage().given(queue(), wl("a"))

    stage.patch(kind, "cq", {"spec": {"stopPolicy": "HoldAndDrain"}}).settle()
    assert stage.told("a", "Evicted") == ("True", want_evicted, f"The {kind} is stopped")
    assert not stage.holds("a", "QuotaReserved")

    stage.patch(kind, "cq", {"spec": {"stopPolicy": "None"}}).advance(1)
    assert stage.holds("a", "Admitted")
    assert (stage.told("a", "Requeued") or ("", "", ""))[1] == want_restarted


def test_a_finished_workload_makes_room() -> None:
    stage = Stage().given(queue(), wl("a")).submit(wl("b"))
    assert not stage.holds("b", "QuotaReserved")
    finished = {"type": "Finished", "status": "True", "reason": "Succeeded", "message": ""}
    finished["lastTransitionTime"] = stage.now()
    conditions = [*stage.workload("a")["status"]["conditions"], finished]

    stage.patch("Workload", "a", {"status": {"conditions": conditions}}, "status").advance(1)

    assert stage.holds("b", "Admitted")


def test_a_start_on_a_cluster_in_use_goes_on_where_the_last_one_stopped() -> None:
    stage = Stage().given(queue(), wl("a")).submit(wl("b"))
    stage.kueue.stop()
    before = stage.store.ledger.revision

    LocalKueue(stage.store).settle()

    assert stage.store.ledger.revision == before, "there is nothing to write"
