"""Every kind of job on its way to a worker and back, elastic jobs, and groups of pods."""

from pathlib import Path
from typing import Any

import pytest

from config.choices import Integration
from config.names import MULTIKUEUE_NAME, ORIGIN_LABEL
from gates import marks
from gates.jobs.kinds import SHIPPED
from localcluster.builtin_kinds.loose import loose_kinds
from localcluster.columns import age_column
from localcluster.fields import resource
from localcluster.kinds import Kind
from localcluster.registry import all_kinds
from localcluster.structural.builder import preserved
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, job, workload
from tests.integration.orchestrator.world import World, running

Obj = dict[str, Any]

SERVED = {(kind.group, kind.kind) for kind in loose_kinds()}
LOOSE = [kind for kind in SHIPPED if (kind.group, kind.kind) in SERVED and kind.managed_by is not None]


def test_every_shipped_kind_can_be_switched_on_by_its_name() -> None:
    assert [kind.integration for kind in SHIPPED] == [str(each) for each in Integration]


def managed(path: tuple[str, ...]) -> Obj:
    spec: Obj = {}
    place = spec
    for step in path[1:-1]:
        place = place.setdefault(step, {})
    place[path[-1]] = MULTIKUEUE_NAME
    return spec


async def run_to_the_end(world: World, plural: str, group: str, name: str) -> None:
    await world.until(lambda: len(world.holders()) == 2)
    world["w2"].admit()
    await world.until(lambda: world.check()["state"] == "Ready")
    await world.until(lambda: world["w2"].find(plural, name, group))
    world["w2"].change_status(plural, name, lambda s: s.update(phase="Running", inner={"n": 1}), group)
    await world.until(
        lambda: world.hub.get(plural, name, group).get("status") == {"phase": "Running", "inner": {"n": 1}}
    )
    world["w2"].finish()
    await world.until(lambda: world.hub.condition("Finished"))
    await world.until(lambda: world.holders() == [] and world["w2"].find(plural, name, group) is None)


@pytest.mark.parametrize("kind", LOOSE, ids=lambda kind: kind.kind)
async def test_109_a_kind_of_the_table_runs_on_the_winner_and_comes_back(tmp_path: Path, kind: Any) -> None:
    async with running(tmp_path, "w1", "w2", jobs={"integrations": [kind.integration]}) as world:
        document = {"metadata": {"name": "j"}, "spec": managed(kind.managed_by)}
        owner = world.hub.create(kind.plural, document, kind.group, NAMESPACE)
        world.queue(owner=owner)
        await run_to_the_end(world, kind.plural, kind.group, "j")


def custom_kind() -> Kind:
    return Kind(
        group="example.com",
        version="v1",
        kind="RenderJob",
        plural="renderjobs",
        singular="renderjob",
        namespaced=True,
        has_status=True,
        schema=resource({"spec": preserved(), "status": preserved()}),
        columns=(age_column(),),
    )


async def test_111_a_kind_of_the_platforms_own(tmp_path: Path) -> None:
    kinds = (*all_kinds(), custom_kind())
    names = {"group": "example.com", "version": "v1", "kind": "RenderJob", "plural": "renderjobs"}
    jobs = {"integrations": [], "custom_kinds": [{**names, "managed_by": "spec.run.by"}]}
    every = dict.fromkeys(("hub", "w1", "w2"), kinds)
    async with running(tmp_path, "w1", "w2", kinds=every, jobs=jobs) as world:
        document = {
            "metadata": {"name": "r", "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}]},
            "spec": {"run": {"by": MULTIKUEUE_NAME}, "frames": 3},
        }
        owner = world.hub.create("renderjobs", document, "example.com", NAMESPACE)
        world.queue(owner=owner)
        await world.until(lambda: len(world.holders()) == 2)
        world["w1"].admit()
        await world.until(lambda: world["w1"].find("renderjobs", "r", "example.com"))
        remote = world["w1"].get("renderjobs", "r", "example.com")
        assert remote["spec"] == {"run": {}, "frames": 3}
        assert "ownerReferences" not in remote["metadata"]
        await world.until(lambda: world.check()["state"] == "Ready")


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


def elastic_workload(world: World, name: str, owner: Obj, count: int, replaces: str | None = None) -> None:
    document = workload(name, owner)
    document["metadata"]["annotations"] = {marks.ELASTIC: "true"}
    if replaces:
        document["metadata"]["annotations"][marks.REPLACED_SLICE] = replaces
    document["spec"]["podSets"][0]["count"] = count
    world.hub.create("workloads", document, KUEUE, NAMESPACE)
    world.give_check(name)


async def test_112_an_elastic_job_shrinks_in_place_and_grows_by_a_new_slice(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        owner = world.hub.create("jobs", elastic_job(3), "batch", NAMESPACE)
        elastic_workload(world, "first", owner, 3)
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
        elastic_workload(world, "second", owner, 5, replaces=f"{NAMESPACE}/first")
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
        assert world["w1"].get("rayservices", "s", "ray.io")["metadata"]["labels"][ORIGIN_LABEL]
