"""What queues say about themselves on a cluster with the stand-in, and what `kubectl get` shows of it."""

from collections.abc import Sequence

import pytest

from config.api.meta import conditions
from localcluster.serving.tables import IncludeObject, table
from tests.integration.kueue.stage import Stage
from tests.support.builders import (
    Builder,
    ClusterQueueBuilder,
    WorkloadBuilder,
    cluster_queue,
    flavor,
    local_queue,
    workload,
)
from tests.support.job_builder import job


def queue(cpu: int = 4) -> ClusterQueueBuilder:
    return cluster_queue("cq").quota("f", cpu=cpu)


def wl(name: str, cpu: int = 2) -> WorkloadBuilder:
    return workload(name).queue("cq").request(cpu=cpu)


def rows(stage: Stage, plural: str, group: str = "kueue.x-k8s.io") -> list[dict[str, object]]:
    """Return what `kubectl get -o wide` shows, ages left out."""
    kind = stage.store.kind(plural, group)
    shown = table(kind, stage.store.collection(kind).scan(), stage.clock.now(), IncludeObject.NONE, {})
    names = [column["name"] for column in shown["columnDefinitions"]]
    cells = [dict(zip(names, row["cells"], strict=True)) for row in shown["rows"]]
    return [{name: value for name, value in row.items() if name not in ("Age", "Duration")} for row in cells]


def active(stage: Stage, kind: str) -> tuple[str, str, str]:
    found = conditions(stage.get(kind, "cq"))["Active"]
    return found.status, found.reason, found.message


def test_kubectl_shows_how_many_wait_and_how_many_are_admitted() -> None:
    stage = Stage().given(queue(), wl("a"), wl("b"), wl("c"))

    assert rows(stage, "clusterqueues") == [
        {
            "Name": "cq",
            "Cohort": None,
            "Strategy": "BestEffortFIFO",
            "Pending Workloads": 1,
            "Admitted Workloads": 2,
        }
    ]
    assert rows(stage, "localqueues") == [
        {"Name": "cq", "ClusterQueue": "cq", "Pending Workloads": 1, "Admitted Workloads": 2}
    ]
    assert stage.get("ClusterQueue", "cq")["status"]["reservingWorkloads"] == 2


def test_kubectl_shows_where_a_workload_is_and_whether_a_job_runs() -> None:
    stage = Stage().given(queue()).submit(job("train").queue("cq").request(cpu=3).runs(10)).submit(wl("next"))

    (train, waiting) = rows(stage, "workloads")
    assert train | {"Name": "train"} == {
        "Name": "train",
        "Queue": "cq",
        "Reserved in": "cq",
        "Admitted": "True",
        "Finished": None,
    }
    assert (waiting["Name"], waiting["Reserved in"], waiting["Admitted"]) == ("next", None, None)
    assert rows(stage, "jobs", "batch") == [{"Name": "train", "Status": "Running", "Completions": "0/1"}]

    stage.advance(10)
    assert rows(stage, "jobs", "batch") == [{"Name": "train", "Status": "Complete", "Completions": "1/1"}]


def test_counts_go_down_again() -> None:
    stage = Stage().given(queue(), wl("a"), wl("b"), wl("c"))

    for name in ("a", "b", "c"):
        stage.delete("Workload", name)

    for kind in ("ClusterQueue", "LocalQueue"):
        status = stage.get(kind, "cq")["status"]
        assert [status[f"{what}Workloads"] for what in ("pending", "reserving", "admitted")] == [0, 0, 0]


MISSING_FLAVOR = "Can't admit new workloads: references missing ResourceFlavor(s): f."
MISSING_CHECK = "Can't admit new workloads: references missing AdmissionCheck(s): c."
CHECKED = {"admissionChecksStrategy": {"admissionChecks": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("objects", "want_cluster_queue", "want_local_queue"),
    [
        pytest.param(
            [queue(), flavor("f")],
            ("True", "Ready", "Can admit new workloads"),
            ("True", "Ready", "Can submit new workloads to localQueue"),
            id="everything is there",
        ),
        pytest.param(
            [queue()],
            ("False", "FlavorNotFound", MISSING_FLAVOR),
            ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"),
            id="its flavor is missing",
        ),
        pytest.param(
            [queue().with_spec(**CHECKED), flavor("f")],
            ("False", "AdmissionCheckNotFound", MISSING_CHECK),
            ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"),
            id="its check is missing",
        ),
        pytest.param(
            [queue().stopped(), flavor("f")],
            ("False", "Stopped", "Can't admit new workloads: is stopped."),
            ("False", "ClusterQueueIsInactive", "Can't submit new workloads to clusterQueue"),
            id="it is stopped",
        ),
    ],
)
def test_a_cluster_queue_says_why_it_is_inactive_and_its_local_queues_say_that_it_is(
    objects: Sequence[Builder], want_cluster_queue: tuple[str, ...], want_local_queue: tuple[str, ...]
) -> None:
    stage = Stage().submit(local_queue("cq", "cq"), *objects)

    assert active(stage, "ClusterQueue") == want_cluster_queue
    assert active(stage, "LocalQueue") == want_local_queue


def test_a_local_queue_says_that_its_cluster_queue_is_missing_or_that_it_is_stopped() -> None:
    stage = Stage().submit(local_queue("cq", "cq"))
    missing = ("False", "ClusterQueueDoesNotExist", "Can't submit new workloads to clusterQueue")
    assert active(stage, "LocalQueue") == missing

    stage.submit(queue(), flavor("f")).patch("LocalQueue", "cq", {"spec": {"stopPolicy": "Hold"}}).settle()
    assert active(stage, "LocalQueue") == ("False", "Stopped", "LocalQueue is stopped")


def test_a_deleted_cluster_queue_and_its_flavor_go_when_they_are_not_used() -> None:
    stage = Stage().given(queue(), wl("a"))

    stage.delete("ClusterQueue", "cq").delete("ResourceFlavor", "f")
    assert active(stage, "ClusterQueue")[1] == "Terminating"
    assert stage.find("ResourceFlavor", "f") is not None

    stage.delete("Workload", "a")
    assert stage.find("ClusterQueue", "cq") is None
    assert stage.find("ResourceFlavor", "f") is None


def test_many_workloads_cost_each_queue_one_write() -> None:
    stage = Stage().given(queue(100))
    for number in range(20):
        stage.create(wl(f"w{number}", cpu=1).raw)
    writes: list[str] = []
    stage.store.subscribe(
        stage.store.kind("clusterqueues", "kueue.x-k8s.io"),
        lambda change: writes.append(change.new.obj["metadata"]["name"]),
    )

    stage.settle()

    assert stage.get("ClusterQueue", "cq")["status"]["admittedWorkloads"] == 20
    assert writes == ["cq"]
