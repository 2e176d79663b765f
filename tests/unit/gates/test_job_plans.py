"""What is to be done about which job is decided with the rest, and carried by the action."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from config.api.identifiers import ClusterUID, ReplicaUID
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates.assembly.assembling import Snapshot, WorkerFacts, assemble
from gates.assembly.job_plans import HubJobs
from gates.decision.decide import decide
from gates.jobs.belonging import RemoteJob
from gates.jobs.kinds import SHIPPED
from gates.jobs.records import JobRecord, job_reader
from gates.model import marks
from gates.model.actions import Decision, RemoveRemote, Step, SyncJob
from gates.model.identity import Authorship
from gates.model.job_plan import JobOperation, ObjectVersion, PlannedJob, RemovedJob
from gates.model.marks import HubIdentity
from gates.model.rules import Rule
from gates.model.settings import SECOND, Settings
from gates.model.view import Reach
from gates.reports.recording import dumps, loads
from gates.wire.record_readers import hub_record, replica_record
from gates.wire.records import HubRecord, ReplicaRecord
from tests.support.worker_names import W1

JOB_SET = next(kind for kind in SHIPPED if kind.kind == "JobSet")
US = HubIdentity("origin", ClusterUID("hub"))
SINCE = "2027-01-15T07:50:00Z"
NOW, NOW_NS = "2027-01-15T08:00:00Z", 1_800_000_000 * SECOND
HERE, THERE = ObjectVersion("job-uid", "7"), ObjectVersion("there-uid", "3")


def conditions(*kinds: str) -> list[dict[str, str]]:
    return [{"type": k, "status": "True", "reason": k, "message": "m", "lastTransitionTime": SINCE} for k in kinds]


def workload(uid: str, *true: str, **more: Any) -> dict[str, Any]:
    metadata = {"namespace": "ns", "name": "wl", "uid": uid, "resourceVersion": "1", **more}
    checks = [{"name": "mk", "state": "Ready", "message": ""}]
    status = {"conditions": conditions(*true), "admissionChecks": checks, "clusterName": "w1"}
    return {"metadata": metadata, "spec": {"podSets": [{"name": "main", "count": 1}]}, "status": status}


def hub() -> HubRecord:
    owner = {"apiVersion": JOB_SET.api_version, "kind": "JobSet", "name": "j", "uid": "job-uid", "controller": True}
    return hub_record(workload("hub-uid", "QuotaReserved", ownerReferences=[owner]))


def replica(*true: str) -> ReplicaRecord:
    written = {marks.HUB: "hub", marks.HUB_UID: "hub-uid"}
    return replica_record(workload("r", *true, labels={ORIGIN_LABEL: "origin"}, annotations=written))


def hub_job(**status: Any) -> JobRecord:
    metadata = {"namespace": "ns", "name": "j", "uid": HERE.uid, "resourceVersion": HERE.resource_version}
    raw = {"metadata": metadata, "spec": {"managedBy": MULTIKUEUE_NAME}, "status": status}
    return job_reader(JOB_SET, on_hub=True)(raw)


def remote(made_for: str = HERE.uid, **status: Any) -> JobRecord:
    metadata = {
        "namespace": "ns",
        "name": "j",
        "uid": THERE.uid,
        "resourceVersion": THERE.resource_version,
        "labels": {ORIGIN_LABEL: "origin"},
        "annotations": {marks.HUB: "hub", marks.HUB_UID: made_for},
    }
    return job_reader(JOB_SET)({"metadata": metadata, "spec": {}, "status": status})


def synchronised(on_worker: ReplicaRecord, *jobs: JobRecord, settled: PlannedJob | None = None) -> list[SyncJob]:
    known = {THERE.uid: settled} if settled is not None else {}
    there = tuple(RemoteJob(JOB_SET, job) for job in jobs)
    facts = WorkerFacts(W1, 0, Reach.SYNCED, replica=on_worker, jobs=there, settled_jobs=known)
    snapshot = Snapshot(hub(), frozenset({"mk"}), HubJobs(JOB_SET, members=(hub_job(),)), (facts,))
    decision = decide(assemble(snapshot, US, MULTIKUEUE_NAME, NOW), NOW_NS, Settings(), {})
    return [action for action in decision.actions if isinstance(action, SyncJob)]


RUNS, OVER = replica("QuotaReserved", "Admitted"), replica("QuotaReserved", "Admitted", "Finished")
COPY = PlannedJob("j", HERE, THERE, (JobOperation.COPY_STATUS,))


@pytest.mark.parametrize(
    ("on_worker", "jobs", "final", "plan"),
    [
        pytest.param(RUNS, (), False, PlannedJob("j", HERE, None, (JobOperation.CREATE,)), id="no job yet"),
        pytest.param(
            RUNS,
            (remote("earlier-uid"),),
            False,
            PlannedJob("j", HERE, THERE, (JobOperation.REPLACE,)),
            id="a job of an earlier one",
        ),
        pytest.param(RUNS, (remote(phase="Running"),), False, COPY, id="another status"),
        pytest.param(OVER, (remote(),), True, COPY, id="over, and its last status may not be known yet"),
        pytest.param(OVER, (), False, PlannedJob("j", HERE, None, (JobOperation.VERIFY_ABSENCE,)), id="over, no job"),
    ],
)
def test_the_action_says_what_is_done_to_which_version(
    on_worker: ReplicaRecord, jobs: tuple[JobRecord, ...], final: bool, plan: PlannedJob
) -> None:
    (action,) = synchronised(on_worker, *jobs)
    assert (action.final, action.plan) == (final, (plan,))


def test_a_job_in_line_or_one_that_does_not_keep_what_it_is_sent_is_not_planned_for() -> None:
    assert synchronised(RUNS, remote()) == []
    assert synchronised(RUNS, remote(phase="Running"), settled=COPY) == []
    assert synchronised(replica("QuotaReserved", "Evicted")) == []


def test_a_plan_is_recorded_and_a_recording_without_one_is_the_same_decision() -> None:
    decision = Decision(Rule.WINNER_FOLLOWED, (Step((SyncJob(W1, plan=(COPY,)),)),))
    written = dumps(decision)
    (action,) = loads(Decision, written).actions
    assert action.plan == (COPY,)
    older = orjson.loads(written)
    del older["steps"][0]["actions"][0]["plan"]
    assert loads(Decision, orjson.dumps(older)) == decision


def test_a_removal_names_the_jobs_that_go_and_no_others() -> None:
    leaving = replace(remote(), name="leaving", uid="leaving-uid", deleted=True)
    shared = replace(remote(), name="shared", uid="shared-uid", elastic=True)
    there = tuple(RemoteJob(JOB_SET, job) for job in (remote(), leaving, shared))
    facts = WorkerFacts(
        W1, 0, Reach.SYNCED, replica=RUNS, jobs=there, wanted_jobs=frozenset({shared.uid}), authorship=Authorship(W1)
    )
    snapshot = Snapshot(hub(), frozenset({"mk"}), HubJobs(JOB_SET), (facts,), departed=True)
    decision = decide(assemble(snapshot, US, MULTIKUEUE_NAME, NOW), NOW_NS, Settings(), {})
    wanted = RemoveRemote(W1, ReplicaUID("r"), (RemovedJob(JOB_SET.gvk, "j", THERE.uid),))
    assert decision.actions == (wanted,)
    assert loads(Decision, dumps(decision)) == decision


def test_a_removal_that_an_earlier_version_recorded_names_no_jobs() -> None:
    steps = [{"actions": [{"is": "RemoveRemote", "cluster": "w1", "replica_uid": "r"}]}]
    recorded = {"rule": "workload-deleted", "steps": steps}
    found = loads(Decision, orjson.dumps(recorded))
    assert found.actions == (RemoveRemote(W1, ReplicaUID("r")),)
