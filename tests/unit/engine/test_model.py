"""The cluster model: what makes a ClusterQueue inactive, what is kept of objects, and what is not an object for it."""

import pytest

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.objects.workloads import AdmittedWorkload, IdleWorkload, PendingWorkload
from engine.vocabulary.errors import InvalidObjectError
from tests.support.builders import NAMESPACE, Builder, Json, cluster, cluster_queue, cohort, workload

QUEUE = cluster_queue("A").quota("f", cpu=4)


def inactivity(model: ClusterModel, name: str = "A") -> str | None:
    queue = model.cluster_queue(name)
    assert queue is not None
    return None if queue.inactivity is None else queue.inactivity.reason


def check(name: str, *, active: bool = True) -> Json:
    status = {"conditions": [{"type": "Active", "status": "True" if active else "False"}]}
    return {"kind": "AdmissionCheck", "metadata": {"name": name}, "spec": {"controllerName": "x"}, "status": status}


def test_a_missing_flavor_makes_inactive_until_it_appears() -> None:
    objects = cluster(QUEUE)
    flavor = next(raw for raw in objects if raw["kind"] == "ResourceFlavor")
    model = ClusterModel.of(raw for raw in objects if raw is not flavor)
    assert inactivity(model) == "FlavorNotFound"
    model.apply(flavor)
    assert inactivity(model) is None
    model.remove("ResourceFlavor", "", "f")
    assert inactivity(model) == "FlavorNotFound"


def test_admission_checks_must_exist_and_be_active() -> None:
    strategy = {"admissionChecks": [{"name": "c"}]}
    model = ClusterModel.of(cluster(QUEUE.with_spec(admissionChecksStrategy=strategy)))
    assert inactivity(model) == "AdmissionCheckNotFound"
    model.apply(check("c", active=False))
    assert inactivity(model) == "AdmissionCheckInactive"
    model.apply(check("c"))
    assert inactivity(model) is None


def test_a_cycle_of_cohorts_is_survived_and_forgotten() -> None:
    member = QUEUE.cohort("a")
    model = ClusterModel.of(cluster(member, cohort("a").parent("b"), cohort("b").parent("a")))
    assert inactivity(model) == "HasCycle"
    model.apply(cohort("b").raw)
    assert inactivity(model) is None
    queue = model.cluster_queue("A")
    assert queue is not None
    assert [node.name for node in queue.ancestors()] == ["a", "b"]


def test_a_cohort_that_nothing_refers_to_is_forgotten() -> None:
    model = ClusterModel.of(cluster(QUEUE.cohort("pool")))
    assert [node.name for node in model.cohorts()] == ["pool"]
    model.apply(QUEUE.raw)
    assert model.cohorts() == []


def test_workloads_wait_for_their_cluster_queue() -> None:
    holder = workload("v").request(cpu=3).holds("A")
    model = ClusterModel.of([holder.raw])
    assert model.cluster_queue("A") is None
    for raw in cluster(QUEUE):
        model.apply(raw)
    queue = model.cluster_queue("A")
    assert queue is not None
    assert queue.cell(model.table.get("f", "cpu")).available() == 1000
    model.remove("ClusterQueue", "", "A")
    assert model.cluster_queue("A") is None


@pytest.mark.parametrize(
    ("builder", "want"),
    [
        (workload("w").request(cpu=1).holds("A"), AdmittedWorkload),
        (workload("w").request(cpu=1).holds("A").evicted(), AdmittedWorkload),
        (workload("w").request(cpu=1), PendingWorkload),
        (workload("w").condition("QuotaReserved", "False"), PendingWorkload),
        (workload("w").holds("A").condition("Finished", "True"), IdleWorkload),
        (workload("w").holds("A").with_spec(active=False), IdleWorkload),
        (workload("w").condition("QuotaReserved", "False", reason="OnHold"), IdleWorkload),
        (workload("w").condition("WaitingForReplacementPods", "True"), IdleWorkload),
        (workload("w").annotate("kueue.x-k8s.io/admission-gated-by", "x"), IdleWorkload),
        (workload("w").annotate("kueue.x-k8s.io/admission-gated-by", ""), PendingWorkload),
    ],
    ids=["holds", "evicted", "new", "pending", "finished", "inactive", "on hold", "replacing", "gated", "not gated"],
)
def test_what_a_workload_is_to_quota(builder: Builder, want: type) -> None:
    model = ClusterModel.of([builder.raw])
    assert type(model.workload(ObjectKey(NAMESPACE, "w"))) is want


def test_usage_shrinks_with_reclaimable_pods_and_partial_admission() -> None:
    holder = workload("v").request(cpu=3).pods(3).holds("A")
    for builder, want in [
        (holder, 9000),
        (holder.reclaimable(main=1), 6000),
        (holder.reclaimable(main=7), 0),
        (holder.pods(5), 9000),
    ]:
        found = ClusterModel.of([builder.raw]).workload(ObjectKey(NAMESPACE, "v"))
        assert isinstance(found, AdmittedWorkload)
        assert [amount for _, amount in found.usage] == [want]


def test_equal_usages_share_their_value() -> None:
    model = ClusterModel.of([workload(name).request(cpu=3).holds("A").raw for name in ("v", "w")])
    v, w = model.workloads()
    assert isinstance(v, AdmittedWorkload)
    assert isinstance(w, AdmittedWorkload)
    assert v.usage is w.usage
    assert v.uses is w.uses


def test_kinds_that_do_not_matter_are_ignored() -> None:
    model = ClusterModel()
    assert model.apply({"kind": "Job", "metadata": {"name": "j"}}) is False
    model.remove("Job", "ns", "j")
    assert list(model.workloads()) == []


def test_an_unreadable_object_is_named_and_changes_nothing() -> None:
    model = ClusterModel.of(cluster(QUEUE))
    with pytest.raises(InvalidObjectError, match=r'ClusterQueue "A": spec\.resourceGroups\[0\].*nominalQuota'):
        model.apply(cluster_queue("A").quota("f", cpu="many").raw)
    queue = model.cluster_queue("A")
    assert queue is not None
    assert queue.cell(model.table.get("f", "cpu")).nominal == 4000


def test_generations_grow_when_room_may_have_been_made() -> None:
    model = ClusterModel.of(cluster(QUEUE, workload("v").request(cpu=3).holds("A")))
    queue = model.cluster_queue("A")
    assert queue is not None
    before = queue.generation
    model.apply(workload("new").request(cpu=1).holds("A").raw)
    assert queue.generation == before
    model.apply(workload("v").request(cpu=2).holds("A").raw)
    assert queue.generation == before + 1
    model.remove("Workload", NAMESPACE, "v")
    assert queue.generation == before + 2
    model.apply(QUEUE.quota("g", cpu=1).raw)
    model.forest.settle()
    assert queue.generation == before + 3
    model.apply({**QUEUE.quota("g", cpu=1).raw, "status": {"pendingWorkloads": 3}})
    model.forest.settle()
    assert queue.generation == before + 3
