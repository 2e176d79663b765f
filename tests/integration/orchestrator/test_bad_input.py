"""Objects and answers that are malformed: said by name, others go on, nothing foreign is touched."""

import base64
import json
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from config.names import ORIGIN_LABEL
from gates.model import marks
from gates.model.texts import foreign_job, foreign_replica
from localcluster.access.auth import ANY, Allow
from localcluster.serving.faults import Latency, ServerError
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Cluster, job, workload
from tests.integration.orchestrator.world import CONFIG, ORIGIN, World, running
from tests.integration.orchestrator.world import world as prepared_world
from tests.integration.workerclient.raw_server import Handler, serving


def active(world: World, name: str) -> tuple[str, str, str] | None:
    conditions = world.hub.get("multikueueclusters", name, KUEUE, "").get("status", {}).get("conditions", [])
    found = next((c for c in conditions if c["type"] == "Active"), None)
    return (found["status"], found["reason"], found["message"]) if found else None


EVERYTHING_BUT_CREATE = (Allow(("get", "list", "watch", "update", "patch", "delete"), (ANY,)),)


async def test_a_foreign_workload_of_the_same_name_stops_only_its_own_worker(tmp_path: Path) -> None:
    """Fault 7 of Kueue v0.19.1: the origin of a replica is not verified."""
    async with running(tmp_path, "w1", "w2") as world:
        theirs = workload("wl", queueName="theirs")
        theirs["metadata"]["labels"] = {ORIGIN_LABEL: "another-hub"}
        made = world["w1"].create("workloads", theirs, KUEUE, NAMESPACE)
        world.queue()
        await world.until(world["w2"].has_workload)
        await world.until(lambda: foreign_replica(["w1"]) in world.check()["message"])
        world.release_quota()
        await world.until(lambda: not world["w2"].has_workload())
        await world.pass_time(300)
        assert world["w1"].workload() == made


