"""What the hub did not keep of what it was sent is named by its field."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from config.api.identifiers import NO_WORKER
from gates.model.actions import PatchHubStatus
from gates.model.hub_workload import CheckState
from gates.wire.kept import missing_annotation, missing_status
from gates.wire.record_readers import hub_record
from tests.support.worker_names import W1, W2

if TYPE_CHECKING:
    from gates.wire.records import HubRecord

CHECK = "mk"
STORED = hub_record(
    {
        "metadata": {"namespace": "ns", "name": "wl", "uid": "u", "resourceVersion": "1"},
        "spec": {"podSets": [{"name": "main"}]},
        "status": {
            "admissionChecks": [{"name": CHECK, "state": "Pending", "message": "waits", "lastTransitionTime": ""}],
            "nominatedClusterNames": ["w1"],
            "admission": {
                "clusterQueue": "cq",
                "podSetAssignments": [{"name": "main", "delayedTopologyRequest": "Pending"}],
            },
        },
    }
)


def test_an_annotation_that_was_changed_or_removed_is_named() -> None:
    assert missing_annotation({"a": "1"}, {"a": "1", "b": "2"}) == ""
    assert missing_annotation({"a": "1", "b": "2"}, {"a": "1"}) == "b"
    assert missing_annotation({"a": "1"}, {"a": "2"}) == "a"


PATCHES = {
    "all of it": (PatchHubStatus(check_state=CheckState.PENDING, check_message="waits", nominated=(W1,)), ""),
    "the state": (PatchHubStatus(check_state=CheckState.READY), "status.admissionChecks[].state"),
    "the message": (PatchHubStatus(check_message="runs"), "status.admissionChecks[].message"),
    "the cluster": (PatchHubStatus(cluster_name=W1), "status.clusterName"),
    "the nominations": (PatchHubStatus(nominated=(W1, W2)), "status.nominatedClusterNames"),
    "the topology": (
        PatchHubStatus(topology_ready=True),
        "status.admission.podSetAssignments[].delayedTopologyRequest",
    ),
}


@pytest.mark.parametrize(("patch", "field"), PATCHES.values(), ids=PATCHES)
def test_the_first_field_that_is_not_as_written_is_named(patch: PatchHubStatus, field: str) -> None:
    assert missing_status(STORED, CHECK, patch) == field


def test_a_recorded_cluster_cannot_be_changed_so_that_another_name_is_as_written() -> None:
    placed: HubRecord = replace(STORED, cluster_name=W1)
    assert missing_status(placed, CHECK, PatchHubStatus(cluster_name=W2)) == ""
    assert missing_status(placed, CHECK, PatchHubStatus(cluster_name=NO_WORKER)) == "status.clusterName"
