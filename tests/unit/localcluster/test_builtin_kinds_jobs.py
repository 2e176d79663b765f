"""batch/v1 Job: the generated selector, what may change while it is suspended, and honest status transitions."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.meta import Obj
from tests.unit.localcluster.writing import find_kind, write

TIME = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:03:20Z"
UID = "11111111-2222-3333-4444-555555555555"


def job(**spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"template": template, **spec},
    }


def created(**spec: Any) -> Obj:
    outcome = write(find_kind("Job"), job(**spec))
    assert outcome.complaints == []
    return outcome.obj


def test_a_new_job_selects_its_pods_by_uid() -> None:
    spec = created()["spec"]

    assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert spec["template"]["metadata"]["labels"] == {
        "job-name": "j",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": UID,
        "batch.kubernetes.io/controller-uid": UID,
    }
    assert (spec["parallelism"], spec["completions"], spec["backoffLimit"], spec["suspend"]) == (1, 1, 6, False)


def test_a_work_queue_job_has_no_number_of_completions() -> None:
    assert "completions" not in created(parallelism=3)["spec"]


def patched(base: Obj, path: str, value: object) -> Obj:
    changed = deepcopy(base)
    *parents, last = path.split(".")
    part: Any = changed
    for step in parents:
        part = part[int(step)] if step.isdigit() else part.setdefault(step, {})
    part[last] = value
    return changed


def is_suspended(job: Obj) -> Obj:
    return {"type": "Suspended", "status": "True", "lastTransitionTime": TIME, **job}


CONTAINER = "spec.template.spec.containers.0"
UPDATE_CASES: dict[str, tuple[Obj, Obj, str, object, list[str]]] = {
    "parallelism may change": ({}, {}, "spec.parallelism", 4, []),
    "completions may not": ({}, {}, "spec.completions", 4, ["spec.completions"]),
    "managedBy may not": ({}, {}, "spec.managedBy", "example.com/other", ["spec.managedBy"]),
    "the image may not, even while suspended": ({"suspend": True}, {}, f"{CONTAINER}.image", "i:2", ["spec.template"]),
    "a running job keeps its node selector": ({}, {}, "spec.template.spec.nodeSelector", {"a": "b"}, ["spec.template"]),
    "a suspended job that never started is placed again": (
        {"suspend": True},
        {},
        "spec.template.spec.nodeSelector",
        {"a": "b"},
        [],
    ),
    "a suspended job gets other resources": (
        {"suspend": True},
        {},
        f"{CONTAINER}.resources",
        {"requests": {"cpu": "2"}},
        [],
    ),
    "a started job that is not known to be stopped is frozen": (
        {"suspend": True},
        {"startTime": TIME},
        "spec.template.spec.nodeSelector",
        {"a": "b"},
        ["spec.template"],
    ),
    "a started job with the Suspended condition is placed again": (
        {"suspend": True},
        {"startTime": TIME, "conditions": [is_suspended({})]},
        "spec.template.spec.nodeSelector",
        {"a": "b"},
        [],
    ),
    "not while pods are active": (
        {"suspend": True},
        {"startTime": TIME, "active": 1, "conditions": [is_suspended({})]},
        "spec.template.spec.nodeSelector",
        {"a": "b"},
        ["spec.template"],
    ),
    "an indexed job scales both numbers": (
        {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
        {},
        "spec.completions",
        3,
        ["spec.completions"],
    ),
}


@pytest.mark.parametrize(("spec", "status", "path", "value", "want"), UPDATE_CASES.values(), ids=UPDATE_CASES.keys())
def test_updates(spec: Obj, status: Obj, path: str, value: object, want: list[str]) -> None:
    old = {**created(managedBy="kueue.x-k8s.io/multikueue", **spec), "status": status}

    outcome = write(find_kind("Job"), patched(old, path, value), old)

    assert [error.field for error in outcome.errors] == want


def condition(*kinds: str) -> list[Obj]:
    return [{"type": kind, "status": "True", "lastTransitionTime": TIME} for kind in kinds]


COMPLETE = {"startTime": TIME, "completionTime": LATER, "conditions": condition("SuccessCriteriaMet", "Complete")}
STATUS_CASES: dict[str, tuple[Obj, Obj, list[str]]] = {
    "pods start": ({}, {"startTime": TIME, "active": 1, "ready": 1}, []),
    "completion, all in one write": ({}, {**COMPLETE, "succeeded": 1}, []),
    "completion without its proof": (
        {},
        {"conditions": condition("Complete")},
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs",
            "status.conditions: Invalid value: cannot set Complete=True condition without the "
            "SuccessCriteriaMet=true condition",
            "status.startTime: Required value: startTime is required for finished job",
        ],
    ),
    "failure without its cause": (
        {},
        {"startTime": TIME, "conditions": condition("Failed")},
        ["status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition"],
    ),
    "more ready than active": (
        {},
        {"active": 1, "ready": 2},
        ["status.ready: Invalid value: 2: cannot set more ready pods than active"],
    ),
    "active pods of a finished job": (
        {},
        {**COMPLETE, "active": 1},
        ["status.active: Invalid value: 1: active>0 is invalid for finished job"],
    ),
    "completed before it started": (
        {},
        {**COMPLETE, "startTime": "2026-01-02T00:00:00Z"},
        [f'status.completionTime: Invalid value: "{LATER}": must be equal to or after `startTime`'],
    ),
    "a finished job stays finished": (
        COMPLETE,
        {"startTime": TIME},
        [
            "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
            "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
        ],
    ),
    "counters do not go back": (
        {"failed": 2},
        {"failed": 1},
        ["status.failed: Invalid value: 1: cannot decrease the failed counter"],
    ),
    "a running job keeps its start": (
        {"startTime": TIME},
        {"startTime": LATER},
        [f'status.startTime: Invalid value: "{LATER}": field is immutable for unsuspended job once set'],
    ),
}


@pytest.mark.parametrize(("before", "after", "want"), STATUS_CASES.values(), ids=STATUS_CASES.keys())
def test_status_transitions(before: Obj, after: Obj, want: list[str]) -> None:
    old = {**created(), "status": before}

    outcome = write(find_kind("Job"), {**old, "status": after}, old, status=True)

    assert outcome.complaints == want


def test_a_suspended_job_loses_its_start() -> None:
    old = {**created(suspend=True), "status": {"startTime": TIME}}

    assert write(find_kind("Job"), {**old, "status": {}}, old, status=True).complaints == []


COLUMN_CASES: dict[str, tuple[Obj, tuple[str, str, object]]] = {
    "a new job": ({}, ("Running", "0/1", None)),
    "a running job shows since when": ({"startTime": TIME}, ("Running", "0/1", TIME)),
    "a complete job shows how long it took": ({**COMPLETE, "succeeded": 1}, ("Complete", "1/1", "3m20s")),
    "a suspended job": ({"conditions": condition("Suspended")}, ("Suspended", "0/1", None)),
}


@pytest.mark.parametrize(("status", "want"), COLUMN_CASES.values(), ids=COLUMN_CASES.keys())
def test_columns(status: Obj, want: tuple[str, str, object]) -> None:
    shown = {**created(), "status": status}

    assert tuple(column.value(shown) for column in find_kind("Job").columns[:3]) == want
