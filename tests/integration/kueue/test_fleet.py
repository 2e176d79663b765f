"""A fleet of local clusters with Kueue on each: what an orchestrator finds, and that it lives by itself."""

import base64
from pathlib import Path
from typing import Any

import pytest

from config.api.meta import conditions, is_true
from localcluster.cluster import LocalCluster, LocalClusterError
from localcluster.fleet import HUB_NAMESPACE, LocalFleet, Member
from localcluster.kinds.clock import ManualClock
from localcluster.kinds.columns import has_condition, read
from localcluster.kueue.profile import BEFORE_GATES, KEP_8303
from localcluster.sample_queues import CHECK, NAMESPACE, QUEUE
from tests.support.builders import START
from tests.support.job_builder import JobBuilder, job
from tests.support.virtual_time import until


def objects(cluster: LocalCluster, plural: str, group: str = "kueue.x-k8s.io") -> dict[str, Any]:
    return {obj["metadata"]["name"]: obj for obj in cluster.store.list(cluster.store.kind(plural, group))}


def submit(cluster: LocalCluster, builder: JobBuilder) -> None:
    placed = builder.with_metadata(namespace=NAMESPACE)
    cluster.store.create(cluster.store.kind("jobs", "batch"), placed.raw, NAMESPACE)


def only_workload(cluster: LocalCluster) -> dict[str, Any]:
    (found,) = objects(cluster, "workloads").values()
    return dict(found)


def job_in(cluster: LocalCluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = objects(cluster, "jobs", "batch")[name]
    return found


def train(name: str = "train", cpu: int = 8) -> JobBuilder:
    return job(name).queue(QUEUE).request(cpu=cpu)


async def test_the_hub_knows_its_workers_and_how_to_reach_them(tmp_path: Path) -> None:
    async with LocalFleet(Member("hub"), [Member("w1"), Member("w2")], tmp_path) as fleet:
        config = objects(fleet.hub, "multikueueconfigs")[CHECK]
        check = objects(fleet.hub, "admissionchecks")[CHECK]
        secrets = objects(fleet.hub, "secrets", "")

        assert config["spec"]["clusters"] == ["w1", "w2"]
        assert check["spec"]["parameters"]["name"] == CHECK
        assert set(objects(fleet.hub, "multikueueclusters")) == {"w1", "w2"}
        assert {secret["metadata"]["namespace"] for secret in secrets.values()} == {HUB_NAMESPACE}
        for worker in fleet.workers:
            kubeconfig = base64.b64decode(secrets[worker.name]["data"]["kubeconfig"])
            assert worker.url in kubeconfig.decode()


async def test_each_cluster_runs_the_jobs_that_are_submitted_to_it(tmp_path: Path) -> None:
    async with LocalFleet(Member("hub"), [Member("w1"), Member("w2")], tmp_path) as fleet:
        for worker in fleet.workers:
            submit(worker, train().runs(0))

        await until(lambda: all(has_condition(job_in(worker, "train"), "Complete") for worker in fleet.workers))
        await until(lambda: all(is_true(conditions(only_workload(worker)), "Finished") for worker in fleet.workers))


async def test_time_is_the_clusters_own(tmp_path: Path) -> None:
    clock = ManualClock(START)
    async with LocalFleet(Member("hub"), [Member("w1", clock=clock)], tmp_path) as fleet:
        (worker,) = fleet.workers
        submit(worker, train().runs(3600))
        await until(lambda: read(job_in(worker, "train"), "status.active") == 1)

        clock.advance(3600)

        await until(lambda: has_condition(job_in(worker, "train"), "Complete"))


async def test_a_hub_job_waits_for_the_orchestrator(tmp_path: Path) -> None:
    async with LocalFleet(Member("hub"), [Member("w1")], tmp_path) as fleet:
        submit(fleet.hub, train().managed_elsewhere())
        await until(lambda: objects(fleet.hub, "workloads") and "QuotaReserved" in conditions(only_workload(fleet.hub)))

        reserved = conditions(only_workload(fleet.hub))["QuotaReserved"]
        assert (reserved.status, reserved.message) == ("False", f"ClusterQueue {QUEUE} is inactive")
        active = conditions(objects(fleet.hub, "clusterqueues")[QUEUE])["Active"]
        assert active.reason == "AdmissionCheckInactive", "no controller has said yet that the check works"


async def test_members_may_run_different_kueues(tmp_path: Path) -> None:
    workers = [Member("w1", profile=KEP_8303), Member("w2", profile=BEFORE_GATES)]
    async with LocalFleet(Member("hub"), workers, tmp_path) as fleet:
        gated = {
            "queueName": QUEUE,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": []}}}],
        }
        for worker in fleet.workers:
            kind = worker.store.kind("workloads", "kueue.x-k8s.io")
            spec = {**gated, "preemptionGates": [{"name": "g"}]}
            worker.store.create(kind, {"metadata": {"name": "a"}, "spec": spec}, NAMESPACE)
        first, second = fleet.workers

        await until(lambda: only_workload(first).get("status", {}).get("preemptionGates"))

        assert only_workload(first)["status"]["preemptionGates"][0]["state"] == "Closed"
        assert "preemptionGates" not in only_workload(second)["spec"]


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LocalClusterError, match="must have different names: hub, w1, w1"):
        LocalFleet(Member("hub"), [Member("w1"), Member("w1")], tmp_path)
