"""Which workloads are of one scheduling shape."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from engine.requests.equivalence import ALLOWED_FLAVORS_ANNOTATION, equivalence_key
from engine.requests.requests import RequestContext, workload_request
from engine.requests.transformations import ResourceRules
from engine.vocabulary.features import FeatureGates

Raw = dict[str, Any]
GATES = FeatureGates()


def workload() -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    pod_set = {"name": "main", "count": 3, "template": {"spec": {"containers": [container]}}}
    return {"metadata": {"name": "w", "uid": "1"}, "spec": {"queueName": "q", "podSets": [pod_set]}, "status": {}}


def key(raw: Raw, priority: int = 0, gates: FeatureGates = GATES) -> object:
    return equivalence_key(raw, workload_request(raw, RequestContext()), priority, gates)


def spec_of(raw: Raw) -> Raw:
    spec: Raw = raw["spec"]["podSets"][0]["template"]["spec"]
    return spec


def changed(change: Callable[[Raw], object]) -> Raw:
    raw = copy.deepcopy(workload())
    change(raw)
    return raw


@pytest.mark.parametrize("is_as_written", [True, False])
def test_what_pods_come_to_request_matters_unless_only_what_is_written_does(is_as_written: bool) -> None:
    rules = ResourceRules.from_raw({"excludeResourcePrefixes": ["memory"]})
    keys = [
        equivalence_key(workload(), workload_request(workload(), context), 0, GATES, is_as_written=is_as_written)
        for context in (RequestContext(), RequestContext(rules=rules))
    ]
    assert (keys[0] == keys[1]) is is_as_written


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda raw: raw["metadata"].update(name="x", uid="2", creationTimestamp="t"), id="metadata"),
        pytest.param(lambda raw: spec_of(raw)["containers"][0].update(image="j", name="d"), id="image and name"),
        pytest.param(
            lambda raw: spec_of(raw)["containers"][0]["resources"]["requests"].update(cpu="1000m", memory="1024Mi"),
            id="the same quantities written otherwise",
        ),
        pytest.param(
            lambda raw: spec_of(raw)["containers"][0].update(resources={"limits": {"cpu": "1", "memory": "1Gi"}}),
            id="limits that become the same requests",
        ),
        pytest.param(lambda raw: raw["spec"].update(queueName="other"), id="local queue"),
        pytest.param(
            lambda raw: raw["metadata"].update(annotations={ALLOWED_FLAVORS_ANNOTATION: "f"}),
            id="allowed flavors, while concurrent admission is off",
        ),
    ],
)
def test_84_what_does_not_matter_to_scheduling_does_not_matter_here(change: Callable[[Raw], object]) -> None:
    assert key(changed(change)) == key(workload())
    assert hash(key(changed(change))) == hash(key(workload()))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda raw: raw["spec"]["podSets"][0].update(count=2), id="count"),
        pytest.param(lambda raw: raw["spec"]["podSets"][0].update(minCount=2), id="minCount"),
        pytest.param(lambda raw: raw["spec"]["podSets"][0].update(name="other"), id="pod set name"),
        pytest.param(
            lambda raw: raw["spec"]["podSets"][0].update(topologyRequest={"podSetGroupName": "g"}), id="topology"
        ),
        pytest.param(
            lambda raw: raw["status"].update(reclaimablePods=[{"name": "main", "count": 1}]), id="reclaimable"
        ),
        pytest.param(
            lambda raw: spec_of(raw)["containers"][0]["resources"]["requests"].update(memory="1073741824"),
            id="the same bytes in another format",
        ),
        pytest.param(lambda raw: spec_of(raw)["containers"][0].update(ports=[{"containerPort": 80}]), id="ports"),
        pytest.param(lambda raw: spec_of(raw).update(nodeSelector={"a": "b"}), id="node selector"),
        pytest.param(lambda raw: spec_of(raw).update(tolerations=[{"operator": "Exists"}]), id="tolerations"),
        pytest.param(lambda raw: spec_of(raw).update(overhead={"cpu": "1"}), id="overhead"),
        pytest.param(lambda raw: spec_of(raw).update(resources={"requests": {"cpu": "1"}}), id="pod-level requests"),
        pytest.param(lambda raw: spec_of(raw).update(runtimeClassName="kata"), id="runtime class"),
    ],
)
def test_what_matters_makes_another_shape(change: Callable[[Raw], object]) -> None:
    assert key(changed(change)) != key(workload())


def test_effective_priority_is_part_of_the_shape() -> None:
    assert key(workload(), 1) != key(workload(), 0)


def test_allowed_flavors_count_with_concurrent_admission() -> None:
    gates = FeatureGates(concurrent_admission=True)
    restricted = changed(lambda raw: raw["metadata"].update(annotations={ALLOWED_FLAVORS_ANNOTATION: "f"}))
    assert key(restricted, gates=gates) != key(workload(), gates=gates)
