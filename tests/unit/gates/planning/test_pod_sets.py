"""The pods of a job as Kueue counts them, kind by kind."""

from typing import Any

import pytest

from gates.jobs.podsets import pod_sets_of, priority_class_of
from gates.jobs.reading import ManifestFieldError

Json = dict[str, Any]


def template(cpu: str = "1", **pod: Any) -> Json:
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **pod}}


def replicas(**roles: int | None) -> Json:
    return {
        role: {"template": template()} if count is None else {"replicas": count, "template": template()}
        for role, count in roles.items()
    }


RAY: Json = {
    "headGroupSpec": {"template": template("2")},
    "workerGroupSpecs": [
        {"groupName": "Small", "replicas": 3, "template": template()},
        {"groupName": "wide", "replicas": 2, "numOfHosts": 4, "template": template()},
    ],
}
RAY_PODS = [("head", 1), ("small", 3), ("wide", 8)]
REPLICATED = [{"name": "Leader", "replicas": 1}, {"name": "w", "replicas": 3}]
JOB_SET: Json = {
    "replicatedJobs": [
        {**entry, "template": {"spec": {"parallelism": 4, "completions": 2, "template": template()}}}
        for entry in REPLICATED
    ]
}
KINDS: dict[str, tuple[str, Json, list[tuple[str, int]]]] = {
    "a Job has as many pods as run at once": ("Job", {"parallelism": 4, "template": template()}, [("main", 4)]),
    "a Job needs no more pods than it has to complete": (
        "Job",
        {"parallelism": 4, "completions": 3, "template": template()},
        [("main", 3)],
    ),
    "a Job of one pod": ("Job", {"template": template()}, [("main", 1)]),
    "a JobSet": ("JobSet", JOB_SET, [("leader", 2), ("w", 6)]),
    "a PyTorchJob, in Kueue's order": (
        "PyTorchJob",
        {"pytorchReplicaSpecs": replicas(Worker=4, Master=None)},
        [("master", 1), ("worker", 4)],
    ),
    "a TFJob": (
        "TFJob",
        {"tfReplicaSpecs": replicas(Evaluator=1, Worker=2, PS=3, Chief=1)},
        [("chief", 1), ("ps", 3), ("worker", 2), ("evaluator", 1)],
    ),
    "an XGBoostJob": ("XGBoostJob", {"xgbReplicaSpecs": replicas(Worker=2)}, [("worker", 2)]),
    "a PaddleJob": ("PaddleJob", {"paddleReplicaSpecs": replicas(Master=1)}, [("master", 1)]),
    "a JAXJob": ("JAXJob", {"jaxReplicaSpecs": replicas(Worker=2)}, [("worker", 2)]),
    "an MPIJob": ("MPIJob", {"mpiReplicaSpecs": replicas(Worker=2, Launcher=1)}, [("launcher", 1), ("worker", 2)]),
    "a RayCluster": ("RayCluster", RAY, RAY_PODS),
    "a RayService": ("RayService", {"rayClusterConfig": RAY}, RAY_PODS),
    "a RayJob has a submitter beside its cluster": ("RayJob", {"rayClusterSpec": RAY}, [*RAY_PODS, ("submitter", 1)]),
    "a RayJob that is submitted over HTTP has none": (
        "RayJob",
        {"rayClusterSpec": RAY, "submissionMode": "HTTPMode"},
        RAY_PODS,
    ),
    "a StatefulSet": ("StatefulSet", {"replicas": 3, "template": template()}, [("main", 3)]),
    "a Pod": ("Pod", template()["spec"], [("main", 1)]),
}


@pytest.mark.parametrize(("kind", "spec", "pods"), KINDS.values(), ids=KINDS)
def test_pods(kind: str, spec: Json, pods: list[tuple[str, int]]) -> None:
    found = pod_sets_of({"kind": kind, "metadata": {"name": "x"}, "spec": spec})
    assert [(each["name"], each["count"]) for each in found] == pods
    assert all(each["template"]["spec"]["containers"] for each in found)


