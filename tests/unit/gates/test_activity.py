"""The condition Active of checks and clusters, gate support, and orphans."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import ClusterUID, WorkerName
from config.api.meta import Condition
from config.names import MULTIKUEUE_NAME
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.gate_support import GRACE_NS, judge_replica
from gates.jobs.kinds import SHIPPED
from gates.jobs.records import JobRecord, job_reader
from gates.model import marks
from gates.model.activity import (
    ConfigRecord,
    Health,
    check_health,
    check_record,
    cluster_record,
    config_record,
    new_condition,
)
from gates.model.identity import Authorship
from gates.model.marks import HubIdentity
from gates.model.settings import SECOND
from gates.model.view import GateSupport
from gates.upkeep.garbage import Orphan, Sightings, orphans
from gates.wire.record_readers import replica_record
from gates.wire.records import ReplicaRecord
from tests.support.clusters import workload
from tests.support.worker_names import W1

NOW = 1_800_000_000 * SECOND
UP = Health(is_active=True, reason="Active", message="Connected")
DOWN = Health(is_active=False, reason="ClientConnectionFailed", message="refused")
US = HubIdentity("origin", ClusterUID("hub"))


def check(**spec: Any) -> Any:
    metadata = {"name": "mk", "uid": "u", "resourceVersion": "1", "generation": 2}
    return check_record({"metadata": metadata, "spec": {"controllerName": "c", **spec}})


PARAMETERS = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "conf"}
CHECKS = {
    "everybody is there": (PARAMETERS, ("a", "b"), (True, "Active", "The admission check is active")),
    "one is missing and one is away": (
        PARAMETERS,
        ("a", "x", "y", "c"),
        (True, "SomeActiveClusters", "Missing clusters: [x y], Inactive clusters: [c]"),
    ),
    "no cluster can be used": (PARAMETERS, ("c",), (False, "NoUsableClusters", "Inactive clusters: [c]")),
    "no parameters": (
        None,
        ("a",),
        (False, "BadConfig", "Cannot load the AdmissionChecks parameters: missing parameters reference"),
    ),
    "parameters of another kind": (
        {**PARAMETERS, "kind": "ProvisioningRequestConfig"},
        ("a",),
        (False, "BadConfig", "Cannot load the AdmissionChecks parameters: bad parameters reference"),
    ),
    "parameters without a name": (
        {**PARAMETERS, "name": ""},
        ("a",),
        (False, "BadConfig", "Cannot load the AdmissionChecks parameters: bad parameters reference"),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_103_check_health(name: str) -> None:
    parameters, clusters, want = CHECKS[name]
    record = check(**({"parameters": parameters} if parameters else {}))
    got = check_health(
        record,
        ConfigRecord("conf", tuple(map(WorkerName, clusters))),
        {WorkerName("a"): UP, WorkerName("b"): UP, WorkerName("c"): DOWN},
    )
    assert (got.is_active, got.reason, got.message) == want


def test_103_a_config_that_does_not_exist() -> None:
    got = check_health(check(parameters=PARAMETERS), None, {})
    assert got.message.endswith('multikueueconfigs.kueue.x-k8s.io "conf" not found')


def test_a_condition_is_written_only_if_it_says_something_else() -> None:
    present = Condition("Active", "True", "Active", "Connected", NOW - SECOND, 1)
    assert new_condition(present, UP, 2, NOW) is None
    reworded = new_condition(present, replace(UP, message="Connected; but"), 2, NOW)
    assert reworded is not None
    assert reworded.last_transition_ns == present.last_transition_ns
    turned = new_condition(present, DOWN, 2, NOW)
    assert turned is not None
    assert (turned.status, turned.last_transition_ns, turned.observed_generation) == ("False", NOW, 2)
    assert new_condition(None, UP, 2, NOW) is not None


def test_clusters_and_configs_are_read() -> None:
    metadata = {"name": "w1", "uid": "u", "resourceVersion": "1", "generation": 4}
    source = {"kubeConfig": {"location": "/etc/x", "locationType": "Path"}}
    record = cluster_record({"metadata": metadata, "spec": {"clusterSource": source}})
    assert (record.location, record.location_type, record.profile) == ("/etc/x", "Path", "")
    profile = cluster_record({"metadata": metadata, "spec": {"clusterSource": {"clusterProfileRef": {"name": "p"}}}})
    assert profile.profile == "p"
    assert config_record({"metadata": {"name": "c"}, "spec": {"clusters": ["b", "a"]}}).clusters == ("b", "a")


def replica(*, born_gated: bool = True, gates: list[str] | None = None, **status: Any) -> ReplicaRecord:
    raw = workload("wl", "ns")
    raw["metadata"] |= {
        "uid": "ru",
        "resourceVersion": "3",
        "labels": {"kueue.x-k8s.io/multikueue-origin": "origin"},
        "annotations": {marks.HUB: "hub", marks.HUB_UID: "hu"} | ({marks.GATED: "true"} if born_gated else {}),
    }
    raw["spec"]["preemptionGates"] = [{"name": name} for name in (gates or [])]
    raw["status"] = status
    return replica_record(raw)


ENTRY = {"name": MULTIKUEUE_NAME, "position": "Closed", "lastTransitionTime": "2027-01-15T08:00:00Z"}
SIGNAL = {"type": "BlockedOnPreemptionGates", "status": "True", "reason": "PreemptionGated"}
OURS = [MULTIKUEUE_NAME]
SUPPORT = {
    "a status entry": (replica(gates=OURS, preemptionGates=[ENTRY]), 0, GateSupport.HONOURED),
    "a signal": (replica(gates=OURS, conditions=[SIGNAL]), 0, GateSupport.HONOURED),
    "the gate was pruned": (replica(), 0, GateSupport.MISSING),
    "it never had a gate": (replica(born_gated=False), GRACE_NS + 1, GateSupport.UNKNOWN),
    "no entry yet": (replica(gates=OURS), GRACE_NS, GateSupport.UNKNOWN),
    "no entry for too long": (replica(gates=OURS), GRACE_NS + 1, GateSupport.MISSING),
}


@pytest.mark.parametrize("name", SUPPORT)
def test_90_gate_support_is_judged_by_a_replica(name: str) -> None:
    record, age_ns, want = SUPPORT[name]
    assert judge_replica(record, GateDialect.KUEUE, age_ns) is want


JOB = next(kind for kind in SHIPPED if kind.kind == "Job")


def remote_job(name: str, workload_name: str, origin: str = "origin", hub: str = "hub") -> JobRecord:
    labels = {"kueue.x-k8s.io/multikueue-origin": origin, "kueue.x-k8s.io/prebuilt-workload-name": workload_name}
    metadata = {"name": name, "namespace": "ns", "uid": f"{name}-uid", "resourceVersion": "1", "labels": labels}
    return job_reader(JOB)({"metadata": {**metadata, "annotations": {marks.HUB: hub, marks.HUB_UID: "hj"}}, "spec": {}})


def test_104_orphans_are_ours_and_without_a_hub_workload() -> None:
    jobs = [
        (JOB.gvk, remote_job("left", "gone")),
        (JOB.gvk, remote_job("kept", "wl")),
        (JOB.gvk, remote_job("foreign", "gone", origin="other")),
        (JOB.gvk, remote_job("twin", "gone", hub="other")),
        (JOB.gvk, remote_job("nameless", "")),
    ]

    def lives(_namespace: str, name: str, uid: str) -> bool:
        return name == "wl" and uid in ("", "hu")

    found = list(orphans(Authorship(W1), [replica()], jobs, US, lives, lambda _kind, _job: False))
    assert [orphan.name for orphan in found] == ["left", "nameless"]
    found = list(orphans(Authorship(W1), [replica()], [], US, lambda *_: False, lambda *_: True))
    assert [(orphan.kind, orphan.name) for orphan in found] == [("", "wl")]


def test_104_an_orphan_must_be_seen_twice_an_interval_apart() -> None:
    orphan = Orphan(W1, "", "ns", "wl", "u", "wl")
    sightings = Sightings()
    assert sightings.ripe([orphan], NOW, 60) == []
    assert sightings.ripe([orphan], NOW + 59, 60) == []
    assert sightings.ripe([], NOW + 60, 60) == []
    assert sightings.ripe([orphan], NOW + 120, 60) == []
    assert sightings.ripe([orphan], NOW + 180, 60) == [orphan]
