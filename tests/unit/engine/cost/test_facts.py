"""Reading Jobs and Workloads: what is kept, and what is refused."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.meta import parse_time
from engine.cost.facts import CostFacts, job_facts, workload_facts

STAMP = "2026-01-01T00:00:00Z"
JOB: dict[str, Any] = {
    "metadata": {
        "namespace": "ns",
        "name": "j",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "labels": {"kueue.x-k8s.io/queue-name": "q"},
        "annotations": {
            "kueue.x-k8s.io/preemption-cost": "4",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        },
    },
    "spec": {"parallelism": 2, "completions": 6},
    "status": {"succeeded": 3, "conditions": [{"type": "Complete", "status": "False"}]},
}
WORKLOAD: dict[str, Any] = {
    "metadata": {
        "namespace": "ns",
        "name": "w",
        "uid": "u",
        "resourceVersion": "8",
        "creationTimestamp": STAMP,
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "c"},
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True},
        ],
    },
    "spec": {"priority": 5, "podSets": [{"count": 2}, {"count": 3}]},
    "status": {
        "conditions": [
            {"type": "Admitted", "status": "True", "lastTransitionTime": STAMP},
            {"type": "PodsReady", "status": "True"},
        ],
        "schedulingStats": {
            "evictions": [
                {"reason": "Preempted", "underlyingCause": "", "count": 1},
                {"reason": "Preempted", "underlyingCause": "Other", "count": 2},
                {"reason": "Deactivated", "underlyingCause": "", "count": 5},
            ]
        },
    },
}


def changed(raw: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    copy = deepcopy(raw)
    *way, last = path.split(".")
    place = copy
    for step in way:
        place = place[step]
    place[last] = value
    return copy


def test_a_job() -> None:
    job = job_facts(JOB)
    assert (job.namespace, job.name, job.uid, job.resource_version, job.generation) == ("ns", "j", "u", "7", 2)
    assert (job.parallelism, job.completions, job.succeeded) == (2, 6, 3)
    assert job.annotations == {"kueue.x-k8s.io/preemption-cost": "4"}
    assert (job.cost, job.cost_text, job.is_finished, job.is_deleted) == (4, "4", False, False)


@pytest.mark.parametrize("condition", ["Complete", "Failed"])
def test_a_finished_job(condition: str) -> None:
    assert job_facts(changed(JOB, "status.conditions", [{"type": condition, "status": "True"}])).is_finished


def test_a_workload_r3_any_underlying_cause_counts() -> None:
    workload = workload_facts(WORKLOAD)
    assert (workload.owner, workload.owner_uid) == ("j", "j")
    assert (workload.priority, workload.pods) == (5, 5)
    assert workload.evictions == {"Preempted": 3, "Deactivated": 5}
    assert CostFacts(job_facts(JOB), workload, 0).preemptions == 3
    assert workload.admitted_ns == workload.created_ns == parse_time(STAMP)
    assert (workload.has_pods_ready, workload.is_finished, workload.is_deleted) == (True, False, False)


def test_a_workload_of_something_else() -> None:
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "p", "uid": "p", "controller": True}
    assert workload_facts(changed(WORKLOAD, "metadata.ownerReferences", [owner])).owner == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.annotations", ["a"]),
        ("metadata.annotations", {"a": 1}),
        ("metadata.labels", "a"),
        ("spec.completions", "6"),
        ("spec.parallelism", -1),
        ("status.succeeded", 1.5),
        ("metadata.generation", True),
    ],
)
def test_a_job_that_is_malformed_is_refused_by_field(path: str, value: object) -> None:
    with pytest.raises(ValueError, match=path):
        job_facts(changed(JOB, path, value))


def test_a_count_of_evictions_that_is_malformed_is_refused_by_field() -> None:
    bad = {"evictions": [{"reason": "Preempted", "count": "many"}]}
    with pytest.raises(ValueError, match=r"status\.schedulingStats\.evictions\[\]\.count: 'many' is not allowed"):
        workload_facts(changed(WORKLOAD, "status.schedulingStats", bad))
