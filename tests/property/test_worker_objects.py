"""Whatever a cluster sends as a Workload or a job: it is read, or refused with one sentence, and holds up no other.

Objects go the way of the cache: a reader makes a value or `Unreadable` of each, the values make the view, the view the
decision. A worker with odd objects must not change what is seen of another one, nor keep its journal from being read.
"""

import copy
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.api.identifiers import ClusterUID, WorkerName
from config.api.meta import ObjectKey
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from engine.vocabulary.gate_dialect import GateDialect
from gates.assembly.assembling import Snapshot, WorkerFacts, assemble
from gates.assembly.gate_support import evidence_of, is_concurrent
from gates.assembly.job_plans import HubJobs, job_context
from gates.decision.decide import decide
from gates.decision.gate_evidence import Findings, Moment, weighed
from gates.jobs.belonging import RemoteJob
from gates.jobs.copying import PREBUILT
from gates.jobs.kinds import SHIPPED, JobKind
from gates.jobs.records import JobRecord, job_reader
from gates.jobs.status import has_ended
from gates.jobs.syncing import sync_member
from gates.model import marks
from gates.model.dialect import gate_opened_ns
from gates.model.marks import HubIdentity
from gates.model.settings import SECOND, Settings, UngatedPolicy
from gates.model.view import Reach, WorkloadView
from gates.reports.explaining import explain
from gates.reports.hub_state import HubReason, HubState
from gates.reports.recording import dumps, loads
from gates.wire.patches import deactivation_patch, finalizer_patch, gate_opening_patch
from gates.wire.record_readers import hub_record, replica_record
from gates.wire.records import HubRecord, ReplicaRecord
from gates.wire.replicas import spec_update
from manager.base.kinds import WORKLOADS, api_kind
from tests.property.odd_worker_objects import ANY, ANY_OBJECT, Obj, mutated
from workerclient.objects.cache import Unreadable
from workerclient.objects.watched import WatchedKind
from workerclient.wire.codec import Identity

US = HubIdentity("origin-1", ClusterUID("hub-1"))
NOW_NS = 1_800_000_000 * SECOND
NOW = "2027-01-15T08:00:00Z"
EARLIER = "2027-01-15T07:50:00Z"
IDENTITY = Identity(ObjectKey("ns", "wl"), "replica-uid", "5")


def workload(**metadata: Any) -> Obj:
    """Return a Workload with everything in it that is read anywhere."""
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "namespace": "ns",
            "name": "wl",
            "uid": "replica-uid",
            "resourceVersion": "5",
            "generation": 1,
            "creationTimestamp": EARLIER,
            "finalizers": [marks.FINALIZER],
            "managedFields": [{"manager": MULTIKUEUE_NAME, "time": EARLIER}],
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "job-uid", "controller": True}
            ],
            **metadata,
        },
        "spec": {
            "queueName": "main",
            "priority": 5,
            "priorityClassRef": {"name": "high"},
            "preemptionGates": [{"name": MULTIKUEUE_NAME}, {"name": "other"}],
            "podSets": [
                {"name": "main", "count": 3, "template": {"spec": {"containers": [{"name": "c"}]}}},
                {"name": "gpu", "count": 2, "template": {}},
            ],
        },
        "status": {
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": EARLIER}
                for kind, status, reason in (
                    ("QuotaReserved", "True", "QuotaReserved"),
                    ("Admitted", "False", "NoReservation"),
                    ("BlockedOnPreemptionGates", "True", "PreemptionGated"),
                    ("Evicted", "False", "Preempted"),
                    ("Finished", "False", "Succeeded"),
                )
            ],
            "admission": {
                "clusterQueue": "cq",
                "podSetAssignments": [
                    {"name": "main", "count": 3, "topologyAssignment": {"levels": ["l"]}},
                    {"name": "gpu", "count": 2, "delayedTopologyRequest": "Pending"},
                ],
            },
            "preemptionGates": [
                {"name": MULTIKUEUE_NAME, "position": "Open", "lastTransitionTime": EARLIER},
                {"name": "other", "position": "Closed", "lastTransitionTime": EARLIER},
            ],
            "admissionChecks": [{"name": "mk", "state": "Pending", "message": "m", "retryCount": 1}],
            "clusterName": "",
            "nominatedClusterNames": ["evil", "good"],
        },
    }


