"""Which jobs on a worker are a Workload's, which are foreign, and which go with it."""

from dataclasses import replace
from typing import Any

import pytest

from config.api.identifiers import ClusterUID
from config.api.meta import Condition
from gates.jobs.belonging import Claim, RemoteJob, foreign_jobs, is_ours, jobs_to_remove, own_jobs, wants_job
from gates.jobs.copying import remote_job
from gates.jobs.kinds import SHIPPED
from gates.jobs.records import job_reader
from gates.model import marks
from gates.model.identity import Authorship
from gates.model.marks import HubIdentity
from gates.wire.record_readers import hub_record
from gates.wire.records import HubRecord
from tests.support.worker_names import W1, W2

US = HubIdentity("origin-1", ClusterUID("hub-1"))
HERE = Authorship(W1)
OTHERS = HubIdentity("origin-1", ClusterUID("hub-2"))
BY_KIND = {kind.kind: kind for kind in SHIPPED}


def copy(
    kind: str = "Job",
    name: str = "train",
    workload: str = "wl",
    by: HubIdentity = US,
    elastic: str = "",
    labels: dict[str, str] | None = None,
) -> RemoteJob:
    metadata = {
        "name": name,
        "namespace": "ns",
        "uid": "hub-job",
        "labels": labels or {},
        "annotations": {marks.ELASTIC: elastic} if elastic else {},
    }
    made = remote_job(BY_KIND[kind], {"metadata": metadata, "spec": {}}, workload, by)
    made["metadata"] |= {"uid": f"{name}-{workload}", "resourceVersion": "1"}
    return RemoteJob(BY_KIND[kind], job_reader(BY_KIND[kind])(made))


def claim(kind: str = "Job", workload: str = "wl", *names: str) -> Claim:
    return Claim("ns", workload, BY_KIND[kind], frozenset(names or ("train",)))


BELONGS: dict[str, tuple[Claim, RemoteJob, bool]] = {
    "it names the Workload": (claim(), copy(), True),
    "it names another one": (claim(workload="other"), copy(), False),
    "it names the Workload and is called otherwise": (claim(), copy(name="old"), True),
    "another slice of the same job runs in it": (
        claim(workload="second"),
        copy(workload="first", elastic="true"),
        True,
    ),
    "a slice of another job": (claim("Job", "second", "else"), copy(workload="first", elastic="true"), False),
    "one LeaderWorkerSet for all its Workloads": (claim("LeaderWorkerSet", "wl-1"), copy("LeaderWorkerSet"), True),
    "another LeaderWorkerSet": (claim("LeaderWorkerSet", "wl-1", "else"), copy("LeaderWorkerSet"), False),
    "another kind of that name": (claim("LeaderWorkerSet", "wl-1"), copy("StatefulSet"), False),
    "another hub's": (claim(), copy(by=OTHERS), False),
    "another hub's, shared": (claim("LeaderWorkerSet", "wl-1"), copy("LeaderWorkerSet", by=OTHERS), False),
    "a set whose user wrote the name of a Workload on it": (
        claim("Job", "wl", "else"),
        copy("StatefulSet", labels={"kueue.x-k8s.io/prebuilt-workload-name": "wl"}),
        False,
    ),
}


@pytest.mark.parametrize(("asking", "job", "want"), BELONGS.values(), ids=BELONGS.keys())
def test_F5_F9_a_job_belongs_to_its_workload(asking: Claim, job: RemoteJob, *, want: bool) -> None:
    assert own_jobs(asking, [job, job], US, HERE) == ((job,) if want else ())


def test_F9_a_job_without_the_uid_of_the_hubs_job_is_not_ours() -> None:
    job = copy()
    assert is_ours(job.record, US, HERE)
    assert not is_ours(replace(job.record, hub_uid=""), US, HERE)


def test_F9_only_what_is_in_the_way_counts_as_foreign() -> None:
    ours, theirs, elsewhere = copy(), copy(by=OTHERS), copy(name="else", by=OTHERS)
    assert foreign_jobs(claim(), [ours, theirs, elsewhere], US, HERE) == (theirs,)


def test_F4_a_job_that_another_workers_name_wrote_is_in_the_way() -> None:
    job = replace(copy(), record=replace(copy().record, cluster=W2))
    assert own_jobs(claim(), [job], US, HERE) == ()
    assert foreign_jobs(claim(), [job], US, HERE) == (job,)
    assert own_jobs(claim(), [job], US, Authorship(W1, is_proven=True)) == (job,)


def sibling(*, quota: bool = True, finished: bool = False, check: str = "Ready", **fields: Any) -> HubRecord:
    raw = {"metadata": {"name": "s", "namespace": "ns", "uid": "s", "resourceVersion": "1"}, "spec": {}, "status": {}}
    given = {"QuotaReserved": quota, "Finished": finished}
    conditions = {t: Condition(t, "True", "", "", 0) for t, is_set in given.items() if is_set}
    record = replace(hub_record(raw), conditions=conditions)
    if check:
        entry = {"name": "mk", "state": check}
        record = replace(record, checks=hub_record({**raw, "status": {"admissionChecks": [entry]}}).checks)
    return replace(record, **fields)


WANTS: dict[str, tuple[HubRecord, bool, bool]] = {
    "it runs there": (sibling(cluster_name="w1"), False, True),
    "it runs elsewhere": (sibling(cluster_name="w2"), True, False),
    "it may win there": (sibling(check="Pending"), True, True),
    "it is not there": (sibling(check="Pending"), False, False),
    "it is about to replace the slice that runs there": (sibling(elastic=True, replaces_slice=True), False, True),
    "it has no quota": (sibling(quota=False, cluster_name="w1"), True, False),
    "it is over": (sibling(finished=True, cluster_name="w1"), True, False),
    "it is being deleted": (sibling(deleted=True, cluster_name="w1"), True, False),
    "it is rejected": (sibling(check="Rejected", cluster_name="w1"), True, False),
    "it is not ours to place": (sibling(check="", cluster_name="w1"), True, False),
}


@pytest.mark.parametrize(("who", "holds", "want"), WANTS.values(), ids=WANTS.keys())
def test_F5_who_still_wants_a_job(who: HubRecord, *, holds: bool, want: bool) -> None:
    assert wants_job(who, W1, frozenset({"mk"}), holds_replica=holds) is want


def test_F5_a_shared_job_that_is_wanted_stays_and_everything_else_goes() -> None:
    shared, sliced, own = copy("LeaderWorkerSet"), copy(name="sliced", elastic="true"), copy(name="own")
    assert jobs_to_remove([shared, sliced, own], {shared.record.uid, own.record.uid}) == (sliced, own)
