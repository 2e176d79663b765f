"""How jobs travel: what is copied to a worker, what comes back and when."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.identifiers import ClusterUID
from gates.jobs.copying import manager_of, named_workload, remote_job
from gates.jobs.kinds import SHIPPED, JobKind, StatusSync
from gates.jobs.records import job_reader
from gates.jobs.status import hub_status, stopped_status
from gates.model import marks
from gates.model.marks import HubIdentity
from gates.model.view import JobSync

US = HubIdentity("origin-1", ClusterUID("hub-1"))
NOW = "2027-01-15T08:00:00Z"
BY_KIND = {kind.kind: kind for kind in SHIPPED}
JOB = BY_KIND["Job"]


def hub_job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "ns",
            "uid": "job-uid",
            "resourceVersion": "9",
            "labels": {"kueue.x-k8s.io/queue-name": "q"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"},
            "ownerReferences": [{"kind": "Workflow", "name": "w", "uid": "u", "apiVersion": "x/v1"}],
            "finalizers": ["x/y"],
        },
        "spec": {
            "managedBy": "kueue.x-k8s.io/multikueue",
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "job-uid"}},
            "template": {
                "metadata": {"labels": {"batch.kubernetes.io/job-name": "train", "app": "t"}},
                "spec": {"containers": []},
            },
            **spec,
        },
    }


def test_a_copy_holds_only_what_belongs_to_the_worker() -> None:
    original = hub_job(parallelism=3)
    before = deepcopy(original)
    assert remote_job(JOB, original, "wl", US) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "ns",
            "labels": {
                "kueue.x-k8s.io/queue-name": "q",
                "kueue.x-k8s.io/multikueue-origin": "origin-1",
                "kueue.x-k8s.io/prebuilt-workload-name": "wl",
            },
            "annotations": {
                "team": "a",
                "multikueue-turnstile.dev/hub": "hub-1",
                "multikueue-turnstile.dev/hub-uid": "job-uid",
                "kueue.x-k8s.io/prebuilt-workload-name": "wl",
            },
        },
        "spec": {
            "parallelism": 3,
            "template": {"metadata": {"labels": {"app": "t"}}, "spec": {"containers": []}},
        },
    }
    assert original == before


def test_a_name_too_long_for_a_label_travels_in_the_annotation_alone() -> None:
    name = "w" * 64
    copy = remote_job(JOB, hub_job(), name, US)
    assert "kueue.x-k8s.io/prebuilt-workload-name" not in copy["metadata"]["labels"]
    assert named_workload(copy) == name


def test_a_kind_with_several_workloads_is_found_by_its_origins_uid() -> None:
    copy = remote_job(BY_KIND["LeaderWorkerSet"], hub_job(), "wl", US)
    assert copy["metadata"]["annotations"]["kueue.x-k8s.io/multikueue-origin-uid"] == "job-uid"
    assert named_workload(copy) == ""


@pytest.mark.parametrize(
    ("kind", "spec", "want"),
    [
        ("Job", {"managedBy": "a"}, "a"),
        ("PyTorchJob", {"runPolicy": {"managedBy": "b"}}, "b"),
        ("PyTorchJob", {"runPolicy": "garbage"}, ""),
        ("Pod", {"managedBy": "c"}, ""),
    ],
)
def test_a_job_names_its_manager_where_its_kind_says(kind: str, spec: dict[str, Any], want: str) -> None:
    assert manager_of(BY_KIND[kind], {"spec": spec}) == want


@pytest.mark.parametrize(
    ("identity", "want"),
    [
        (US, True),
        (HubIdentity("origin-2", ClusterUID("hub-1")), False),
        (HubIdentity("origin-1", ClusterUID("hub-2")), False),
        (HubIdentity("", ClusterUID("hub-1")), False),
    ],
)
def test_ours_is_what_names_our_origin_and_our_hub(identity: HubIdentity, want: bool) -> None:
    metadata = remote_job(JOB, hub_job(), "wl", US)["metadata"]
    assert identity.owns(marks.origin_of(metadata), marks.hub_of(metadata)) is want


def with_status(job: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {**job, "status": status}


SUSPENDED = {"type": "Suspended", "status": "True"}
BATCH = {
    "45 hub runs: the status is copied": (
        hub_job(suspend=False),
        with_status(hub_job(suspend=False), active=1),
        (JobSync.COPY_STATUS, {"active": 1}),
    ),
    "both suspended: the draining status is copied": (
        hub_job(suspend=True),
        with_status(hub_job(suspend=True), active=0),
        (JobSync.COPY_STATUS, {"active": 0}),
    ),
    "45 hub suspended, remote runs: wait": (
        with_status(hub_job(suspend=True), conditions=[SUSPENDED]),
        with_status(hub_job(suspend=False), active=1),
        (JobSync.DEFERRED, {"conditions": [SUSPENDED]}),
    ),
    "hub runs, remote was stopped: wait, a running job keeps its start time": (
        with_status(hub_job(suspend=False), active=1, startTime=NOW),
        with_status(hub_job(suspend=True), active=0),
        (JobSync.DEFERRED, {"active": 1, "startTime": NOW}),
    ),
    "hub runs, remote ended: the end is copied": (
        with_status(hub_job(suspend=False), active=1, startTime=NOW),
        with_status(hub_job(), conditions=[{"type": "Failed", "status": "True"}]),
        (JobSync.COPY_STATUS, {"conditions": [{"type": "Failed", "status": "True"}]}),
    ),
    "hub suspended, remote ended: the end is copied": (
        hub_job(suspend=True),
        with_status(hub_job(), conditions=[{"type": "Complete", "status": "True"}]),
        (JobSync.COPY_STATUS, {"conditions": [{"type": "Complete", "status": "True"}]}),
    ),
    "hub runs, remote was started again: the hub's start time cannot change": (
        with_status(hub_job(suspend=False), active=1, startTime="2026-01-01T12:00:00Z"),
        with_status(hub_job(suspend=False), active=2, startTime="2026-01-01T12:05:00Z"),
        (JobSync.COPY_STATUS, {"active": 2, "startTime": "2026-01-01T12:00:00Z"}),
    ),
    "hub runs, remote started and ended by a clock that is behind: it does not end before its start": (
        with_status(hub_job(suspend=False), startTime="2026-01-01T12:00:00Z"),
        with_status(hub_job(), startTime="2026-01-01T11:00:00Z", completionTime="2026-01-01T11:30:00Z"),
        (JobSync.COPY_STATUS, {"startTime": "2026-01-01T12:00:00Z", "completionTime": "2026-01-01T12:00:00Z"}),
    ),
    "nothing changed: nothing is written": (
        with_status(hub_job(), active=1),
        with_status(hub_job(), active=1),
        (JobSync.NONE, {"active": 1}),
    ),
}


@pytest.mark.parametrize(("hub", "remote", "want"), BATCH.values(), ids=BATCH.keys())
def test_a_batch_jobs_status(hub: dict[str, Any], remote: dict[str, Any], want: object) -> None:
    assert hub_status(JOB, hub, remote, NOW) == want


SUSPENDED_NOW = {
    **SUSPENDED,
    "reason": "MultiKueueAdapter",
    "message": "Set by MultiKueue adapter",
    "lastTransitionTime": NOW,
    "lastProbeTime": NOW,
}
STOPPED = {
    "it runs and was told to stop: it stops": (
        with_status(hub_job(suspend=True), active=2, ready=1, failed=1, startTime=NOW),
        {"failed": 1, "conditions": [SUSPENDED_NOW]},
    ),
    "it was not told to stop: not yet": (with_status(hub_job(suspend=False), active=1), None),
    "it does not run": (with_status(hub_job(suspend=True), failed=1), None),
    "it is over": (
        with_status(hub_job(suspend=True), active=1, conditions=[{"type": "Complete", "status": "True"}]),
        None,
    ),
}


@pytest.mark.parametrize(("hub", "want"), STOPPED.values(), ids=STOPPED.keys())
def test_a_batch_job_that_runs_nowhere(hub: dict[str, Any], want: dict[str, Any] | None) -> None:
    assert stopped_status(JOB, hub, NOW) == want


def test_a_job_of_another_kind_that_runs_nowhere_is_as_if_new() -> None:
    kinds = {kind.kind: kind for kind in SHIPPED}
    assert stopped_status(kinds["JobSet"], {"status": {"restarts": 1}}, NOW) == {}
    assert stopped_status(kinds["JobSet"], {"status": {}}, NOW) is None
    assert stopped_status(kinds["StatefulSet"], {"status": {"replicas": 1}}, NOW) is None
    assert stopped_status(kinds["Pod"], {"status": {"phase": "Running"}}, NOW) is None


def test_a_suspended_hub_job_gets_the_condition_that_keeps_its_spec_mutable() -> None:
    sync, status = hub_status(JOB, hub_job(suspend=True), with_status(hub_job(suspend=False), active=1), NOW)
    assert sync is JobSync.COPY_STATUS
    assert [(c["type"], c["status"], c["reason"]) for c in status["conditions"]] == [
        ("Suspended", "True", "MultiKueueAdapter")
    ]
    again, _ = hub_status(JOB, with_status(hub_job(suspend=True), **status), hub_job(suspend=False), NOW)
    assert again is JobSync.DEFERRED


GATED = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
SCHEDULED = {"type": "PodScheduled", "status": "True"}


@pytest.mark.parametrize(("remote", "want"), [(UNSCHEDULABLE, GATED), (SCHEDULED, SCHEDULED)])
def test_110_a_gated_hub_pod_never_looks_unschedulable(remote: dict[str, Any], want: dict[str, Any]) -> None:
    hub = {"metadata": {}, "spec": {"schedulingGates": [{"name": "g"}]}, "status": {"conditions": [GATED]}}
    _, status = hub_status(BY_KIND["Pod"], hub, {"status": {"phase": "Pending", "conditions": [remote]}}, NOW)
    assert status == {"phase": "Pending", "conditions": [want]}


def test_a_kind_whose_hub_controller_owns_the_status_gets_none() -> None:
    assert hub_status(BY_KIND["StatefulSet"], {}, {"status": {"replicas": 1}}, NOW) == (JobSync.NONE, {})


def test_a_platforms_own_kind_needs_only_a_row() -> None:
    own = JobKind("acme.example", "v1", "Render", "renders", ("spec", "controlledBy"))
    assert own.status is StatusSync.WHOLE
    copy = remote_job(own, {**hub_job(), "spec": {"controlledBy": "us", "frames": 3}}, "wl", US)
    assert copy["spec"] == {"frames": 3}
    assert hub_status(own, {}, {"status": {"done": 1}}, NOW) == (JobSync.COPY_STATUS, {"done": 1})
    assert hub_status(own, {"status": {"done": 1}}, {}, NOW) == (JobSync.NONE, {"done": 1})


def test_F8_a_status_that_could_not_be_written_to_the_hub_is_refused() -> None:
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    raw = {"metadata": {"name": "j", "uid": "u", "resourceVersion": "1"}, "status": {"odd": deep}}
    for kind in SHIPPED:
        with pytest.raises(ValueError, match="status cannot be stored as JSON"):
            job_reader(kind)(raw)


@pytest.mark.parametrize("name", ["Job", "JobSet", "RayJob", "PyTorchJob", "MPIJob"])
def test_a_worker_does_not_delete_a_job_before_its_end_was_mirrored(name: str) -> None:
    is_nested = BY_KIND[name].group == "kubeflow.org"
    original = hub_job(
        **({"runPolicy": {"ttlSecondsAfterFinished": 5}} if is_nested else {"ttlSecondsAfterFinished": 5})
    )
    copy = remote_job(BY_KIND[name], original, "wl", US)
    assert "ttlSecondsAfterFinished" not in copy["spec"]
    assert "ttlSecondsAfterFinished" not in copy["spec"].get("runPolicy", {})
