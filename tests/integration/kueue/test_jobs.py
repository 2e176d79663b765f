"""Jobs on a cluster with the stand-in: each gets a Workload, runs while that is admitted, and finishes it."""

from typing import Any

import pytest

from localcluster.kinds.columns import find_condition, has_condition
from tests.integration.kueue.stage import GATE, Stage
from tests.support.builders import Builder, ClusterQueueBuilder, admission_check, cluster_queue, workload
from tests.support.job_builder import JobBuilder, job

CHECK = "multikueue"


def queue(cpu: int = 4) -> ClusterQueueBuilder:
    return cluster_queue("cq").quota("f", cpu=cpu).preemption(within="LowerPriority")


def train(name: str = "train", cpu: int = 4) -> JobBuilder:
    return job(name).queue("cq").request(cpu=cpu)


def urgent(name: str = "urgent", value: int = 100) -> Builder:
    raw = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": name}}
    return Builder({**raw, "value": value})


def workload_of(stage: Stage, name: str) -> str:
    uid = stage.get("Job", name)["metadata"]["uid"]
    (found,) = [w for w in stage.all("Workload") if w["metadata"]["labels"].get("kueue.x-k8s.io/job-uid") == uid]
    return str(found["metadata"]["name"])


def status(stage: Stage, name: str) -> dict[str, Any]:
    found: dict[str, Any] = stage.get("Job", name)["status"]
    return found


