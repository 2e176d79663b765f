"""From a manifest to the Workload that is planned."""

from typing import Any

import pytest

from gates.jobs.kinds import SHIPPED
from gates.jobs.reading import ManifestFieldError
from gates.planning.wanted import PrioritySource, read_wanted, workload_of
from tests.support.builders import workload
from tests.support.job_builder import JobBuilder, job

KINDS = {kind.gvk: kind for kind in SHIPPED if kind.integration == "batch/job"}


def named() -> JobBuilder:
    return job("train").queue("main").managed_elsewhere().request(cpu=2).pods(3)


def test_a_job_becomes_the_workload_that_a_worker_would_get() -> None:
    wanted = read_wanted(named().annotate("kueue.x-k8s.io/preemption-cost", "9").raw, "other", KINDS)
    assert (wanted.kind, wanted.namespace, wanted.name, wanted.queue) == ("Job", "ns", "train", "main")
    assert wanted.priority_class == PrioritySource("scheduling.k8s.io", "")
    assert wanted.remarks == ()
    raw = workload_of(wanted, 7, 0)
    assert raw["spec"]["priority"] == 7
    assert raw["spec"]["queueName"] == "main"
    assert raw["spec"]["preemptionGates"] == [{"name": "kueue.x-k8s.io/multikueue"}]
    assert [(each["name"], each["count"]) for each in raw["spec"]["podSets"]] == [("main", 3)]
    assert raw["metadata"]["annotations"] == {"kueue.x-k8s.io/preemption-cost": "9"}


def test_the_namespace_is_that_of_the_manifest_else_the_given_one() -> None:
    raw = {**named().raw, "metadata": {"generateName": "train-"}}
    wanted = read_wanted(raw, "other", KINDS)
    assert (wanted.namespace, wanted.name) == ("other", "train-")


def test_a_label_names_the_priority_before_the_pods_do() -> None:
    labelled = named().priority_class("urgent")
    labelled.raw["spec"]["template"]["spec"]["priorityClassName"] = "pods"
    assert read_wanted(labelled.raw, "", KINDS).priority_class == PrioritySource("kueue.x-k8s.io", "urgent")
    unlabelled = named()
    unlabelled.raw["spec"]["template"]["spec"]["priorityClassName"] = "pods"
    assert read_wanted(unlabelled.raw, "", KINDS).priority_class == PrioritySource("scheduling.k8s.io", "pods")


def test_what_a_user_may_have_forgotten_is_remarked() -> None:
    wanted = read_wanted(job("train").raw, "ns", KINDS)
    assert wanted.queue == "default"
    queue, manager = wanted.remarks
    assert queue.startswith("no label kueue.x-k8s.io/queue-name")
    assert manager.startswith("spec.managedBy is not kueue.x-k8s.io/multikueue")


def test_a_workload_is_taken_as_it_is_but_for_what_it_has_been_through() -> None:
    raw = workload("wl").queue("main").priority(5).request(cpu=1).holds("cq").raw
    wanted = read_wanted(raw, "", KINDS)
    assert (wanted.kind, wanted.workload, wanted.priority) == ("Workload", "wl", 5)
    assert "status" not in workload_of(wanted, 5, 0)


def test_a_workload_of_the_old_version_is_converted() -> None:
    raw = workload("wl").queue("main").request(cpu=1).raw
    old = {
        **raw,
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "spec": {
            **raw["spec"],
            "priorityClassName": "urgent",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
        },
    }
    assert read_wanted(old, "", KINDS).priority_class == PrioritySource("kueue.x-k8s.io", "urgent")


def odd(**spec: Any) -> dict[str, Any]:
    raw = named().raw
    return {**raw, "spec": {**raw["spec"], **spec}}


REFUSED: dict[str, tuple[Any, str]] = {
    "no map": ([1], "a manifest must be a map"),
    "no name": ({"apiVersion": "batch/v1", "kind": "Job"}, "metadata.name is missing"),
    "a kind that is not switched on": (
        {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": "x"}},
        '"ray.io/v1 RayJob" is not allowed: must be one of kueue.x-k8s.io/v1beta2 Workload, batch/v1 Job',
    ),
    "a version of Kueue that is not known": (
        {"apiVersion": "kueue.x-k8s.io/v1", "kind": "Workload", "metadata": {"name": "x"}},
        'apiVersion: "kueue.x-k8s.io/v1" is not allowed',
    ),
    "a Workload without pods": (
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": "x"}, "spec": {}},
        "spec.podSets",
    ),
    "an invalid quantity": (
        odd(template={"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "much"}}}]}}),
        "as a Workload, spec.podSets[0].template.spec.containers[0].resources.requests[cpu]: 'much' is not a quantity",
    ),
    "labels that are no map": ({**named().raw, "metadata": {"name": "x", "labels": "a"}}, "metadata.labels"),
}


@pytest.mark.parametrize(("raw", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_planned_is_refused(raw: Any, message: str) -> None:
    with pytest.raises(ManifestFieldError) as refused:
        read_wanted(raw, "ns", KINDS)
    assert message in str(refused.value)