async def test_a_foreign_workload_that_goes_makes_room(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world["w1"].create("workloads", workload("wl"), KUEUE, NAMESPACE)
        world.queue()
        await world.until(lambda: "a foreign Workload" in world.check()["message"])
        world["w1"].delete("workloads", "wl", KUEUE)
        await world.pass_time(61)
        assert world["w1"].workload()["metadata"]["labels"][ORIGIN_LABEL]


async def test_a_replica_of_an_earlier_workload_of_the_same_name_is_not_adopted(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        old = world["w1"].workload()["metadata"]["uid"]
        await world.stop()
        world.hub.delete("workloads", "wl", KUEUE)
        world.hub.delete("jobs", "job-wl", "batch")
        await world.until(lambda: world.hub.find("jobs", "job-wl", "batch") is None)
        world["w1"].admit()
        world.queue()
        await world.start()
        await world.until(lambda: world["w1"].has_workload() and world["w1"].workload()["metadata"]["uid"] != old)
        await world.settled()
        assert world.check()["state"] == "Pending"


async def test_a_worker_that_forbids_one_verb_is_told_with_the_remedy(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", limited={"w1": EVERYTHING_BUT_CREATE}) as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        want = 'grant the verb "create" on workloads.kueue.x-k8s.io in cluster w1'
        await world.until(lambda: want in world.check()["message"])
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_missing_permissions_are_named_before_they_are_needed(tmp_path: Path) -> None:
    """Lesson of Kueue 0.19.1: verbs that its example roles lacked were only missed when something was to be resized."""
    readonly = (Allow(("get", "list", "watch"), (ANY,)), Allow(("create", "delete"), ("workloads",)))
    async with running(tmp_path, "w1", "w2", limited={"w1": readonly}) as world:
        await world.until(lambda: "does not allow" in (active(world, "w1") or ("", "", ""))[2])
        found = active(world, "w1")
        assert found is not None
        assert found[:2] == ("True", "Active")
        assert found[2] == (
            "Connected; worker w1 does not allow in all namespaces: patch on workloads.kueue.x-k8s.io; "
            "patch on workloads.kueue.x-k8s.io/status; create, delete, patch on jobs.batch "
            "(grant these verbs there to the user of its kubeconfig by a ClusterRole)"
        )
        await world.until(lambda: active(world, "w2") == ("True", "Active", "Connected"))


async def test_permissions_that_are_all_there_cost_one_request(tmp_path: Path) -> None:
    everything = (Allow((ANY,), (ANY,)),)
    async with prepared_world(tmp_path, "w1", limited={"w1": everything}) as world:
        one_by_one = world["w1"].local.faults.add(Latency(0), plural="selfsubjectaccessreviews")
        at_once = world["w1"].local.faults.add(Latency(0), plural="selfsubjectrulesreviews")
        await world.start()
        await world.connected()
        await world.until(lambda: at_once.hits)
        await world.settled()
        assert (at_once.hits, one_by_one.hits) == (1, 0)


async def test_granted_permissions_end_the_complaint(tmp_path: Path) -> None:
    rules = [*EVERYTHING_BUT_CREATE]
    async with running(tmp_path, "w1", limited={"w1": rules}) as world:
        await world.until(lambda: "create on workloads" in (active(world, "w1") or ("", "", ""))[2])
        world.queue()
        await world.until(lambda: 'grant the verb "create"' in world.check()["message"])
        rules.append(Allow(("create",), (ANY,)))
        await world.pass_time(61)
        await world.until(lambda: "does not allow" not in (active(world, "w1") or ("", "", "does not allow"))[2])
        await world.until(lambda: world.holders() == ["w1"])


async def test_a_permission_that_is_taken_away_is_named_at_the_first_refusal(tmp_path: Path) -> None:
    rules = [Allow((ANY,), (ANY,))]
    async with running(tmp_path, "w1", "w2", limited={"w1": rules}) as world:
        await world.until(lambda: active(world, "w1") == ("True", "Active", "Connected"))
        rules[:] = EVERYTHING_BUT_CREATE
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        await world.until(lambda: "create on workloads" in (active(world, "w1") or ("", "", ""))[2])
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def nonsense(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(body=b"<html>please log in</html>", content_type="text/html")


async def half_a_list(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(body=b'{"kind":"WorkloadList","items":[{', content_type="application/json")


async def far_too_much(_request: web.BaseRequest) -> web.StreamResponse:
    return web.Response(body=b'{"kind":"WorkloadList","items":["' + b"x" * (33 << 20), content_type="application/json")


@pytest.mark.parametrize(
    ("handler", "words"),
    [
        (nonsense, "expected JSON, got text/html"),
        (half_a_list, "expected "),
        (far_too_much, "the answer has 34603041 bytes, the limit is 4194304"),
    ],
    ids=["a login page", "half a list", "far too much"],
)
async def test_a_worker_that_answers_with_garbage_is_told_as_that_and_the_others_go_on(
    tmp_path: Path, handler: Handler, words: str
) -> None:
    async with serving(handler, tmp_path) as access, prepared_world(tmp_path, "w1", "w2") as world:
        kubeconfig = yaml.safe_load(world["w1"].kubeconfig())
        authority = base64.b64encode(bytes(access.ca or b"")).decode()
        place = {"server": access.server, "certificate-authority-data": authority}
        kubeconfig["clusters"][0]["cluster"] = place
        world.put_secret("w1", json.dumps(kubeconfig).encode())
        await world.start()
        await world.connected("w2")
        world.queue()
        await world.until(lambda: world.holders() == ["w2"])
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")
        await world.known("w1")
        await world.until(lambda: (active(world, "w1") or ("",))[0] == "False")
        found = active(world, "w1") or ("", "", "")
        assert found[1] == "ClientConnectionFailed"
        assert found[2].startswith(f"cluster w1: list workloads.kueue.x-k8s.io: {words}")
        assert world.clock.monotonic() < 60


async def test_a_worker_without_the_local_queue_is_told_with_what_is_missing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.queue()
        await world.until(lambda: len(world.holders()) == 2)
        missing = "LocalQueue main is terminating or missing"
        world["w1"].set_condition("wl", "QuotaReserved", "False", "Misconfigured", missing)
        want = f"worker w1 cannot admit it until this is fixed there: {missing}"
        await world.until(lambda: want in world.check()["message"])
        world["w2"].set_condition("wl", "QuotaReserved", "False", "Pending", "couldn't assign flavors")
        await world.settled()
        assert "flavors" not in world.check()["message"]
        world["w2"].admit()
        await world.until(lambda: world.check()["state"] == "Ready")


async def test_a_remote_job_that_is_malformed_is_named_and_left_alone(tmp_path: Path) -> None:
    group, plural = "leaderworkerset.x-k8s.io", "leaderworkersets"
    jobs = {"integrations": ["batch/job", "leaderworkerset.x-k8s.io/leaderworkerset"]}
    async with running(tmp_path, "w1", "w2", jobs=jobs) as world:
        identity = world.running_daemon().identity
        marked = {marks.HUB: identity.hub, marks.HUB_UID: "x"}
        metadata = {"name": "s", "labels": {ORIGIN_LABEL: ORIGIN}, "annotations": marked}
        made = world["w1"].create(plural, {"metadata": metadata, "spec": {"replicas": -7}}, group, NAMESPACE)
        owner = world.hub.create(plural, {"metadata": {"name": "s"}, "spec": {"replicas": 1}}, group, NAMESPACE)
        world.queue(owner=owner)
        world.queue("plain")
        await world.until(lambda: world.holders() == ["w2"] and world.holders("plain") == ["w1", "w2"])
        await world.until(lambda: "worker w1: team/s: spec.replicas is -7" in world.check()["message"])
        assert world["w1"].get(plural, "s", group) == made


async def test_nothing_foreign_is_touched_in_a_whole_life(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        identity = world.running_daemon().identity
        worker = world["w1"]

        def put(name: str, origin: str | None, hub: str) -> None:
            document = workload(name)
            document["metadata"]["labels"] = {ORIGIN_LABEL: origin} if origin else {}
            document["metadata"]["annotations"] = {marks.HUB: hub, marks.HUB_UID: "some-uid"}
            document["metadata"]["finalizers"] = [marks.FINALIZER]
            worker.create("workloads", document, KUEUE, NAMESPACE)

        put("evicted", "another-origin", "another-hub")
        put("finished", identity.origin, "another-hub")
        put("deleted", None, "")
        for name in ("job-evicted", "job-finished", "job-deleted", "job-won"):
            worker.create("jobs", job(name, managed_by=None), "batch", NAMESPACE)
        worker.admit("finished")
        worker.finish("finished")
        before = foreign(worker)
        for name in ("evicted", "finished", "deleted"):
            world.queue(name)
            await world.until(lambda name=name: world["w2"].has_workload(name))  # type: ignore[misc]
            world["w2"].admit(name)
            await world.until(lambda name=name: world.check(name)["state"] == "Ready")  # type: ignore[misc]
        world.queue("won")
        await world.until(lambda: world.holders("won") == ["w1", "w2"])
        worker.admit("won")
        await world.until(lambda: foreign_job("w1") in world.check("won")["message"])
        world.evict_on_hub("evicted")
        world.release_quota("evicted")
        world["w2"].finish("finished")
        for name in ("deleted", "won"):
            world.hub.delete("workloads", name, KUEUE)
            world.hub.delete("jobs", f"job-{name}", "batch")
        await world.until(
            lambda: all(not world["w2"].has_workload(n) for n in ("evicted", "finished", "deleted", "won"))
        )
        await world.pass_time(300)
        assert foreign(worker) == before


def foreign(cluster: Cluster) -> dict[str, str]:
    """Return the versions of everything that a worker held before."""
    kinds = (cluster.store.kind("workloads", KUEUE), cluster.store.kind("jobs", "batch"))
    found = [(kind.kind, each) for kind in kinds for each in cluster.store.list(kind)]
    return {
        f"{kind}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for kind, each in found
        if each["metadata"].get("annotations", {}).get(marks.SPEC_DIGEST) is None
    }


async def test_an_action_is_tried_again_after_its_rest_even_if_it_was_reconciled_in_between(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as world:
        broken = world["w1"].local.faults.add(ServerError(), verb="create", plural="jobs")
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        world["w1"].admit()
        await world.until(lambda: broken.hits and not world.running_actions())
        world["w1"].local.faults.clear()
        world.look_after(0.05)
        await world.pass_time(0.05)
        assert world["w1"].find("jobs", "job-wl", "batch") is None
        await world.pass_time(5)
        assert world["w1"].find("jobs", "job-wl", "batch") is not None


async def test_F13_a_damaged_record_is_said_once_and_holds_nothing(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as world:
        world.submit("damaged")
        damage = {marks.GATE_OPENINGS: "{nonsense"}
        world.hub.change("workloads", "damaged", lambda w: w["metadata"].update(annotations=damage), KUEUE)
        world.hub.reserve("damaged")
        world.queue("sound")
        await world.until(lambda: len(world.holders("sound")) == 2)
        await world.until(lambda: len(world.holders("damaged")) == 2)
        await world.settled()
        (event,) = [e for e in world.events() if e["reason"] == "UnreadableRecord"]
        assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "damaged")
        assert marks.GATE_OPENINGS in event["message"]
        assert world.hub.workload("damaged")["metadata"]["annotations"] != damage


async def test_faults_8_the_default_origin_is_the_hubs_own(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1", hub={"namespace": "turnstile-system"}) as world:
        await world.start()
        await world.connected()
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        uid = world.hub.get("namespaces", "kube-system", namespace="")["metadata"]["uid"]
        assert world["w1"].workload()["metadata"]["labels"][ORIGIN_LABEL] == f"hub-{uid}"


async def test_faults_19_a_config_that_comes_after_its_workloads_wakes_them(tmp_path: Path) -> None:
    async with prepared_world(tmp_path, "w1") as world:
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.start()
        await world.connected()
        world.queue()
        await world.settled()
        assert world.holders() == []
        world.list_workers("w1")
        await world.until(lambda: world.holders() == ["w1"])


async def test_faults_20_a_workload_is_cleaned_up_although_its_check_and_config_are_gone(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", gc_interval="0") as world:
        world.queue()
        await world.until(lambda: world.holders() == ["w1"])
        await world.settled()
        world.hub.delete("admissionchecks", "mk", KUEUE, "")
        world.hub.delete("multikueueconfigs", CONFIG, KUEUE, "")
        await world.settled()
        world.hub.delete("workloads", "wl", KUEUE)
        await world.until(lambda: world.holders() == [])
