"""Objects of topologies that cannot be used: the error names object and field, whichever way they come in."""

import re
import time
from copy import deepcopy
from typing import Any

import pytest

from engine.cluster.model import ClusterModel
from engine.forecasting.observed import ObservedCluster
from engine.objects.validate_objects import find_errors
from engine.vocabulary.errors import InvalidObjectError
from manager.cli.predict.scenarios import answer
from tests.unit.engine.topology.recorded import scenarios

Raw = dict[str, Any]
ASSIGNMENT = "status.admission.podSetAssignments[0].topologyAssignment"


def topology(*levels: str) -> Raw:
    return {"kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": [{"nodeLabel": each} for each in levels]}}


def node(**changes: Any) -> Raw:
    status = {"allocatable": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"kind": "Node", "metadata": {"name": "n"}, "spec": {}, "status": status | changes}


def pod(cpu: str) -> Raw:
    spec = {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    return {"kind": "Pod", "metadata": {"namespace": "ns", "name": "p"}, "spec": spec}


def running(assignment: object) -> Raw:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"namespace": "ns", "name": "w"},
        "spec": {"podSets": [{"name": "main", "count": 1}]},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
            "admission": {
                "clusterQueue": "a",
                "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}, "topologyAssignment": assignment}],
            },
        },
    }


BAD = [
    pytest.param(topology(), 'Topology "t": spec.levels: has 0 levels: must have 1 to 16', id="no levels"),
    pytest.param(
        topology(*map(str, range(17))), 'Topology "t": spec.levels: has 17 levels: must have 1 to 16', id="many levels"
    ),
    pytest.param(
        topology("rack", "rack"), 'Topology "t": spec.levels[1].nodeLabel: "rack" is a level already', id="twice"
    ),
    pytest.param(topology("a", "b", "a"), 'Topology "t": spec.levels[2].nodeLabel: "a" is a level already', id="cycle"),
    pytest.param(
        topology("kubernetes.io/hostname", "rack"),
        'Topology "t": spec.levels[0].nodeLabel: "kubernetes.io/hostname" is allowed only as the last level',
        id="hostname above",
    ),
    pytest.param(topology(""), 'Topology "t": spec.levels[0].nodeLabel: must be set', id="no label"),
    pytest.param(
        node(allocatable={"cpu": "NaN"}), "Node \"n\": status.allocatable[cpu]: 'NaN' is not a quantity", id="NaN"
    ),
    pytest.param(pod("1e99x"), "Pod \"ns/p\": spec.containers[0].resources.requests[cpu]: '1e99x' is not", id="pod"),
    pytest.param(
        running({"levels": ["h"], "slices": [{"domainCount": -1}]}),
        f'Workload "ns/w": {ASSIGNMENT}.slices[0].domainCount: -1 is not allowed',
        id="assignment",
    ),
]


@pytest.mark.parametrize(("raw", "error"), BAD)
def test_the_model_names_object_and_field(raw: Raw, error: str) -> None:
    with pytest.raises(InvalidObjectError) as raised:
        ClusterModel(sees_topology=True).apply(raw)
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize(("raw", "error"), BAD)
def test_the_check_of_files_finds_the_same(raw: Raw, error: str) -> None:
    assert str(find_errors(raw)[0]).startswith(error)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (running("x"), f"Workload \"ns/w\": {ASSIGNMENT}: 'x' is not allowed: must be a map"),
        (topology("a") | {"spec": {"levels": ["a"]}}, "Topology \"t\": spec.levels[0]: 'a' is not allowed"),
        (node(allocatable=[]), 'Node "n": status.allocatable: [] is not allowed: must be a map'),
        (node(conditions=["x"]), "Node \"n\": status.conditions[0]: 'x' is not allowed: must be a map"),
    ],
)
def test_the_check_of_files_names_a_wrong_structure(raw: Raw, error: str) -> None:
    assert str(find_errors(raw)[0]).startswith(error)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        ({"required": 1}, "required: 1 is not allowed: must be text"),
        ({"unconstrained": "yes"}, 'unconstrained: "yes" is not allowed: true, false'),
        ({"podSetSliceSize": -2}, "podSetSliceSize: -2 is not allowed: must be a whole number"),
        ({"podsetSliceRequiredTopologyConstraints": ["x"]}, "podsetSliceRequiredTopologyConstraints: must be a list"),
    ],
)
def test_a_request_that_cannot_be_read_is_an_error(request_: Raw, error: str) -> None:
    scenario = deepcopy(scenarios()["1"])
    pending = next(raw for raw in scenario["objects"] if raw["kind"] == "Workload")
    pending["spec"]["podSets"][0]["topologyRequest"] = request_
    with pytest.raises(InvalidObjectError) as raised:
        answer(scenario)
    assert str(raised.value).startswith(f'Workload "ns/p": spec.podSets[0].topologyRequest.{error}')


def test_an_assignment_that_names_no_node_takes_no_room() -> None:
    scenario = deepcopy(scenarios()["76"])
    for raw in scenario["objects"]:
        if raw["metadata"]["name"] == "v":
            placed = raw["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
            placed["slices"][0]["valuesPerLevel"] = [{"universal": "nowhere"}]
    assert answer(scenario)["expect"]["mode"] == "Fit"


def test_a_node_without_the_labels_of_all_levels_holds_nothing() -> None:
    scenario = deepcopy(scenarios()["1"])
    for raw in scenario["objects"]:
        if raw["kind"] == "Node":
            del raw["metadata"]["labels"]["rack"]
    message = answer(scenario)["expect"]["message"]
    assert message == "couldn't assign flavors to pod set main: no topology domains at level: kubernetes.io/hostname"


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (pod("1") | {"spec": {"nodeName": 7}}, 'Pod "ns/p": spec.nodeName: 7 is not allowed: must be text'),
        (pod("1") | {"spec": "x"}, "Pod \"ns/p\": spec: 'x' is not allowed: must be a map"),
        (node() | {"spec": ["taints"]}, "Node \"n\": spec: ['taints'] is not allowed: must be a map"),
        (topology("rack", "rack"), 'Topology "t": spec.levels[1].nodeLabel: "rack" is a level already'),
    ],
)
def test_what_a_watch_brings_is_checked_before_it_is_kept(raw: Raw, error: str) -> None:
    with pytest.raises(ValueError, match=re.escape(error)):
        ObservedCluster().read(raw["kind"], raw)


def test_an_assignment_of_a_million_domains_is_refused_at_once() -> None:
    placed = {"levels": ["h"], "slices": [{"domainCount": 10**6, "podCounts": {"universal": 1}}]}
    started = time.process_time()
    with pytest.raises(InvalidObjectError) as raised:
        ClusterModel(sees_topology=True).apply(running(placed))
    assert str(raised.value).startswith(f'Workload "ns/w": {ASSIGNMENT}.slices[0].')
    assert time.process_time() - started < 1
