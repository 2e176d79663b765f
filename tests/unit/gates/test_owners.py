"""Which owner says how to run a Workload."""

from typing import Any

import pytest

from gates.model import marks
from gates.wire.record_readers import hub_record

LWS = "leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet"
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "1"}
SET = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "set", "uid": "2", "controller": True}


@pytest.mark.parametrize(
    ("gvk", "name", "owners", "want"),
    [
        pytest.param(None, None, [], None, id="none"),
        pytest.param(None, None, [JOB], "job", id="the only one"),
        pytest.param(None, None, [JOB, SET], "set", id="the one that controls it"),
        pytest.param(LWS, "lws", [JOB], "lws", id="the annotations before references"),
        pytest.param(LWS, "", [JOB], "job", id="annotations without a name do not count"),
        pytest.param("x/v1, Kind=X", "x", [JOB], "job", id="annotations of a kind that is not taken do not count"),
        pytest.param("nonsense", "x", [JOB], "job", id="annotations that are malformed do not count"),
    ],
)
def test_29_the_owner(gvk: str | None, name: str | None, owners: list[Any], want: str | None) -> None:
    given = {marks.JOB_OWNER_GVK: gvk, marks.JOB_OWNER_NAME: name}
    annotations = {key: value for key, value in given.items() if value is not None}
    metadata = {"name": "wl", "uid": "u", "resourceVersion": "1", "annotations": annotations, "ownerReferences": owners}
    owner = hub_record({"metadata": metadata}, {LWS}).owner
    assert (owner.name if owner else None) == want
