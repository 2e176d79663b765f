"""Variants that a worker's Kueue makes of our replicas: they bear our marks, and they are not ours."""

from typing import TYPE_CHECKING, Any

from config.api.identifiers import ClusterUID
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.assembly.assembling import Snapshot, WorkerFacts, assemble
from gates.assembly.gate_support import is_concurrent
from gates.assembly.job_plans import HubJobs
from gates.model import marks
from gates.model.identity import Authorship
from gates.model.marks import HubIdentity
from gates.model.view import Reach
from gates.upkeep.garbage import orphans
from gates.wire.record_readers import hub_record, replica_record
from tests.support.worker_names import W1

if TYPE_CHECKING:
    from gates.wire.records import ReplicaRecord

US = HubIdentity("origin", ClusterUID("hub"))


def remote(name: str = "wl", owner: dict[str, Any] | None = None, *gates: str, parent: bool = False) -> Any:
    labels = {marks.CONCURRENT_PARENT: "true"} if parent else {}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "uid": f"{name}-uid",
        "resourceVersion": "1",
        "labels": {ORIGIN_LABEL: "origin", **labels},
        "annotations": {marks.HUB: "hub", marks.HUB_UID: "hub-uid"},
        "ownerReferences": [owner] if owner else [],
    }
    spec = {"podSets": [], "preemptionGates": [{"name": gate} for gate in (MULTIKUEUE_NAME, *gates)]}
    return {"metadata": metadata, "spec": spec}


PARENT = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "wl", "uid": "wl-uid", "controller": True}
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job-uid", "controller": True}
VARIANT = remote("wl-variant", PARENT, marks.CONCURRENT_GATE)


def test_fault_17_a_variant_is_no_orphan() -> None:
    found = [replica_record(VARIANT), replica_record(remote("gone"))]
    names = [o.name for o in orphans(Authorship(W1), found, [], US, lambda *_: False, lambda *_: False)]
    assert names == ["gone"]


def test_fault_17_a_variant_is_never_taken_for_the_replica() -> None:
    raw = {"metadata": {"name": "wl-variant", "namespace": "ns", "uid": "hub-uid", "resourceVersion": "1"}}
    facts = WorkerFacts(W1, 0, Reach.SYNCED, replica=replica_record(VARIANT))
    snapshot = Snapshot(hub_record(raw), frozenset(), HubJobs(), (facts,))
    (worker,) = assemble(snapshot, US, MULTIKUEUE_NAME, "now").workers
    assert worker.replica is None
    assert not worker.stale_uid


def test_fault_17_concurrent_admission_is_recognised() -> None:
    def concurrent(raw: Any) -> bool:
        record: ReplicaRecord = replica_record(raw)
        return is_concurrent(record)

    assert concurrent(VARIANT)
    assert concurrent(remote(parent=True))
    assert not concurrent(remote(owner=JOB))
