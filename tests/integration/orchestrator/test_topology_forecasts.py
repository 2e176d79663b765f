"""Where pods go on a worker with Topologies: forecast before a gate opens, and held against what Kueue does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from config.api.meta import ObjectKey
from engine.forecasting.forecast import ForecastVerdict
from engine.vocabulary.effort import Effort
from localcluster.access.auth import Allow
from manager.cli.app import app
from manager.models.observation import Observation
from tests.integration.orchestrator.commands import command
from tests.integration.orchestrator.forecasting import QUEUE, passing, record, result
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj
from tests.integration.orchestrator.planning import plan, plan_of, planned, urgent_job, write, write_configuration
from tests.integration.orchestrator.poisoning import write_past_validation
from tests.integration.orchestrator.topologies import (
    add_node,
    add_pod,
    admitted,
    own,
    pod_sets,
    submit,
    with_topology,
)
from tests.integration.orchestrator.world import World
from tests.support.worker_names import W1

ROLE = "deploy/rbac/worker-topology.yaml"
WITHOUT_NODES = (
    Allow(("*",), ("*",), (KUEUE, "batch", "node.k8s.io")),
    Allow(("*",), ("namespaces", "limitranges"), ("",)),
)


async def forecast(world: World, name: str = "wl") -> Obj:
    """Return what `explain` says that the worker would do with a Workload."""
    await world.until(lambda: world["w1"].has_workload(name))
    await world.settled()
    explanation = await world.running_daemon().inspector.explain(ObjectKey(NAMESPACE, name))
    assert explanation is not None
    (worker,) = explanation["workers"]
    found: Obj = worker["forecast"]
    return found


async def test_victims_are_those_that_free_a_rack_and_the_forecast_is_exact(tmp_path: Path) -> None:
    async with with_topology(tmp_path) as world:
        worker = world["w1"]
        own(worker, "low", 6, required="rack")
        await admitted(world, "low")
        own(worker, "mid", 4, priority=5, required="rack")
        await admitted(world, "mid")
        submit(world, "wl", 6, priority=100, required="rack")
        await passing(world, lambda: record(world).get("verdict"))
        said = record(world)
        assert (said["verdict"], [victim["workload"] for victim in said["victims"]]) == ("Preempts", ["team/low"])
        await passing(world, lambda: world.check()["state"] == "Ready")
        await world.until(lambda: result(world) == "exact")


async def test_quota_alone_is_not_enough(tmp_path: Path) -> None:
    async with with_topology(tmp_path) as world:
        worker = world["w1"]
        for name in ("one", "two"):
            own(worker, name, 5, priority=1000, required="rack")
            await admitted(world, name)
        submit(world, "wl", 4, required="rack")
        said = await forecast(world)
        assert said["verdict"] == "Cannot"
        assert 'topology "default" allows to fit only 3 out of 4 pod(s)' in said["message"]


async def test_pods_that_kueue_did_not_place_take_room_until_they_are_gone(tmp_path: Path) -> None:
    async with with_topology(tmp_path, {"b1/r1/h11": 4}) as world:
        add_pod(world["w1"], "daemon", "h11", 2)
        await world.settled()
        submit(world, "wl", 4, required="rack")
        assert (await forecast(world))["verdict"] == "Cannot"
        world["w1"].change_status("pods", "daemon", lambda status: status.update(phase="Succeeded"), "", NAMESPACE)
        await admitted(world, "wl")


async def test_a_node_that_comes_makes_room(tmp_path: Path) -> None:
    async with with_topology(tmp_path, {"b1/r1/h11": 4}) as world:
        submit(world, "wl", 8, required="rack")
        assert (await forecast(world))["verdict"] == "Cannot"
        add_node(world["w1"], "b1/r1/h12", 4)
        await admitted(world, "wl")


UNKNOWN: dict[str, tuple[Obj, tuple[Allow, ...], str]] = {
    "not asked for": (
        {"topology": False},
        (),
        "apply deploy/rbac/worker-topology.yaml on the worker and set `topology: true`",
    ),
    "asked for, and no role": (
        {},
        WITHOUT_NODES,
        "nodes, pods: may not be read; apply deploy/rbac/worker-topology.yaml",
    ),
}


@pytest.mark.parametrize(("entry", "rules", "text"), UNKNOWN.values(), ids=UNKNOWN)
async def test_what_is_not_known_is_unsupported_and_says_which_role_to_apply(
    tmp_path: Path, entry: Obj, rules: tuple[Allow, ...], text: str
) -> None:
    async with with_topology(tmp_path, worker=entry, limited={"w1": rules} if rules else {}) as world:
        submit(world, "wl", 9, required="rack")
        said = await forecast(world)
        assert said["verdict"] == "Unsupported"
        assert "spec.podSets[0].topologyRequest.required is set" in said["message"]
        assert text in said["message"]


async def test_a_missing_role_costs_nothing_but_topologies(tmp_path: Path) -> None:
    async with with_topology(tmp_path, limited={"w1": WITHOUT_NODES}) as world:
        worker = world["w1"]
        worker.create("resourceflavors", {"metadata": {"name": "plain"}, "spec": {}}, KUEUE)
        resources = [{"name": "cpu", "nominalQuota": "4"}]
        groups = [{"coveredResources": ["cpu"], "flavors": [{"name": "plain", "resources": resources}]}]
        worker.create(
            "clusterqueues",
            {"metadata": {"name": "p"}, "spec": {"namespaceSelector": {}, "resourceGroups": groups}},
            KUEUE,
        )
        worker.create("localqueues", {"metadata": {"name": "p"}, "spec": {"clusterQueue": "p"}}, KUEUE, NAMESPACE)
        await world.settled()
        world.submit_ownerless("wl", podSets=pod_sets(5), queueName="p")
        world.hub.reserve("wl")
        said = await forecast(world)
        assert (said["verdict"], "insufficient quota" in said["message"]) == ("Cannot", True)


def node_with(**changes: Any) -> Obj:
    status = {"allocatable": {"cpu": "4", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}
    labels = {"tas": "yes", "block": "b1", "rack": "r9", "kubernetes.io/hostname": "bad"}
    metadata = {"name": "bad", "namespace": "", "uid": "u", "resourceVersion": "7", "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status} | changes


def pod_with(**changes: Any) -> Obj:
    spec = {"nodeName": "h11", "containers": [{"name": "c", "resources": {"requests": {"cpu": "NaN"}}}]}
    metadata = {"name": "bad", "namespace": NAMESPACE, "uid": "u", "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {}} | changes


BAD: dict[str, tuple[str, Obj, str]] = {
    "a Node with a quantity that is none": (
        "nodes",
        node_with(status={"allocatable": {"cpu": "NaN"}}),
        "Node bad cannot be read: Node \"bad\": status.allocatable[cpu]: 'NaN' is not a quantity",
    ),
    "a Pod with a request that is none": (
        "pods",
        pod_with(),
        "Pod team/bad cannot be read: Pod \"team/bad\": spec.containers[0].resources.requests[cpu]: 'NaN'",
    ),
}


@pytest.mark.parametrize(("plural", "raw", "problem"), BAD.values(), ids=BAD)
async def test_what_cannot_be_read_is_named_and_nothing_is_guessed(
    tmp_path: Path, plural: str, raw: Obj, problem: str
) -> None:
    async with with_topology(tmp_path) as world:
        write_past_validation(world["w1"], plural, "", raw)
        await world.until(lambda: observation_of(world).why_topology_unknown())
        submit(world, "wl", 9, required="rack")
        said = await forecast(world)
        assert (said["verdict"], problem in said["message"]) == ("Unsupported", True), said["message"]


async def test_a_heartbeat_of_a_node_is_no_change(tmp_path: Path) -> None:
    async with with_topology(tmp_path) as world:
        version = observation_of(world).cluster.version
        world["w1"].change_status("nodes", "h11", lambda status: status.update(phase="Running"), namespace="")
        await world.settled()
        assert observation_of(world).cluster.version == version


async def test_of_two_that_arrive_at_once_only_one_is_sent_to_the_last_free_rack(tmp_path: Path) -> None:
    dispatcher = {"mode": "ForecastFirst"}
    async with with_topology(tmp_path, {"b1/r1/h11": 4, "b1/r2/h21": 2}, dispatcher=dispatcher) as world:
        observation = observation_of(world)
        await world.until(lambda: observation.cluster.model.local_queue(NAMESPACE, QUEUE))
        for name in ("one", "two"):
            raw = world.submit_ownerless(name, podSets=pod_sets(4, required="rack"))
            document = json.dumps(raw).encode()
            answer = observation.foresee(raw, document, world.clock.now_ns(), 0, Effort())
            assert answer.forecast is not None
            if name == "one":
                assert answer.forecast.verdict is ForecastVerdict.FITS, answer.forecast
                assert answer.promise is not None
                observation.promises.hold(answer.promise.key, answer.promise)
            else:
                assert answer.forecast.verdict is ForecastVerdict.CANNOT


def observation_of(world: World) -> Observation:
    found = world.running_daemon().fleet.links[W1].observation
    assert found is not None
    return found


async def test_explain_says_where_the_pods_would_go_and_what_the_victims_leave(tmp_path: Path) -> None:
    async with with_topology(tmp_path, gates={"non_preempting_grace": "300s"}) as world:
        worker = world["w1"]
        own(worker, "low", 6, required="rack")
        await admitted(world, "low")
        own(worker, "mid", 4, priority=5, required="rack")
        await admitted(world, "mid")
        submit(world, "wl", 6, priority=100, required="rack")
        said = await forecast(world)
        assert said["places"] == [
            {"podSet": "main", "domains": [{"domain": "b1/r1/h11", "pods": 4}, {"domain": "b1/r1/h12", "pods": 2}]}
        ]
        (victim,) = said["victims"]
        assert victim["places"] == said["places"][0]["domains"]
        assert said["fragmented"] == [
            {"podSet": "main", "level": "rack", "needed": 6, "largest": 4, "domain": "b1/r2", "inAll": 6}
        ]
        result = await command(world, tmp_path / "s", "explain", "team/wl")
        screen = result.stdout
        assert "pod set main fits by quota; the largest free rack has room for 4 of 6 pods (b1/r2)" in screen
        assert "priority 0" in screen
        assert "leaves b1/r1/h11: 4, b1/r1/h12: 2" in screen
        assert "places pod set main on b1/r1/h11: 4, b1/r1/h12: 2" in screen


async def test_a_plan_says_where_and_what_is_fragmented(tmp_path: Path) -> None:
    async with with_topology(tmp_path) as world:
        for name in ("one", "two"):
            own(world["w1"], name, 5, priority=1000, required="rack")
            await admitted(world, name)
        document = urgent_job(cpu=1, pods=4)
        template = document["spec"]["template"]
        template.setdefault("metadata", {})["annotations"] = {"kueue.x-k8s.io/podset-required-topology": "rack"}
        result = await planned(world, tmp_path, document)
        assert "w1: pod set main fits by quota; the largest free rack has room for 3 of 4 pods (b1/r1)" in result.stdout
        document["spec"] |= {"parallelism": 3, "completions": 3}
        (worker,) = (await plan(world, tmp_path, document))["workers"]
        assert (worker["verdict"], worker["fragmented"]) == ("Fits", [])
        assert worker["places"] == [{"podSet": "main", "domains": [{"domain": "b1/r1/h12", "pods": 3}]}]


async def test_the_tree_of_a_worker_shows_what_is_free_on_each_level(tmp_path: Path) -> None:
    async with with_topology(tmp_path) as world:
        worker = world["w1"]
        own(worker, "low", 6, required="rack")
        await admitted(world, "low")
        add_pod(worker, "daemon", "h21", 1)
        await world.settled()
        told = await command(world, tmp_path / "s", "status", "topology", "w1", "-o", "json")
        (flavor,) = json.loads(told.stdout)["flavors"]
        assert (flavor["flavor"], flavor["levels"]) == ("f", ["block", "rack", "kubernetes.io/hostname"])
        free = {
            each["domain"]: (each["nodes"], each["free"]["cpu"], each["used"].get("cpu")) for each in flavor["domains"]
        }
        assert free == {"b1": (4, "9", "6"), "b1/r1": (2, "2", "6"), "b1/r2": (2, "7", None)}
        (tmp_path / "s").unlink(missing_ok=True)
        screen = await command(world, tmp_path / "s", "status", "topology", "w1", "--nodes")
        rows = [line.split() for line in screen.stdout.splitlines()]
        assert ["b1/r1/h12", "kubernetes.io/hostname", "1", "cpu", "2/4", "cpu", "2,", "pods", "2", "-"] in rows
        for words, problem in ((("topology",), "a topology is that of one worker"), (("--nodes",), "--nodes is about")):
            (tmp_path / "s").unlink(missing_ok=True)
            refused = await command(world, tmp_path / "s", "status", *words)
            assert (refused.exit_code, problem in refused.stderr) == (2, True), refused.stderr
        (tmp_path / "s").unlink(missing_ok=True)
        unknown = await command(world, tmp_path / "s", "status", "topology", "w9")
        assert (unknown.exit_code, "there is no worker w9" in unknown.stderr) == (2, True), unknown.stderr


async def test_a_worker_of_which_no_topology_is_followed_says_how_to_change_that(tmp_path: Path) -> None:
    async with with_topology(tmp_path, worker={"topology": False}) as world:
        told = await command(world, tmp_path / "s", "status", "topology", "w1")
        assert "apply deploy/rbac/worker-topology.yaml on the worker and set `topology: true`" in told.stdout


@pytest.mark.parametrize(("follows", "verdict"), [(True, "Fits"), (False, "Unsupported")])
async def test_a_plan_without_a_daemon_lists_nodes_and_pods_too(tmp_path: Path, follows: bool, verdict: str) -> None:
    async with with_topology(tmp_path) as world:
        workers = [{"name": "w1", "topology": follows}]
        configuration = write_configuration(world, tmp_path / "turnstile.yaml", workers=workers)
        document = urgent_job(cpu=1, pods=4)
        template = document["spec"]["template"]
        template.setdefault("metadata", {})["annotations"] = {"kueue.x-k8s.io/podset-required-topology": "rack"}
        file = write(tmp_path / "job.yaml", document)
        words = ("plan", "-f", str(file), "--config", str(configuration), "-o", "json")
        answer = await asyncio.to_thread(CliRunner().invoke, app, words)
        (worker,) = plan_of(answer.stdout)["workers"]
        assert worker["verdict"] == verdict
        assert ("worker-topology.yaml" in worker["message"]) is not follows