OUR_MARKS = {marks.HUB: US.hub, marks.HUB_UID: "hub-uid", marks.GATED: "true", marks.SPEC_DIGEST: "d"}
REPLICA = workload(labels={ORIGIN_LABEL: US.origin}, annotations=OUR_MARKS)
HUB = workload(
    uid="hub-uid",
    labels={"kueue.x-k8s.io/job-uid": "job-uid"},
    annotations={
        marks.GATE_OPENINGS: '[{"cluster":"evil","replicaUID":"replica-uid","openedAtUnixNano":"1"}]',
        marks.WINNER: '{"cluster":"good","replicaUID":"r","quotaReservedAtUnixNano":"1"}',
        marks.ROUND_STARTED: "17",
        marks.OUT_OF_SYNC: '{"evil":{"count":1,"replicaUID":"r"}}',
        marks.COMPONENT_INDEX: "0",
    },
)
_CONDITIONS = [
    {"type": kind, "status": "False", "reason": "r", "message": "m", "lastTransitionTime": EARLIER}
    for kind in ("Complete", "Suspended", "PodScheduled", "Failed")
]


def job(kind: JobKind, *, elastic: bool = True) -> Obj:
    """Return a job of a kind as a worker holds it, with everything in it that is read anywhere."""
    annotations = {marks.HUB: US.hub, marks.HUB_UID: "job-uid", PREBUILT: "wl"}
    spec: Obj = {
        "suspend": False,
        "parallelism": 3,
        "completions": 3,
        "replicas": 2,
        "schedulingGates": [{"name": "g"}],
        "managedBy": MULTIKUEUE_NAME,
        "runPolicy": {"managedBy": MULTIKUEUE_NAME},
        "serveConfigV2": "a: 1",
        "enableInTreeAutoscaling": False,
        "workerGroupSpecs": [
            {"groupName": "main", "replicas": 3, "numOfHosts": 1, "minReplicas": 1},
            {"groupName": "gpu", "replicas": 1, "numOfHosts": 2},
        ],
    }
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "namespace": "ns",
            "name": "job",
            "uid": "job-uid-there",
            "resourceVersion": "5",
            "labels": {ORIGIN_LABEL: US.origin, PREBUILT: "wl", kind.grouped_by or "l": "group"},
            "annotations": {**annotations, **({marks.ELASTIC: "true"} if elastic else {})},
            "creationTimestamp": EARLIER,
        },
        "spec": spec,
        "status": {"conditions": _CONDITIONS, "active": 1, "ready": 1, "startTime": EARLIER, "phase": "Running"},
    }


def read_replica(raw: Any) -> ReplicaRecord | Unreadable:
    return WatchedKind(WORKLOADS, replica_record).read(IDENTITY, raw)


def read_job(kind: JobKind, raw: Any) -> JobRecord | Unreadable:
    return WatchedKind(api_kind(kind), job_reader(kind)).read(IDENTITY, raw)


def hub_state(kind: JobKind, *, state: str, admitted_on: str = "") -> tuple[HubRecord, HubJobs]:
    raw = copy.deepcopy(HUB)
    raw["status"]["admissionChecks"][0]["state"] = state
    raw["status"]["clusterName"] = admitted_on
    raw["metadata"]["ownerReferences"][0] |= {"apiVersion": kind.api_version, "kind": kind.kind}
    original = job(kind)
    original["metadata"] |= {"uid": "job-uid"}
    return hub_record(raw), HubJobs(kind, members=(job_reader(kind, on_hub=True)(original),))


def good_worker(kind: JobKind) -> WorkerFacts:
    raw = copy.deepcopy(REPLICA)
    raw["metadata"]["uid"] = "good-uid"
    raw["status"]["conditions"][1] |= {"status": "True", "reason": "Admitted"}
    replica, remote = read_replica(raw), read_job(kind, job(kind))
    assert isinstance(replica, ReplicaRecord)
    assert isinstance(remote, JobRecord)
    return WorkerFacts(WorkerName("good"), 1, Reach.SYNCED, replica=replica, jobs=(RemoteJob(kind, remote),))


def evil_worker(
    kind: JobKind, replica: ReplicaRecord | Unreadable, remote: JobRecord | Unreadable, dialect: GateDialect
) -> WorkerFacts:
    """Return what a snapshot makes of the objects of one worker."""
    odd = [each for each in (replica, remote) if isinstance(each, Unreadable)]
    if odd:
        return WorkerFacts(WorkerName("evil"), 0, Reach.UNREADABLE, problem=odd[0].problem)
    assert isinstance(replica, ReplicaRecord)
    assert isinstance(remote, JobRecord)
    jobs = (RemoteJob(kind, remote),)
    return WorkerFacts(WorkerName("evil"), 0, Reach.SYNCED, dialect=dialect, replica=replica, jobs=jobs)


