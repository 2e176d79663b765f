"""What is not modelled is found by name: hard rules are not guessed at, wishes are marked."""

from typing import Any

import pytest

from engine.pods.values.answer import PodCycleResult, PodForecast
from engine.pods.values.values import SchedulerMode
from tests.support.builders import Json
from tests.support.pod_builders import gang, group, node, pod
from tests.unit.engine.pods.scenarios import Scenario, forecast

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def term(app: str = "p", **more: Any) -> Json:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **more}


def anti(*terms: Json) -> Json:
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def lone(*objects: Json) -> PodForecast:
    return forecast(Scenario([node("n1"), *objects]), SchedulerMode.V1_37)


UNSUPPORTED = {
    "spec.affinity.podAffinity": {"affinity": {"podAffinity": {REQUIRED: [term()]}}},
    "spec.affinity.podAntiAffinity": anti(term()),
    "spec.topologySpreadConstraints[0]": {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
    "spec.volumes[1].persistentVolumeClaim": {
        "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "c"}}]
    },
    "spec.resourceClaims": {"resourceClaims": [{"name": "gpu"}]},
    "spec.schedulingGates": {"schedulingGates": [{"name": "later"}]},
    "spec.schedulerName": {"schedulerName": "volcano"},
}


@pytest.mark.parametrize(("field", "spec"), UNSUPPORTED.items(), ids=UNSUPPORTED)
def test_what_the_preemptor_may_not_use(field: str, spec: Json) -> None:
    found = lone(pod("p", 1, 10, spec=spec))
    assert found.outcome.result is PodCycleResult.UNSUPPORTED
    assert found.outcome.reason is not None
    assert found.outcome.reason.text.startswith(f'Pod "default/p": {field}')


GROUP_FIELDS = {
    "spec.parentCompositePodGroupName": {"parentCompositePodGroupName": "all"},
    "spec.schedulingConstraints.topology": {"schedulingConstraints": {"topology": [{"key": "zone"}]}},
    "spec.resourceClaims": {"resourceClaims": [{"name": "gpu"}]},
}


@pytest.mark.parametrize(("field", "spec"), GROUP_FIELDS.items(), ids=GROUP_FIELDS)
def test_what_a_group_may_not_use(field: str, spec: Json) -> None:
    objects = [node("n1"), group("pg", 10, spec=spec), pod("p1", 1, 10, group="pg")]
    found = forecast(Scenario(objects, asked="pg", is_group=True), SchedulerMode.V1_37)
    assert found.outcome.reason is not None
    assert found.outcome.reason.text == f'PodGroup "default/pg": {field}'


def test_a_victim_group_with_a_parent_is_not_guessed_at() -> None:
    found = lone(
        group("g", 1, spec={"parentCompositePodGroupName": "all"}),
        pod("g1", 4, 1, on="n1", group="g"),
        pod("p", 4, 10),
    )
    assert found.outcome.result is PodCycleResult.UNSUPPORTED


KEEPS_AWAY = {
    "about the pod": (anti(term()), True),
    "about other labels": (anti(term("q")), False),
    "about its own namespace": (anti(term(namespaces=["other"])), False),
    "about any namespace that a selector picks": (anti(term(namespaceSelector={})), True),
    "about labels taken from the pod": (anti(term("q", matchLabelKeys=["rev"])), True),
    "about no pods": (anti({"topologyKey": "zone"}), False),
}


@pytest.mark.parametrize(("spec", "matters"), KEEPS_AWAY.values(), ids=KEEPS_AWAY)
def test_bound_pods_that_keep_others_away(spec: Json, *, matters: bool) -> None:
    found = lone(pod("a", 1, 1, on="n1", spec=spec), pod("p", 1, 10, app="p"))
    assert (found.outcome.result is PodCycleResult.UNSUPPORTED) is matters


APPROXIMATE = {
    "preferred affinity": ({"affinity": {"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term()}]}}}, {}),
    "a soft spread": ({"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}, {}),
    "the spread of a ReplicaSet": ({}, {"ownerReferences": [{"kind": "ReplicaSet"}]}),
}


@pytest.mark.parametrize(("spec", "metadata"), APPROXIMATE.values(), ids=APPROXIMATE)
def test_wishes_are_marked(spec: Json, metadata: Json) -> None:
    found = lone(pod("p", 1, 10, spec=spec, metadata=metadata))
    assert found.outcome.result is PodCycleResult.SCHEDULED
    assert len(found.approximate) == 1


def test_wishes_of_bound_pods_are_marked() -> None:
    wish = {"podAffinity": {REQUIRED: [term()], PREFERRED: [{"weight": 1, "podAffinityTerm": term()}]}}
    found = lone(pod("a", 1, 1, on="n1", spec={"affinity": wish}), pod("p", 1, 10, app="p"))
    assert len(found.approximate) == 2
    assert lone(pod("a", 1, 1, on="n1", spec={"affinity": wish}), pod("p", 1, 10)).approximate == ()


def test_images_that_are_on_some_nodes_only_are_marked() -> None:
    holder = node("n2")
    holder["status"]["images"] = [{"names": ["app:1"]}]
    running = {"containers": [{"name": "c", "image": "app:1"}]}
    assert lone(holder, pod("p", 1, 10, spec=running)).approximate == (
        'image "app:1" is on some nodes only, which the scheduler prefers',
    )


def test_jobs_are_not_spread() -> None:
    assert lone(pod("p", 1, 10, metadata={"ownerReferences": [{"kind": "Job"}]})).approximate == ()


def test_gang_members_are_all_looked_at() -> None:
    objects = [
        node("n1"),
        *gang("pg", 10, pod("p1", 1, 10, group="pg"), pod("p2", 1, 10, group="pg", spec=anti(term()))),
    ]
    found = forecast(Scenario(objects, asked="pg", is_group=True), SchedulerMode.V1_37)
    assert found.outcome.result is PodCycleResult.UNSUPPORTED
