"""Choosing workers by annotations and labels, on a hub and workers that speak HTTP."""

import json
from pathlib import Path

import pytest

from config.api.meta import ObjectKey
from config.names import CONTROLLER_NAME
from gates.decision.dispatch import MOST_NOMINATED
from gates.targets.rules import (
    AFFINITY,
    AFFINITY_GROUP,
    ANTI_AFFINITY,
    ANTI_AFFINITY_GROUP,
    CLUSTER_NAMES,
    CLUSTER_SELECTOR,
)
from localcluster.serving.faults import RawAnswer
from tests.integration.orchestrator.kueue import KUEUE, NAMESPACE, Obj, job
from tests.integration.orchestrator.planning import FULL, ROOMY, plan, planned, planning, urgent_job
from tests.integration.orchestrator.world import CHECK, CONFIG, World, running, world
from tests.support.kueue_schemas import KueueSchema
from tests.support.odd_answers import OPENAPI, document


def annotate(made: World, name: str = "wl", **annotations: str | None) -> None:
    """Set annotations on the hub's Workload: None takes one away."""
    names = {"names": CLUSTER_NAMES, "selector": CLUSTER_SELECTOR}

    def change(workload: Obj) -> None:
        kept = workload["metadata"].setdefault("annotations", {})
        for short, value in annotations.items():
            kept.pop(names[short], None)
            if value is not None:
                kept[names[short]] = value

    made.hub.change("workloads", name, change, KUEUE)


def label(made: World, cluster: str, **labels: str) -> None:
    made.hub.change("multikueueclusters", cluster, lambda c: c["metadata"].update(labels=labels), KUEUE, "")