def check_look(snapshot: Snapshot, kind: JobKind) -> WorkloadView:
    """Everything that a look makes of a snapshot, up to what the journal keeps of it."""
    group = assemble(snapshot, US, MULTIKUEUE_NAME, NOW)
    for policy in UngatedPolicy:
        decision = decide(group, NOW_NS, Settings(), {WorkerName("evil"): policy})
        explain(group, HubState(HubReason.ON_WORKERS), decision, {}, NOW_NS, Settings())
        assert loads(type(decision), dumps(decision)) == decision
    assert loads(WorkloadView, dumps(group)) == group
    assert kind.kind
    return group


def check_parts(hub: HubRecord, jobs: HubJobs, replica: ReplicaRecord, remote: JobRecord) -> None:
    """What is asked of the objects of a worker beside the view."""
    for dialect in GateDialect:
        evidence = evidence_of(replica, dialect, NOW_NS - replica.created_ns)
        weighed(Findings(), evidence, Moment(NOW_NS, 0), "ns/wl")
        gate_opening_patch(replica, dialect, NOW_NS)
    is_concurrent(replica)
    spec_update(hub, replica)
    deactivation_patch(replica, "m", NOW_NS)
    if marks.FINALIZER in replica.finalizers:
        finalizer_patch(replica)
    has_ended(jobs.kind, remote.body)
    assert jobs.kind is not None
    sync_member(jobs.kind, jobs.members[0], remote, job_context(hub, NOW))


by_kind = pytest.mark.parametrize("kind", SHIPPED, ids=lambda kind: kind.integration)


@by_kind
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_F8_mutated_objects_of_one_worker_hold_up_no_workload(kind: JobKind, data: st.DataObject) -> None:
    replica = read_replica(data.draw(mutated(REPLICA), "replica"))
    remote = read_job(kind, data.draw(mutated(job(kind, elastic=data.draw(st.booleans()))), "job"))
    state = data.draw(st.sampled_from(["Pending", "Ready", "Retry"]))
    hub, jobs = hub_state(kind, state=state, admitted_on=data.draw(st.sampled_from(["", "good", "evil"])))
    evil = evil_worker(kind, replica, remote, data.draw(st.sampled_from(GateDialect)))
    checks = frozenset({"mk"})
    group = check_look(Snapshot(hub, checks, jobs, (evil, good_worker(kind))), kind)
    alone = assemble(Snapshot(hub, checks, jobs, (good_worker(kind),)), US, MULTIKUEUE_NAME, NOW)
    assert group.worker(WorkerName("good")) == alone.worker(WorkerName("good"))
    if isinstance(replica, ReplicaRecord) and isinstance(remote, JobRecord):
        check_parts(hub, jobs, replica, remote)


@settings(max_examples=300, deadline=None)
@given(ANY_OBJECT, st.sampled_from(SHIPPED), st.booleans())
def test_F8_any_json_is_read_or_refused_by_a_value_error(raw: Obj, kind: JobKind, on_hub: bool) -> None:
    for read in (replica_record, hub_record, job_reader(kind, on_hub=on_hub)):
        with suppress(ValueError):
            read(raw)


@settings(max_examples=200, deadline=None)
@given(ANY)
def test_F8_json_that_is_no_object_is_refused_by_a_value_error(raw: Any) -> None:
    for read in (replica_record, hub_record, job_reader(SHIPPED[0])):
        if not isinstance(raw, dict):
            with pytest.raises(ValueError, match="must be a map"):
                read(raw)


@settings(max_examples=400, deadline=None)
@given(mutated(HUB), st.data())
def test_F8_a_mutated_hub_workload_is_read_or_refused_by_a_value_error(raw: Obj, data: st.DataObject) -> None:
    try:
        hub = hub_record(raw)
    except ValueError as error:
        assert str(error)  # noqa: PT017 - either outcome is right; only another type of error is not
        return
    kind = data.draw(st.sampled_from(SHIPPED))
    jobs = HubJobs(kind, members=(job_reader(kind, on_hub=True)(job(kind)),))
    check_look(Snapshot(hub, frozenset({"mk"}), jobs, (good_worker(kind),)), kind)


@by_kind
def test_F8_what_is_mutated_is_in_order_to_begin_with(kind: JobKind) -> None:
    replica, remote = read_replica(REPLICA), read_job(kind, job(kind))
    assert isinstance(replica, ReplicaRecord)
    assert isinstance(remote, JobRecord)
    assert gate_opened_ns(replica.gates, GateDialect.KUEUE) is not None
    hub, jobs = hub_state(kind, state="Pending")
    group = check_look(
        Snapshot(hub, frozenset({"mk"}), jobs, (evil_worker(kind, replica, remote, GateDialect.KUEUE),)), kind
    )
    assert group.worker(WorkerName("evil")) is not None
    assert group.workers[0].reach is Reach.SYNCED