def test_a_queued_job_gets_a_workload_as_kueue_makes_it() -> None:
    stage = Stage().given(queue(0)).submit(train().pods(3))

    created = stage.workload(workload_of(stage, "train"))
    owner = stage.get("Job", "train")
    assert created["metadata"]["name"].startswith("job-train-")
    assert created["metadata"]["finalizers"] == ["kueue.x-k8s.io/resource-in-use"]
    assert created["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "train",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert created["spec"]["queueName"] == "cq"
    assert created["spec"]["priority"] == 0
    (pod_set,) = created["spec"]["podSets"]
    assert (pod_set["name"], pod_set["count"]) == ("main", 3)
    assert pod_set["template"]["metadata"]["labels"] == {"batch.kubernetes.io/job-name": "train"}
    assert owner["spec"]["suspend"] is True


def test_an_admitted_job_runs_and_succeeds_after_its_time() -> None:
    stage = Stage().given(queue()).submit(train().pods(2).request(cpu=2).runs(90))

    started = status(stage, "train")
    assert stage.get("Job", "train")["spec"]["suspend"] is False
    assert (started["active"], started["ready"], started["startTime"]) == (2, 2, stage.now())

    stage.advance(89)
    assert not has_condition(stage.get("Job", "train"), "Complete")

    stage.advance(1)
    done = status(stage, "train")
    assert has_condition(stage.get("Job", "train"), "Complete")
    assert (done["active"], done["succeeded"], done["completionTime"]) == (0, 2, stage.now())
    name = workload_of(stage, "train")
    assert stage.told(name, "Finished") == ("True", "Succeeded", "Reached expected number of succeeded pods")
    assert "finalizers" not in stage.workload(name)["metadata"]


def test_the_next_job_starts_when_one_is_done() -> None:
    stage = Stage().given(queue()).submit(train("a").runs(10)).submit(train("b").runs(10))
    assert status(stage, "b").get("active", 0) == 0

    stage.advance(11)

    assert has_condition(stage.get("Job", "a"), "Complete")
    assert status(stage, "b")["active"] == 1


def test_a_job_without_a_queue_is_not_kueues_business() -> None:
    stage = Stage().given(queue()).submit(job("plain").runs(5))

    assert stage.all("Workload") == []
    assert status(stage, "plain")["active"] == 1


def test_a_preempted_job_stops_and_runs_again_later() -> None:
    stage = Stage().given(queue()).submit(urgent(), train("low").stops_in(20))
    stage.submit(train("high").priority_class("urgent").runs(30))

    low = stage.get("Job", "low")
    assert low["spec"]["suspend"] is True
    assert low["status"]["active"] == 1, "its pods are still there"
    assert stage.holds(workload_of(stage, "low"), "QuotaReserved")
    assert status(stage, "high").get("active", 0) == 0
    assert stage.workload(workload_of(stage, "high"))["spec"]["priority"] == 100

    stage.advance(20)
    assert status(stage, "low")["active"] == 0
    assert status(stage, "high")["active"] == 1
    assert "JobUID: UNKNOWN" not in (stage.told(workload_of(stage, "low"), "Evicted") or ("", "", ""))[2]

    stage.advance(32)
    assert has_condition(stage.get("Job", "high"), "Complete")
    assert status(stage, "low")["active"] == 1
    assert (find_condition(stage.get("Job", "low"), "Suspended") or {})["status"] == "False"


def test_a_job_that_never_stops_keeps_its_quota() -> None:
    stage = Stage().given(queue()).submit(urgent(), train("low").stops_in("never"))
    stage.submit(train("high").priority_class("urgent")).advance(3600)

    assert stage.holds(workload_of(stage, "low"), "QuotaReserved")
    assert status(stage, "high").get("active", 0) == 0


def test_a_workload_follows_the_priority_class_of_its_job() -> None:
    stage = Stage().given(queue()).submit(urgent(), urgent("more-urgent", 200), train().priority_class("urgent"))
    stage.patch("Job", "train", {"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "more-urgent"}}}).settle()
    spec = stage.workload(workload_of(stage, "train"))["spec"]
    assert (spec["priority"], spec["priorityClassRef"]["name"]) == (200, "more-urgent")


def test_a_prebuilt_workload_keeps_its_own_priority() -> None:
    stage = Stage().given(queue()).submit(urgent(), workload("made").queue("cq").priority(7).request(cpu=1))
    stage.submit(train(cpu=1).prebuilt("made").priority_class("urgent"))
    assert stage.workload("made")["metadata"]["ownerReferences"][0]["name"] == "train"
    assert stage.workload("made")["spec"]["priority"] == 7


def test_a_job_waits_for_the_priority_class_that_it_names() -> None:
    stage = Stage().given(queue()).submit(train().priority_class("urgent"))
    assert stage.all("Workload") == []

    stage.submit(urgent())

    assert stage.workload(workload_of(stage, "train"))["spec"]["priorityClassRef"]["name"] == "urgent"
    assert status(stage, "train")["active"] == 1


def test_deleting_a_job_takes_its_workload_along_and_makes_room() -> None:
    stage = Stage().given(queue()).submit(train("a")).submit(train("b"))

    stage.delete("Job", "a").advance(1)

    assert [w["metadata"]["ownerReferences"][0]["name"] for w in stage.all("Workload")] == ["b"]
    assert status(stage, "b")["active"] == 1


@pytest.mark.parametrize(
    ("annotated", "want"),
    [
        pytest.param(train().runs("soon"), '"soon" is not allowed: must be a number of seconds', id="a word"),
        pytest.param(train().runs("-1"), '"-1" is not allowed: must be a number of seconds', id="a negative time"),
        pytest.param(train().runs("NaN"), '"NaN" is not allowed: must be a number of seconds', id="no number"),
        pytest.param(
            train().stops_in("x"), '"x" is not allowed: must be a number of seconds or "never"', id="an unknown word"
        ),
    ],
)
def test_a_job_with_an_annotation_that_is_malformed_fails_and_says_so(annotated: JobBuilder, want: str) -> None:
    stage = Stage().given(queue()).submit(annotated)

    failed = find_condition(stage.get("Job", "train"), "Failed") or {}
    assert failed["reason"] == "InvalidAnnotation"
    assert failed["message"].endswith(want)
    assert (stage.told(workload_of(stage, "train"), "Finished") or ("",) * 3)[1] == "Failed"


def replica_of(hub: Stage, name: str) -> Builder:
    """Return what the hub's orchestrator creates on a worker."""
    original = hub.workload(name)
    labels = {"kueue.x-k8s.io/multikueue-origin": "multikueue"}
    spec = {**original["spec"], "preemptionGates": [{"name": GATE}]}
    return Builder({**original, "metadata": {"name": name, "labels": labels}, "spec": spec, "status": {}})


def hub_with_job() -> tuple[Stage, str]:
    rules = {"admissionChecks": [{"name": CHECK}]}
    hub = Stage().given(queue().with_spec(admissionChecksStrategy=rules), admission_check(CHECK))
    hub.submit(train().runs(60).managed_elsewhere())
    return hub, workload_of(hub, "train")


def test_a_hub_reserves_quota_for_a_job_that_is_run_elsewhere_and_does_not_run_it() -> None:
    hub, name = hub_with_job()

    assert hub.holds(name, "QuotaReserved")
    assert not hub.holds(name, "Admitted")
    assert hub.workload(name)["status"]["admissionChecks"][0]["state"] == "Pending"

    ready = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": hub.now()}
    hub.patch("Workload", name, {"status": {"admissionChecks": [ready]}}, "status").advance(600)

    assert hub.holds(name, "Admitted")
    assert hub.get("Job", "train")["spec"]["suspend"] is False
    assert hub.get("Job", "train")["status"] == {}, "the hub waits for the worker's status"


def test_a_hub_whose_job_still_runs_elsewhere_keeps_its_quota_while_it_is_evicted() -> None:
    hub, name = hub_with_job()
    ready = {"name": CHECK, "state": "Ready", "message": "", "lastTransitionTime": hub.now()}
    hub.patch("Workload", name, {"status": {"admissionChecks": [ready]}}, "status").settle()
    running = {"active": 1, "ready": 1, "startTime": hub.now()}
    hub.patch("Job", "train", {"status": running}, "status").settle()

    hub.patch("Workload", name, {"spec": {"active": False}}).settle()
    assert hub.get("Job", "train")["spec"]["suspend"] is True
    assert hub.holds(name, "QuotaReserved")

    hub.patch("Job", "train", {"status": {"active": 0, "ready": 0}}, "status").settle()
    assert not hub.holds(name, "QuotaReserved")


def test_a_worker_adopts_the_replica_that_its_job_names() -> None:
    hub, name = hub_with_job()
    worker = Stage().given(queue()).submit(replica_of(hub, name))
    assert worker.holds(name, "Admitted")

    remote = worker.submit(train().runs(60).prebuilt(name)).get("Job", "train")

    adopted = worker.workload(name)
    assert adopted["metadata"]["ownerReferences"][0]["uid"] == remote["metadata"]["uid"]
    assert adopted["metadata"]["labels"]["kueue.x-k8s.io/job-uid"] == remote["metadata"]["uid"]
    assert [w["metadata"]["name"] for w in worker.all("Workload")] == [name]
    assert worker.get("Job", "train")["status"]["active"] == 1

    worker.advance(60)
    assert worker.holds(name, "Finished")


def test_a_job_waits_for_the_replica_that_it_names() -> None:
    hub, name = hub_with_job()
    worker = Stage().given(queue()).submit(train().prebuilt(name))
    assert worker.all("Workload") == []
    assert worker.get("Job", "train")["spec"]["suspend"] is True

    worker.submit(replica_of(hub, name))

    assert worker.get("Job", "train")["status"]["active"] == 1


def test_a_replica_that_belongs_to_another_job_is_left_alone() -> None:
    hub, name = hub_with_job()
    worker = Stage().given(queue(8)).submit(replica_of(hub, name), train("first").prebuilt(name))

    worker.submit(train("second").prebuilt(name))

    assert worker.workload(name)["metadata"]["ownerReferences"][0]["name"] == "first"
    assert worker.get("Job", "second")["spec"]["suspend"] is True


def test_a_replica_that_no_longer_describes_its_job_is_finished_as_out_of_sync() -> None:
    hub, name = hub_with_job()
    worker = Stage().given(queue()).submit(replica_of(hub, name))

    worker.submit(train(cpu=2).prebuilt(name))

    message = "The prebuilt workload is out of sync with its user job"
    assert worker.told(name, "Finished") == ("True", "OutOfSync", message)
    assert worker.get("Job", "train")["spec"]["suspend"] is True


def test_deactivating_an_adopted_replica_stops_its_job_before_the_quota_is_free() -> None:
    hub, name = hub_with_job()
    worker = Stage().given(queue()).submit(replica_of(hub, name), train().stops_in(5).prebuilt(name))

    worker.patch("Workload", name, {"spec": {"active": False}}).settle()
    assert worker.holds(name, "QuotaReserved")

    worker.advance(5)
    assert worker.get("Job", "train")["status"]["active"] == 0
    assert not worker.holds(name, "QuotaReserved")
    assert worker.told(name, "Requeued") == ("False", "Deactivated", "The workload is deactivated")


def test_workloads_without_a_job_stay_as_they_are() -> None:
    stage = Stage().given(queue(), workload("alone").queue("cq").request(cpu=1)).advance(3600)

    assert stage.holds("alone", "Admitted")
    assert not stage.holds("alone", "Finished")