async def test_a_workload_goes_only_where_its_annotation_says(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2", "w3") as made:
        made.submit()
        annotate(made, names="w2, w9")
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w2"])
        await made.settled()
        assert made.status()["nominatedClusterNames"] == ["w2"]
        assert "ruled out: w1, w3" in made.check()["message"]
        assert "does not list: w9" in made.check()["message"]
        assert CLUSTER_NAMES not in made["w2"].workload()["metadata"]["annotations"]

        annotate(made, names="w1")
        await made.until(lambda: made.holders() == ["w1"])
        annotate(made, names=None)
        await made.until(lambda: made.holders() == ["w1", "w2", "w3"])


async def test_a_worker_whose_api_takes_fewer_pod_sets_is_not_nominated(tmp_path: Path) -> None:
    small = document(KueueSchema(pod_sets=1).document())
    pod_sets = [
        {"name": name, "count": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
        for name in ("a", "b")
    ]
    async with world(tmp_path, "w1", "w2") as made:
        made["w1"].local.faults.add(RawAnswer(small), path=f"{OPENAPI}/apis")
        await made.start()
        await made.connected()
        made.submit(podSets=pod_sets)
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w2"])
        await made.settled()
        assert made.status()["nominatedClusterNames"] == ["w2"]
        assert "ruled out: w1 (its API accepts 1 pod sets, and the Workload has 2)" in made.check()["message"]


async def test_the_annotation_of_the_job_counts_too(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        document = job("job-wl")
        document["metadata"]["annotations"] = {CLUSTER_NAMES: "w2"}
        made.queue(owner=made.hub.create("jobs", document, "batch", NAMESPACE))
        await made.until(lambda: made.holders() == ["w2"])

        annotate(made, names="w1")
        await made.until(lambda: "must be the same on both" in made.check()["message"])
        await made.settled()
        assert made.holders() == ["w2"], "nothing changes while it is not certain what is meant"
        (event,) = (each for each in made.events() if each["type"] == "Warning")
        assert CLUSTER_NAMES in event["message"]
        annotate(made, names="w2")
        await made.until(lambda: "Pending on w2" in made.check()["message"])


async def test_labels_of_clusters_and_of_the_configuration_are_both_in_force(tmp_path: Path) -> None:
    options = [{"name": "w1", "labels": {"tier": "gold"}}, {"name": "w2", "labels": {"zone": "b"}}]
    async with running(tmp_path, "w1", "w2", "w3", workers=options) as made:
        label(made, "w2", tier="gold", zone="a")
        label(made, "w3", tier="silver")
        made.submit()
        annotate(made, selector="tier=gold")
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w1", "w2"])

        annotate(made, selector="tier=gold,zone=b")
        await made.until(lambda: made.holders() == ["w2"])

        annotate(made, selector="tier in (silver,bronze)")
        await made.until(lambda: made.holders() == ["w3"])
        label(made, "w3", tier="gold")
        await made.until(lambda: made.holders() == [])
        await made.settled()
        assert made.check()["message"].startswith("No worker may be used")


@pytest.mark.parametrize("selector", ["tier=((", "", "tier=gold,,zone"])
async def test_a_selector_that_cannot_be_read_holds_the_workload_and_is_told(tmp_path: Path, selector: str) -> None:
    async with running(tmp_path, "w1") as made:
        made.submit()
        annotate(made, selector=selector)
        made.hub.reserve()
        await made.until(lambda: CLUSTER_SELECTOR in made.check()["message"])
        await made.settled()
        assert made.holders() == []
        assert [each["type"] for each in made.events()] == ["Warning"]
        explained = await made.running_daemon().inspector.explain(ObjectKey(NAMESPACE, "wl"))
        assert explained is not None
        assert CLUSTER_SELECTOR in explained["next"]["reason"]
        annotate(made, selector=None)
        await made.until(lambda: made.holders() == ["w1"])


async def test_explain_names_the_rule_that_ruled_a_worker_out(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        made.submit()
        annotate(made, names="w1", selector="!spot")
        made.hub.reserve()
        await made.until(lambda: made.holders() == ["w1"])
        await made.settled()
        explained = await made.running_daemon().inspector.explain(ObjectKey(NAMESPACE, "wl"))
        assert explained is not None
        found = {each["name"]: each["ruledOut"] and each["ruledOut"]["rule"] for each in explained["workers"]}
        assert found == {"w1": None, "w2": "ClusterNames"}


# --- a MultiKueueConfig that lists by labels


def select(made: World, selector: str | None) -> None:
    annotations = {} if selector is None else {CLUSTER_SELECTOR: selector}
    made.hub.change("multikueueconfigs", CONFIG, lambda c: c["metadata"].update(annotations=annotations), KUEUE, "")


def active(made: World) -> Obj:
    found = made.hub.get("admissionchecks", "mk", KUEUE, "").get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == "Active"), {})


async def test_a_config_may_list_its_workers_by_their_labels(tmp_path: Path) -> None:
    async with world(tmp_path, "w1", "w2", "w3") as made:
        made.list_workers("w2")
        select(made, "tier=gold")
        for name in ("w1", "w2"):
            label(made, name, tier="gold")
        await made.start()
        await made.connected()
        made.queue()
        await made.until(lambda: made.holders() == ["w1", "w2"])
        await made.settled()
        assert made.status()["nominatedClusterNames"] == ["w2", "w1"], "those of the list come first"

        label(made, "w3", tier="gold")
        await made.until(lambda: made.holders() == ["w1", "w2", "w3"])
        label(made, "w1")
        await made.until(lambda: made.holders() == ["w2", "w3"])
        select(made, None)
        await made.until(lambda: made.holders() == ["w2"])


async def test_a_config_whose_selector_cannot_be_read_leads_nowhere_and_keeps_what_there_is(tmp_path: Path) -> None:
    async with running(tmp_path, "w1") as made:
        made.queue()
        await made.until(lambda: made.holders() == ["w1"])
        select(made, "tier=((")
        await made.until(lambda: active(made).get("reason") == "BadConfig")
        await made.settled()
        assert CLUSTER_SELECTOR in active(made)["message"]
        assert made.holders() == ["w1"]
        select(made, "tier=gold")
        await made.until(lambda: active(made).get("reason") == "NoUsableClusters")


# --- plans


async def test_a_plan_names_the_rule_that_ruled_a_worker_out(tmp_path: Path) -> None:
    async with planning(tmp_path, {"w1": FULL, "w2": ROOMY}) as made:
        manifest = urgent_job()
        manifest["metadata"]["annotations"] = {CLUSTER_NAMES: "w1,w7"}
        found = await plan(made, tmp_path, manifest)
        assert {each["name"]: each["verdict"] for each in found["workers"]} == {"w1": "Preempts", "w2": "RuledOut"}
        (ruled_out,) = (each for each in found["workers"] if each["verdict"] == "RuledOut")
        assert (ruled_out["ruledOutBy"], CLUSTER_NAMES in ruled_out["message"]) == ("ClusterNames", True)
        assert found["chosen"]["worker"] == "w1"
        assert any("w7" in remark for remark in found["remarks"])

        manifest["metadata"]["annotations"] = {CLUSTER_NAMES: "w7"}
        found = await plan(made, tmp_path, manifest)
        assert (found["chosen"]["worker"], found["takes"]) == ("", False)

        manifest["metadata"]["annotations"] = {CLUSTER_SELECTOR: "(("}
        result = await planned(made, tmp_path, manifest)
        assert result.exit_code == 2, json.dumps(result.output)
        assert CLUSTER_SELECTOR in result.output


async def test_more_workers_than_a_list_may_have_serve_one_queue(tmp_path: Path) -> None:
    names = [f"w{number:02}" for number in range(MOST_NOMINATED + 2)]
    async with world(tmp_path, *names, prepared=False) as made:
        parameters = {"apiGroup": KUEUE, "kind": "MultiKueueConfig", "name": CONFIG}
        spec = {"controllerName": CONTROLLER_NAME, "parameters": parameters}
        made.hub.create("admissionchecks", {"metadata": {"name": CHECK}, "spec": spec}, KUEUE)
        made.list_workers(names[0])
        select(made, "!retired")
        for name in names:
            made.add_cluster(name)
        await made.start()
        await made.connected()
        made.queue()
        await made.until(lambda: len(made.holders()) == MOST_NOMINATED)
        await made.settled()
        assert made.holders() == names[:MOST_NOMINATED]
        await made.pass_time(301)
        await made.until(lambda: set(names[-2:]) < set(made.holders()))
        assert len(made.holders()) == MOST_NOMINATED


# --- weights, prices and groups


async def test_the_cheapest_worker_of_the_highest_weight_is_tried_first(tmp_path: Path) -> None:
    options: list[Obj] = [
        {"name": "w1", "weight": 0.5},
        {"name": "w2", "cost_per_hour": {"cpu": 0.05}},
        {"name": "w3", "cost_per_hour": {"cpu": 0.04}},
    ]
    rounds = {"mode": "Incremental", "step_size": 1}
    async with running(tmp_path, "w1", "w2", "w3", workers=options, dispatcher=rounds) as made:
        made.submit()
        made.hub.reserve(cpu="2")
        await made.until(made.holders)
        assert made.holders() == ["w3"]
        await made.pass_time(301)
        assert made.holders() == ["w2", "w3"]


async def test_a_required_group_is_placed_on_one_worker(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        wanted = {AFFINITY_GROUP: "g", AFFINITY: "Required"}
        for name in ("first", "second"):
            made.submit(name)
            made.hub.change("workloads", name, lambda w: w["metadata"].update(annotations=wanted), KUEUE)
            made.hub.reserve(name)
            await made.pass_time(1)
        await made.until(lambda: made.holders("first") == ["w1", "w2"])
        await made.settled()
        assert made.holders("second") == []
        assert "team/first of its group g is placed first" in made.check("second")["message"]
        made["w2"].admit("first")
        await made.until(lambda: made.holders("second") == ["w2"])


async def test_a_required_anti_group_is_spread(tmp_path: Path) -> None:
    async with running(tmp_path, "w1", "w2") as made:
        wanted = {ANTI_AFFINITY_GROUP: "g", ANTI_AFFINITY: "Required"}
        for name in ("first", "second"):
            document = job(f"job-{name}")
            document["metadata"]["annotations"] = wanted
            made.queue(name, owner=made.hub.create("jobs", document, "batch", NAMESPACE))
            await made.pass_time(1)
        await made.until(lambda: made.holders("first") == ["w1", "w2"])
        made["w1"].admit("first")
        await made.until(lambda: made.holders("second") == ["w2"])
        await made.settled()
        assert "is there" in made.check("second")["message"]
