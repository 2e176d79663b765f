"""Every kind of job on its way to a worker and back, elastic jobs, and groups of pods."""

from pathlib import Path

import pytest

from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from config.types.choices import Integration
from gates.jobs.copying import PREBUILT, field_at
from gates.jobs.kinds import SHIPPED, JobKind
from gates.model import marks
from localcluster.catalogue.registry import all_kinds
from tests.integration.orchestrator.job_kinds import KINDS, RAY, Obj, cpu_group, elastic_workload, loose, ray_cluster
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.world import ORIGIN, World, running

LOOSE = [kind for kind in SHIPPED if kind.managed_by is not None and kind.kind != "Job"]


def test_every_shipped_kind_can_be_switched_on_by_its_name() -> None:
    assert [kind.integration for kind in SHIPPED] == [str(each) for each in Integration]


def managed(path: tuple[str, ...]) -> Obj:
    spec: Obj = {}
    place = spec
    for step in path[1:-1]:
        place = place.setdefault(step, {})
    place[path[-1]] = MULTIKUEUE_NAME
    return spec


async def run_to_the_end(world: World, plural: str, group: str, name: str) -> Obj:
    """Let w2 win, run and finish; return the copy as it was created there."""
    await world.until(lambda: len(world.holders()) == 2)
    world["w2"].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    await world.until(lambda: world["w2"].find(plural, name, group))
    copy = world["w2"].get(plural, name, group)
    assert world["w1"].find(plural, name, group) is None
    for status in ({"phase": "Running", "inner": {"n": 1}}, {"phase": "Done", "conditions": [{"type": "Complete"}]}):
        world["w2"].change_status(plural, name, lambda s, new=status: (s.clear(), s.update(new)), group)  # type: ignore[misc]
        await world.until(lambda new=status: world.hub.get(plural, name, group).get("status") == new)  # type: ignore[misc]
    world["w2"].finish(message="all done")
    await world.until(lambda: world.hub.condition("Finished"))
    assert (world.hub.condition("Finished") or {})["message"] == "all done"
    await world.until(lambda: world.holders() == [] and world["w2"].find(plural, name, group) is None)
    assert world.hub.get(plural, name, group)["status"]["phase"] == "Done"
    return copy


@pytest.mark.parametrize("kind", LOOSE, ids=lambda kind: kind.kind)
async def test_109_a_kind_of_the_table_runs_on_the_winner_and_comes_back(tmp_path: Path, kind: JobKind) -> None:
    every = dict.fromkeys(("hub", "w1", "w2"), KINDS)
    async with running(tmp_path, "w1", "w2", kinds=every, jobs={"integrations": [kind.integration]}) as world:
        assert kind.managed_by is not None
        spec = {**managed(kind.managed_by), "content": {"deep": [1, 2]}}
        document = {"metadata": {"name": "j", "finalizers": ["example.com/x"]}, "spec": spec}
        owner = world.hub.create(kind.plural, document, kind.group, NAMESPACE)
        world.queue(owner=owner)
        copy = await run_to_the_end(world, kind.plural, kind.group, "j")
        assert copy["spec"]["content"] == {"deep": [1, 2]}
        assert field_at(copy, kind.managed_by) is None
        assert copy["metadata"]["labels"][PREBUILT] == copy["metadata"]["annotations"][PREBUILT] == "wl"
        assert copy["metadata"]["labels"][ORIGIN_LABEL] == ORIGIN
        assert not {"finalizers", "ownerReferences"} & set(copy["metadata"])


@pytest.mark.parametrize("kind", LOOSE, ids=lambda kind: kind.kind)
async def test_04_109_a_job_of_any_kind_that_names_no_manager_is_rejected(tmp_path: Path, kind: JobKind) -> None:
    every = dict.fromkeys(("hub", "w1"), KINDS)
    async with running(tmp_path, "w1", kinds=every, jobs={"integrations": [kind.integration]}) as world:
        owner = world.hub.create(kind.plural, {"metadata": {"name": "j"}, "spec": {}}, kind.group, NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.check()["state"] == "Rejected")
        assert ".".join(kind.managed_by or ()) in world.check()["message"]
        assert world.holders() == []


async def test_109_a_train_job_leaves_kueues_own_patch_on_the_hub(tmp_path: Path) -> None:
    integration = "trainer.kubeflow.org/trainjob"
    async with running(tmp_path, "w1", jobs={"integrations": [integration]}) as world:
        patches = [{"manager": "kueue.x-k8s.io/manager"}, {"manager": "example.com/mine"}]
        document = {"metadata": {"name": "t"}, "spec": {"managedBy": MULTIKUEUE_NAME, "runtimePatches": patches}}
        owner = world.hub.create("trainjobs", document, "trainer.kubeflow.org", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world["w1"].find("trainjobs", "t", "trainer.kubeflow.org"))
        copy = world["w1"].get("trainjobs", "t", "trainer.kubeflow.org")
        assert copy["spec"]["runtimePatches"] == [{"manager": "example.com/mine"}]