def test_a_submitter_beside_the_head_counts_with_the_head() -> None:
    found = pod_sets_of({"kind": "RayJob", "spec": {"rayClusterSpec": RAY, "submissionMode": "SidecarMode"}})
    assert [each["name"] for each in found] == ["head", "small", "wide"]
    head = found[0]["template"]["spec"]["containers"]
    assert [container["resources"]["requests"]["cpu"] for container in head] == ["2", "500m"]
    assert len(RAY["headGroupSpec"]["template"]["spec"]["containers"]) == 1, "the manifest stays as it is"


def test_partial_admission_and_topology_are_taken_from_annotations() -> None:
    wanted = {**template(), "metadata": {"annotations": {"kueue.x-k8s.io/podset-required-topology": "rack"}}}
    annotations = {"kueue.x-k8s.io/job-min-parallelism": "2"}
    raw = {"kind": "Job", "metadata": {"annotations": annotations}, "spec": {"parallelism": 5, "template": wanted}}
    (found,) = pod_sets_of(raw)
    assert (found["minCount"], found["topologyRequest"]) == (2, {"required": "rack"})


REFUSED: dict[str, tuple[Json, str]] = {
    "no spec": ({"kind": "Job"}, "spec is missing: must be a map"),
    "no pod template": ({"kind": "Job", "spec": {"parallelism": 1}}, "spec.template is missing: must be a map"),
    "a template without a pod": ({"kind": "Job", "spec": {"template": {"metadata": {}}}}, "spec.template.spec"),
    "a spec that is no map": ({"kind": "Job", "spec": [1]}, "spec is not allowed: must be a map"),
    "an invalid number of pods": (
        {"kind": "Job", "spec": {"parallelism": "4", "template": template()}},
        "spec.parallelism is '4': must be a number from 0 to 1000000",
    ),
    "too many pods": (
        {"kind": "Job", "spec": {"parallelism": 10**9, "template": template()}},
        "spec.parallelism is 1000000000: must be a number from 0 to 1000000",
    ),
    "too many pods by multiplication": (
        {
            "kind": "JobSet",
            "spec": {
                "replicatedJobs": [
                    {
                        "name": "a",
                        "replicas": 10**6,
                        "template": {"spec": {"parallelism": 10**6, "template": template()}},
                    }
                ]
            },
        },
        "asks for 1000000000000 pods: must be at most 1000000",
    ),
    "no pods at all": ({"kind": "Job", "spec": {"parallelism": 0, "template": template()}}, "the job has no pods"),
    "groups that are no list": (
        {"kind": "JobSet", "spec": {"replicatedJobs": {}}},
        "spec.replicatedJobs is not allowed: must be a list",
    ),
    "a kind whose pods are told elsewhere": ({"kind": "TrainJob", "spec": {}}, "its training runtime describes them"),
    "a kind that is not known": ({"kind": "Notebook", "spec": {}}, "kind Notebook is not known: must be Workload or"),
    "a cluster that sizes itself": (
        {"kind": "RayCluster", "spec": {**RAY, "enableInTreeAutoscaling": True}},
        "spec.enableInTreeAutoscaling",
    ),
    "one pod of a group": (
        {"kind": "Pod", "metadata": {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}, "spec": template()["spec"]},
        "a group of pods is planned by its Workload",
    ),
}


@pytest.mark.parametrize(("raw", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_by_the_name_of_the_field(raw: Json, message: str) -> None:
    with pytest.raises(ManifestFieldError) as refused:
        pod_sets_of(raw)
    assert message in str(refused.value)


def test_the_priority_class_is_that_of_the_policy_else_of_the_first_pods_that_name_one() -> None:
    specs = {
        "Master": {"template": template()},
        "Worker": {"template": template(priorityClassName="high")},
    }
    raw: Json = {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": specs}}
    assert priority_class_of(raw, pod_sets_of(raw)) == "high"
    raw["spec"]["runPolicy"] = {"schedulingPolicy": {"priorityClass": "higher"}}
    assert priority_class_of(raw, pod_sets_of(raw)) == "higher"
    assert priority_class_of({}, []) == ""
