"""Actions as patches: exactly our fields, everything else untouched."""

from copy import deepcopy
from typing import Any

import pytest

from config.api.identifiers import NO_WORKER, ClusterUID, ReplicaUID
from engine.vocabulary.gate_dialect import GateDialect
from gates.model import marks
from gates.model.actions import PatchHubStatus, RecordOpenings, RecordOutOfSync, StartRound
from gates.model.hub_workload import CheckState
from gates.model.marks import HubIdentity
from gates.model.openings import Opening
from gates.model.settings import SECOND
from gates.model.view import OutOfSync
from gates.wire.annotations import parse_openings
from gates.wire.patches import deactivation_patch, finalizer_patch, gate_opening_patch, hub_annotation, hub_status_patch
from gates.wire.record_readers import hub_record, replica_record
from gates.wire.replicas import replica_of, spec_update
from localcluster.store.patch import json_patch
from tests.support.clusters import workload
from tests.support.worker_names import W1

NOW = 1_800_000_000 * SECOND
STAMP = "2027-01-15T08:00:00Z"
US = HubIdentity("origin", ClusterUID("hub-uid"))
OTHER = {"name": "other", "state": "Ready", "message": "theirs", "lastTransitionTime": "2026-01-01T00:00:00Z"}
OURS = {"name": "mk", "state": "Pending", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
RESERVED = {"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def hub(**status: Any) -> dict[str, Any]:
    raw = workload("wl", "ns")
    raw["metadata"] |= {"uid": "u", "resourceVersion": "7", "generation": 3}
    raw["status"] = {"admissionChecks": [OTHER, OURS], "conditions": [RESERVED], **status}
    return raw


def after(raw: dict[str, Any], operations: list[dict[str, Any]]) -> dict[str, Any]:
    patched: dict[str, Any] = json_patch(deepcopy(raw), operations)
    return patched


def test_a_state_change_moves_its_transition_time_and_no_other() -> None:
    raw = hub(nominatedClusterNames=["w1", "w2"])
    action = PatchHubStatus(check_state=CheckState.READY, check_message="won", cluster_name=W1, nominated=())
    status = after(raw, hub_status_patch(hub_record(raw), "mk", action, NOW))["status"]
    assert status["admissionChecks"] == [
        OTHER,
        {"name": "mk", "state": "Ready", "message": "won", "lastTransitionTime": STAMP},
    ]
    assert status["clusterName"] == "w1"
    assert "nominatedClusterNames" not in status
    assert status["conditions"] == [RESERVED]


def test_an_empty_cluster_name_takes_it_away() -> None:
    raw = hub(clusterName="w1")
    operations = hub_status_patch(hub_record(raw), "mk", PatchHubStatus(cluster_name=NO_WORKER), NOW)
    assert "clusterName" not in after(raw, operations)["status"]
    bare = hub()
    assert hub_status_patch(hub_record(bare), "mk", PatchHubStatus(cluster_name=NO_WORKER), NOW) == []


def test_a_message_alone_leaves_the_transition_time() -> None:
    raw = hub()
    patched = after(raw, hub_status_patch(hub_record(raw), "mk", PatchHubStatus(check_message="waiting"), NOW))
    assert patched["status"]["admissionChecks"][1] == {**OURS, "message": "waiting"}


def test_what_stands_there_already_is_no_patch() -> None:
    raw = hub()
    action = PatchHubStatus(check_state=CheckState.PENDING, check_message="", nominated=())
    assert hub_status_patch(hub_record(raw), "mk", action, NOW) == []


def test_finished_is_added_beside_the_other_conditions() -> None:
    raw = hub()
    operations = hub_status_patch(hub_record(raw), "mk", PatchHubStatus(finished=("Succeeded", "done")), NOW)
    finished = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "done",
        "lastTransitionTime": STAMP,
        "observedGeneration": 3,
    }
    assert after(raw, operations)["status"]["conditions"] == [RESERVED, finished]


def test_only_waiting_pod_sets_are_told_about_their_topology() -> None:
    assignments = [{"name": "a", "delayedTopologyRequest": "Pending"}, {"name": "b"}]
    raw = hub(admission={"clusterQueue": "cq", "podSetAssignments": assignments})
    patched = after(raw, hub_status_patch(hub_record(raw), "mk", PatchHubStatus(topology_ready=True), NOW))
    assert patched["status"]["admission"]["podSetAssignments"] == [
        {"name": "a", "delayedTopologyRequest": "Ready"},
        {"name": "b"},
    ]


@pytest.mark.parametrize(
    "action",
    [
        RecordOpenings((Opening(W1, ReplicaUID("u1"), 5),)),
        StartRound(NOW),
        RecordOutOfSync(((W1, OutOfSync(2, ReplicaUID("u1"))),)),
    ],
    ids=lambda action: type(action).__name__,
)
def test_records_are_read_back_as_they_were_written(action: Any) -> None:
    raw = hub()
    raw["metadata"]["annotations"] = hub_annotation(action)
    record = hub_record(raw)
    match action:
        case RecordOpenings():
            assert record.openings == action.openings
            assert parse_openings(raw["metadata"]["annotations"][marks.GATE_OPENINGS]) == action.openings
        case StartRound():
            assert record.round_started_ns == NOW
        case _:
            assert dict(record.out_of_sync) == dict(action.clusters)


def replica(**status: Any) -> dict[str, Any]:
    raw: dict[str, Any] = replica_of(hub_record(hub()), US, gated=True)
    raw["metadata"] |= {"uid": "ru", "resourceVersion": "3", "generation": 1, "finalizers": ["x/y", marks.FINALIZER]}
    raw["status"] = status
    return raw


OTHERS_GATE = {"name": "a/b", "position": "Closed", "lastTransitionTime": STAMP}
CLOSED = {"name": "kueue.x-k8s.io/multikueue", "position": "Closed", "lastTransitionTime": "2026-01-01T00:00:00Z"}
OPEN = {**CLOSED, "position": "Open", "lastTransitionTime": STAMP}


@pytest.mark.parametrize(
    ("entries", "want"),
    [
        ([], [OPEN]),
        ([CLOSED], [OPEN]),
        ([OTHERS_GATE], [OTHERS_GATE, OPEN]),
        ([OTHERS_GATE, CLOSED], [OTHERS_GATE, OPEN]),
    ],
    ids=["no entry", "closed", "only another's", "both"],
)
def test_opening_touches_our_gate_alone(entries: list[Any], want: list[Any]) -> None:
    raw = replica(**({"preemptionGates": entries} if entries else {}))
    operations = gate_opening_patch(replica_record(raw), GateDialect.KUEUE, NOW)
    assert after(raw, operations)["status"]["preemptionGates"] == want


def test_the_keps_dialect_has_its_own_field() -> None:
    raw = replica()
    patched = after(raw, gate_opening_patch(replica_record(raw), GateDialect.KEP, NOW))
    assert patched["status"]["preemptionGates"][0]["state"] == "Open"


def test_deactivation_and_finalizer() -> None:
    raw = replica(conditions=[RESERVED])
    record = replica_record(raw)
    conditions = after(raw, deactivation_patch(record, "Evicted on manager: x", NOW))["status"]["conditions"]
    assert [c["type"] for c in conditions] == ["QuotaReserved", "DeactivationTarget"]
    assert after(raw, finalizer_patch(record))["metadata"]["finalizers"] == ["x/y"]


def test_a_replica_carries_nothing_of_the_hubs_cluster() -> None:
    raw = hub()
    raw["metadata"] |= {
        "labels": {marks.JOB_UID: "u", "team": "a"},
        "annotations": {"note": "n", marks.GATE_OPENINGS: "[]"},
        "ownerReferences": [{"kind": "Job"}],
        "finalizers": ["x/y"],
    }
    raw["metadata"]["ownerReferences"][0] |= {"apiVersion": "batch/v1", "name": "j", "uid": "u"}
    raw["spec"]["preemptionGates"] = [{"name": "hub/own"}]
    made = replica_of(hub_record(raw), US, gated=False)
    assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations"}
    assert made["metadata"]["labels"] == {"team": "a", "kueue.x-k8s.io/multikueue-origin": "origin"}
    assert marks.GATE_OPENINGS not in made["metadata"]["annotations"]
    assert made["metadata"]["annotations"]["note"] == "n"
    assert "preemptionGates" not in made["spec"]


def test_priority_and_counts_are_brought_in_line() -> None:
    raw = hub()
    raw["spec"] |= {"priority": 9, "priorityClassRef": {"group": "g", "kind": "k", "name": "n"}}
    wanted = hub_record(raw)
    present = replica()
    present["spec"] |= {"priority": 1}
    present["spec"]["podSets"][0]["count"] = 4
    patched = after(present, spec_update(wanted, replica_record(present)))
    assert patched["spec"]["priority"] == 9
    assert patched["spec"]["priorityClassRef"]["name"] == "n"
    assert patched["spec"]["podSets"][0]["count"] == 1
    assert patched["spec"]["preemptionGates"] == present["spec"]["preemptionGates"]


DAMAGES = {
    "no JSON": (marks.GATE_OPENINGS, "{"),
    "another shape": (marks.GATE_OPENINGS, '{"cluster": "w1"}'),
    "an endless number": (marks.GATE_OPENINGS, '[{"cluster": "w", "replicaUID": "u", "openedAtUnixNano": Infinity}]'),
    "no time": (marks.GATE_OPENINGS, '[{"cluster": "w", "replicaUID": "u", "openedAtUnixNano": "-1"}]'),
    "beyond all times": (
        marks.GATE_OPENINGS,
        '[{"cluster": "w", "replicaUID": "u", "openedAtUnixNano": "9223372036854775808"}]',
    ),
    "an invalid steady clock": (
        marks.GATE_OPENINGS,
        '[{"cluster": "w", "replicaUID": "u", "openedAtUnixNano": "1", "steady": 7}]',
    ),
    "deep": (marks.GATE_OPENINGS, "[" * 100_000),
    "winner": (marks.WINNER, '{"cluster": "w", "replicaUID": "u", "quotaReservedAtUnixNano": Infinity}'),
    "round": (marks.ROUND_STARTED, "soon"),
    "counts": (marks.OUT_OF_SYNC, "[1]"),
    "a count below none": (marks.OUT_OF_SYNC, '{"w": {"count": -7, "replicaUID": "u"}}'),
    "forecast": (marks.FORECAST, "[" * 100_000),
}


@pytest.mark.parametrize(("annotation", "text"), DAMAGES.values(), ids=DAMAGES)
def test_F13_a_damaged_record_is_named_and_the_rest_of_the_workload_is_read(annotation: str, text: str) -> None:
    raw = hub()
    raw["metadata"]["annotations"] = {annotation: text}
    record = hub_record(raw)
    assert list(record.unreadable) == [annotation]
    assert f"annotation {annotation} is " in record.unreadable[annotation]
    assert ": expected " in record.unreadable[annotation]
    assert len(record.unreadable[annotation]) < 300
    assert record.uid == raw["metadata"]["uid"]
