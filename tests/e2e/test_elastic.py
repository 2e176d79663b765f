"""Elastic jobs on real Kueue, which alone makes slices of their Workloads: no copy grows before its quota."""

import asyncio
from typing import Any

from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from gates.model import marks
from tests.conformance.client import Obj
from tests.conformance.resources import JOBS, WORKLOADS, Resource
from tests.e2e.clusters import Cluster
from tests.e2e.scene import Queue, Scene, condition_of

RAY_CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
_WATCHED_SECONDS = 8.0
_LOOKS_SECONDS = 3.0
"""Long enough for Turnstile to forward a change that it should not."""


def ray_cluster(**replicas: int) -> Obj:
    """Return an elastic RayCluster: a head, and groups whose pods ask for one CPU each."""

    def template() -> Obj:
        container = {"name": "ray", "image": "registry.example/ray:1", "resources": {"requests": {"cpu": "1"}}}
        return {"spec": {"containers": [container]}}

    groups = [
        {
            "groupName": name,
            "replicas": count,
            "minReplicas": 0,
            "maxReplicas": 20,
            "rayStartParams": {},
            "template": template(),
        }
        for name, count in replicas.items()
    ]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": "ray",
            "labels": {f"{KUEUE_GROUP}/queue-name": "jobs", f"{KUEUE_GROUP}/priority-class": "low"},
            "annotations": {marks.ELASTIC: "true"},
        },
        "spec": {
            "managedBy": MULTIKUEUE_NAME,
            "suspend": True,
            "headGroupSpec": {"rayStartParams": {}, "template": template()},
            "workerGroupSpecs": groups,
        },
    }


def sizes(cluster: Obj) -> dict[str, int]:
    """Return how many replicas each group has."""
    return {group["groupName"]: group["replicas"] for group in cluster["spec"]["workerGroupSpecs"]}


async def remote_sizes(side: Cluster, scene: Scene) -> dict[str, int]:
    """Return the sizes of a worker's copy; none while there is no copy."""
    reply = await side.api.get(RAY_CLUSTERS.at(scene.name, "ray"))
    return {} if reply.status == 404 else sizes(reply.ok())


async def test_S3_no_group_outgrows_its_quota_while_another_shrinks(elastic_scene: Scene) -> None:
    """The new shape has fewer pods in all, more of one group, and no room on the hub: the copy keeps that group."""
    scene = elastic_scene
    await scene.build(Queue(cpu="40"), hub=Queue(cpu="10"))
    await scene.start_turnstile(jobs={"integrations": ["ray.io/raycluster"]})
    (await scene.hub.api.post(RAY_CLUSTERS.at(scene.name), ray_cluster(small=7, large=2))).expect(201)
    winner = await _until_copied(scene)
    assert await remote_sizes(winner, scene) == {"small": 7, "large": 2}

    # 1 + 4 + 5 pods have room, so this is a new slice that is admitted; the copy follows once it has quota.
    await _resize(scene, small=4, large=5)
    await scene.until(lambda: _has_sizes(winner, scene, small=4, large=5), "the copy to follow a slice with quota")

    # A slice of 1 + 1 + 9 pods has no room: five large ones have quota, and no more may run.
    await _resize(scene, small=1, large=9)
    await scene.until(lambda: _waits_for_quota(scene), "a slice that waits for quota")
    seen = set()
    for _ in range(int(_WATCHED_SECONDS / 0.2)):
        seen.add((await remote_sizes(winner, scene))["large"])
        await asyncio.sleep(0.2)
    assert max(seen) <= 5, seen


async def _until_copied(scene: Scene) -> Cluster:
    async def copied() -> Cluster | None:
        for side in scene.workers.values():
            if await remote_sizes(side, scene):
                return side
        return None

    found: Cluster = await scene.until(copied, "a copy of the RayCluster on a worker")
    return found


async def _resize(scene: Scene, **replicas: int) -> None:
    path = RAY_CLUSTERS.at(scene.name, "ray")
    groups = (await scene.hub.api.get(path)).ok()["spec"]["workerGroupSpecs"]
    for group in groups:
        group["replicas"] = replicas[group["groupName"]]
    patch: dict[str, Any] = {"spec": {"workerGroupSpecs": groups}}
    (await scene.hub.api.patch(path, patch)).ok()


async def _has_sizes(side: Cluster, scene: Scene, **wanted: int) -> bool:
    return await remote_sizes(side, scene) == wanted


async def _waits_for_quota(scene: Scene) -> bool:
    listed = (await scene.hub.api.get(WORKLOADS.at(scene.name))).ok()["items"]
    return any(
        condition_of(each, "QuotaReserved").get("status") != "True"
        and condition_of(each, "Finished").get("status") != "True"
        for each in listed
    )


async def slices(scene: Scene) -> list[Obj]:
    """Return the hub's Workloads that have not ended."""
    found = (await scene.hub.api.get(WORKLOADS.at(scene.name))).ok()["items"]
    return [each for each in found if condition_of(each, "Finished").get("status") != "True"]


async def resize_job(scene: Scene, pods: int) -> None:
    (await scene.hub.api.patch(JOBS.at(scene.name, "elastic"), {"spec": {"parallelism": pods}})).ok()


async def job_size(scene: Scene, side: Cluster) -> int:
    job = await scene.job_on(side, "elastic")
    return int(job["spec"]["parallelism"]) if job is not None else 0


async def test_S3_an_elastic_job_runs_no_more_pods_than_have_quota(elastic_scene: Scene) -> None:
    scene = elastic_scene
    await scene.build(Queue(cpu="20"), hub=Queue(cpu="4"))
    await scene.start_turnstile()
    document = scene.job("elastic", cpu=1)
    document["metadata"]["annotations"] |= {marks.ELASTIC: "true"}
    document["spec"] |= {"parallelism": 2, "managedBy": "kueue.x-k8s.io/multikueue"}
    (await scene.hub.api.post(JOBS.at(scene.name), document)).expect(201)
    winner = await scene.until_won("elastic")
    await scene.until_runs(winner, "elastic")
    assert await job_size(scene, winner) == 2
    await resize_job(scene, 10)  # the hub has quota for 4, so the slice of 10 waits

    async def waits() -> bool:
        return len(await slices(scene)) == 2

    await scene.until(waits, "the slice of the new size")
    await asyncio.sleep(_LOOKS_SECONDS)
    assert await job_size(scene, winner) == 2
    await resize_job(scene, 3)

    async def has_grown() -> bool:
        return await job_size(scene, winner) == 3

    await scene.until(has_grown, "the copy to have the size that has quota")