@pytest.mark.parametrize(
    ("kind", "group", "plural"),
    [("StatefulSet", "apps", "statefulsets"), ("LeaderWorkerSet", "leaderworkerset.x-k8s.io", "leaderworkersets")],
)
async def test_109_a_kind_made_of_plain_pods_is_copied_whole_and_keeps_its_hub_status(
    tmp_path: Path, kind: str, group: str, plural: str
) -> None:
    integration = next(each.integration for each in SHIPPED if each.kind == kind)
    async with running(tmp_path, "w1", jobs={"integrations": [integration]}) as world:
        owner = world.hub.create(plural, {"metadata": {"name": "s"}, "spec": {"replicas": 1}}, group, NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world["w1"].find(plural, "s", group))
        copy = world["w1"].get(plural, "s", group)
        assert copy["metadata"]["annotations"]["kueue.x-k8s.io/multikueue-origin-uid"] == owner["metadata"]["uid"]
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w1"].change_status(plural, "s", lambda s: s.update(readyReplicas=1), group)
        await world.settled()
        assert "status" not in world.hub.get(plural, "s", group)
        world.release_quota()
        await world.until(lambda: world.holders() == [] and world["w1"].find(plural, "s", group) is None)


@pytest.mark.parametrize("replicas", [-1, 1_000_001, "many"])
async def test_a_count_without_sense_holds_its_own_workload_only(tmp_path: Path, replicas: object) -> None:
    """Lesson of Kueue 0.17.7: negative or huge replicas of a LeaderWorkerSet ended the whole controller."""
    group, plural = "leaderworkerset.x-k8s.io", "leaderworkersets"
    integrations = ["batch/job", "leaderworkerset.x-k8s.io/leaderworkerset"]
    async with running(tmp_path, "w1", jobs={"integrations": integrations}) as world:
        document = {"metadata": {"name": "s"}, "spec": {"replicas": replicas}}
        owner = world.hub.create(plural, document, group, NAMESPACE)
        world.queue("odd", owner=owner)
        world.queue("sound")
        await world.until(lambda: world.holders("sound") == ["w1"])
        await world.settled()
        assert world.holders("odd") == []
        assert "spec.replicas" in world.check("odd")["message"]


async def test_111_a_kind_of_the_platforms_own_runs_to_completion(tmp_path: Path) -> None:
    own = JobKind("example.com", "v1", "RenderJob", "renderjobs")
    names = {"group": "example.com", "version": "v1", "kind": "RenderJob", "plural": "renderjobs"}
    jobs = {"integrations": [], "custom_kinds": [{**names, "managed_by": "spec.run.by"}]}
    every = dict.fromkeys(("hub", "w1", "w2"), (*all_kinds(), loose(own)))
    async with running(tmp_path, "w1", "w2", kinds=every, jobs=jobs) as world:
        document = {
            "metadata": {"name": "r", "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]},
            "spec": {"run": {"by": MULTIKUEUE_NAME}, "frames": 3},
        }
        owner = world.hub.create("renderjobs", document, "example.com", NAMESPACE)
        world.queue(owner=owner)
        copy = await run_to_the_end(world, "renderjobs", "example.com", "r")
        assert copy["spec"] == {"run": {}, "frames": 3}
        assert "ownerReferences" not in copy["metadata"]


async def test_111_a_remote_job_without_a_status_leaves_the_hubs_alone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["jobset.x-k8s.io/jobset"]}) as world:
        group = "jobset.x-k8s.io"
        document = {"metadata": {"name": "s"}, "spec": {"managedBy": MULTIKUEUE_NAME}}
        owner = world.hub.create("jobsets", document, group, NAMESPACE)
        world.hub.change_status("jobsets", "s", lambda s: s.update(restarts=0), group)
        world.queue(owner=owner)
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world["w1"].find("jobsets", "s", group))
        await world.settled()
        assert world.hub.get("jobsets", "s", group)["status"] == {"restarts": 0}


def pod(name: str, group: str | None = None) -> Obj:
    labels = {"kueue.x-k8s.io/queue-name": "main"}
    if group:
        labels["kueue.x-k8s.io/pod-group-name"] = group
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
        },
    }


def gated(cluster: World, name: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    cluster.hub.change_status("pods", name, lambda s: s.update(conditions=[condition]))


async def test_110_a_pod_keeps_its_scheduling_gate_until_its_copy_is_scheduled(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["pod"]}) as world:
        owner = world.hub.create("pods", pod("p"), namespace=NAMESPACE)
        gated(world, "p")
        world.queue(owner={**owner, "apiVersion": "v1", "kind": "Pod"})
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world["w1"].find("pods", "p"))
        unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        world["w1"].change_status(
            "pods", "p", lambda s: s.update(phase="Pending", conditions=[unschedulable], hostIP="1.2.3.4")
        )
        await world.until(lambda: world.hub.get("pods", "p")["status"].get("hostIP"))
        assert world.hub.get("pods", "p")["status"]["conditions"][0]["reason"] == "SchedulingGated"
        scheduled = {"type": "PodScheduled", "status": "True"}
        world["w1"].change_status("pods", "p", lambda s: s.update(phase="Running", conditions=[scheduled]))
        await world.until(lambda: world.hub.get("pods", "p")["status"].get("phase") == "Running")
        assert world.hub.get("pods", "p")["status"]["conditions"][0]["status"] == "True"


async def test_110_every_pod_of_a_group_is_copied_and_removed(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["pod"]}) as world:
        owners = [world.hub.create("pods", pod(name, "wl"), namespace=NAMESPACE) for name in ("a", "b")]
        document = workload("wl")
        document["metadata"]["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "Pod", "name": o["metadata"]["name"], "uid": o["metadata"]["uid"]}
            for o in owners
        ]
        world.hub.create("workloads", document, KUEUE, NAMESPACE)
        world.give_check("wl")
        world.hub.reserve()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: all(world["w1"].find("pods", name) for name in ("a", "b")))
        await world.until(lambda: world.check()["state"] == "Ready")
        world["w1"].change_status("pods", "b", lambda s: s.update(phase="Running"))
        await world.until(lambda: world.hub.get("pods", "b").get("status", {}).get("phase") == "Running")
        world.release_quota()
        await world.until(lambda: world.holders() == [])
        for name in ("a", "b"):
            left = world["w1"].find("pods", name)
            assert left is None or left["metadata"].get("deletionTimestamp")


def elastic_job(parallelism: int) -> Obj:
    document = job("elastic", parallelism=parallelism)
    document["metadata"]["annotations"] = {marks.ELASTIC: "true"}
    return document


async def test_112_an_elastic_job_shrinks_in_place_and_grows_by_a_new_slice(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        owner = world.hub.create("jobs", elastic_job(3), "batch", NAMESPACE)
        elastic_workload(world, "first", owner, main=3)
        world.hub.reserve("first")
        await world.until(lambda: len(world.holders("first")) == 2)
        world["w1"].admit("first")
        await world.until(lambda: world.check("first")["state"] == "Ready")
        await world.until(lambda: world["w1"].find("jobs", "elastic", "batch"))
        # down
        world.hub.change("workloads", "first", lambda w: w["spec"]["podSets"][0].update(count=2), KUEUE)
        world.hub.change("jobs", "elastic", lambda j: j["spec"].update(parallelism=2), "batch")
        await world.until(lambda: world["w1"].workload("first")["spec"]["podSets"][0]["count"] == 2)
        await world.until(lambda: world["w1"].get("jobs", "elastic", "batch")["spec"]["parallelism"] == 2)
        uid = world["w1"].get("jobs", "elastic", "batch")["metadata"]["uid"]
        # up: the job grows first, and the old slice must not pass that on
        world.hub.change("jobs", "elastic", lambda j: j["spec"].update(parallelism=5), "batch")
        elastic_workload(world, "second", owner, replaces=f"{NAMESPACE}/first", main=5)
        await world.settled()
        assert world["w1"].get("jobs", "elastic", "batch")["spec"]["parallelism"] == 2
        assert world.holders("second") == []
        world.hub.reserve("second")
        world.hub.set_status("second", lambda s: s.update(clusterName="w1"))
        await world.until(lambda: world.holders("second") == ["w1"])
        world["w1"].admit("second")
        await world.until(lambda: world.check("second")["state"] == "Ready")
        await world.until(lambda: world["w1"].get("jobs", "elastic", "batch")["spec"]["parallelism"] == 5)
        remote = world["w1"].get("jobs", "elastic", "batch")
        assert remote["metadata"]["uid"] == uid
        assert remote["metadata"]["annotations"]["kueue.x-k8s.io/prebuilt-workload-name"] == "second"
        world.hub.finish("first", reason="WorkloadSliceReplaced")
        await world.settled()
        assert world["w1"].find("jobs", "elastic", "batch") is not None


async def test_112_other_drift_of_an_elastic_replica_makes_it_again(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        owner = world.hub.create("jobs", elastic_job(3), "batch", NAMESPACE)
        elastic_workload(world, "first", owner, main=3)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        uid = world["w1"].workload("first")["metadata"]["uid"]
        world["w1"].change("workloads", "first", lambda w: w["spec"].update(queueName="other"), KUEUE)
        await world.until(
            lambda: (world["w1"].find("workloads", "first", KUEUE) or {}).get("metadata", {}).get("uid", uid) != uid
        )
        assert world["w1"].workload("first")["spec"]["queueName"] == "main"


async def test_112_an_elastic_ray_cluster_is_resized_group_by_group(tmp_path: Path) -> None:
    """Lessons of Kueue 0.19.0 and 0.19.1: a remote RayCluster was never resized, or resized before its quota."""
    async with running(tmp_path, "w1", jobs={"integrations": ["ray.io/raycluster"]}) as world:
        owner = world.hub.create("rayclusters", ray_cluster(3), RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=3, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.holders("first") == ["w1"])
        world["w1"].admit("first")
        await world.until(lambda: world["w1"].find("rayclusters", "ray", RAY))
        # what the worker's Kueue and Ray fill in is not the hub's business
        injected = {"hub": True, "nodeSelector": {"zone": "a"}}
        world["w1"].change(
            "rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"][0].update(template=injected), RAY
        )
        world.hub.change("rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"][0].update(replicas=2), RAY)
        world.hub.change("workloads", "first", lambda w: w["spec"]["podSets"][1].update(count=2), KUEUE)
        await world.until(lambda: cpu_group(world["w1"])["replicas"] == 2)
        assert cpu_group(world["w1"])["template"] == injected
        # up: nothing before the new slice has its quota
        world.hub.change("rayclusters", "ray", lambda r: r["spec"]["workerGroupSpecs"][0].update(replicas=7), RAY)
        elastic_workload(world, "second", owner, replaces=f"{NAMESPACE}/first", head=1, cpu=7, gpu=2)
        await world.settled()
        assert cpu_group(world["w1"])["replicas"] == 2
        world.hub.reserve("second")
        world.hub.set_status("second", lambda s: s.update(clusterName="w1"))
        await world.until(lambda: world.holders("second") == ["w1"])
        world["w1"].admit("second")
        await world.until(lambda: cpu_group(world["w1"])["replicas"] == 7)
        remote = world["w1"].get("rayclusters", "ray", RAY)
        assert remote["metadata"]["annotations"][PREBUILT] == remote["metadata"]["labels"][PREBUILT] == "second"
        assert cpu_group(world["w1"])["template"] == injected


async def test_an_elastic_ray_cluster_that_sizes_itself_is_rejected_up_front(tmp_path: Path) -> None:
    """Lesson of Kueue 0.19.1: it was accepted first and deleted later."""
    async with running(tmp_path, "w1", jobs={"integrations": ["ray.io/raycluster"]}) as world:
        owner = world.hub.create("rayclusters", ray_cluster(3, enableInTreeAutoscaling=True), RAY, NAMESPACE)
        elastic_workload(world, "first", owner, head=1, cpu=3, gpu=2)
        world.hub.reserve("first")
        await world.until(lambda: world.check("first")["state"] == "Rejected")
        assert "an elastic RayCluster with spec.enableInTreeAutoscaling" in world.check("first")["message"]
        assert world.holders("first") == []


async def test_113_an_edited_serve_config_reaches_the_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", jobs={"integrations": ["ray.io/rayservice"]}) as world:
        spec = {"managedBy": MULTIKUEUE_NAME, "serveConfigV2": "a: 1", "rayClusterConfig": {"x": 1}}
        owner = world.hub.create("rayservices", {"metadata": {"name": "s"}, "spec": spec}, "ray.io", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: world["w1"].find("rayservices", "s", "ray.io"))
        world.hub.change("rayservices", "s", lambda s: s["spec"].update(serveConfigV2="a: 2"), "ray.io")
        await world.until(lambda: world["w1"].get("rayservices", "s", "ray.io")["spec"]["serveConfigV2"] == "a: 2")
        assert world.clock.monotonic() == 0
        assert world["w1"].get("rayservices", "s", "ray.io")["spec"]["rayClusterConfig"] == {"x": 1}
        assert world["w1"].get("rayservices", "s", "ray.io")["metadata"]["labels"][ORIGIN_LABEL]
