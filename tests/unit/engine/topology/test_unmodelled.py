"""What of topology-aware scheduling is refused, by name."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from config.api.meta import ObjectKey, parse_time
from engine.cluster.model import ClusterModel
from engine.objects.configuration import KueueConfiguration
from engine.prediction.predict import predict
from engine.vocabulary.decision import Outcome
from engine.vocabulary.features import FeatureGates
from manager.cli.predict.scenarios import answer
from tests.unit.engine.topology.recorded import Scenario, scenarios

Raw = dict[str, Any]
PREFIX = "unsupported: topology-aware-scheduling: "


def changed(name: str, change: Callable[[Raw], None], **gates: bool) -> Scenario:
    """Return a scenario with another pending Workload or other gates."""
    scenario = deepcopy(scenarios()[name])
    change(next(raw for raw in scenario["objects"] if raw["metadata"]["name"] == "p"))
    return scenario | {"featureGates": gates}


def of_version(name: str, version: str) -> Scenario:
    """Return a scenario of another version of Kueue."""
    return scenarios()[name] | {"kueueVersion": version}


def unchanged(_: Raw) -> None:
    """Leave the Workload as it is."""


def with_unhealthy_node(raw: Raw) -> None:
    raw["status"] = {"unhealthyNodes": [{"name": "h11"}]}


def with_third_member(raw: Raw) -> None:
    raw["spec"]["podSets"].append(deepcopy(raw["spec"]["podSets"][1]) | {"name": "third"})


def with_preference(raw: Raw) -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    raw["spec"]["podSets"][0]["template"]["spec"]["affinity"] = affinity


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        pytest.param(
            changed("1", with_unhealthy_node), "status.unhealthyNodes is set: the replacement", id="99 unhealthy nodes"
        ),
        pytest.param(
            changed("11", unchanged, TASBalancedPlacement=True),
            "spec.podSets[0].topologyRequest.preferred with gate TASBalancedPlacement",
            id="100 balanced placement of a preferred level",
        ),
        pytest.param(
            changed("1", with_preference, TASRespectNodeAffinityPreferred=True),
            "spec.podSets[0].template prefers Nodes, and gate TASRespectNodeAffinityPreferred is on",
            id="preferred Nodes",
        ),
        pytest.param(
            changed("1", unchanged, SchedulerLibraryIntegration=True), "gate SchedulerLibraryIntegration", id="library"
        ),
        pytest.param(changed("44", with_third_member), "podSetGroupName g has 3 pod sets", id="three members"),
        pytest.param(of_version("4", "v0.17.1"), "Kueue before v0.18 counts usage", id="before 0.18"),
        pytest.param(of_version("44", "v0.18.3"), "podSetGroupName g: not modelled", id="a group before 0.19.1"),
        pytest.param(
            of_version("40", "v0.18.3"), "spec.podSets[0].topologyRequest has layers", id="layers before 0.19.1"
        ),
        pytest.param(of_version("37", "v0.20.0"), "spec.podSets[0].count is no multiple", id="a partial slice in 0.20"),
        pytest.param(
            of_version("44", "v0.20.0"), "podSetGroupName g with gate TASGroupedPodSetSlicing", id="a group in 0.20"
        ),
        pytest.param(of_version("27a", "v0.20.0"), "its lowest level is no hostname", id="taints of racks in 0.20"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(scenario: Scenario, reason: str) -> None:
    assert answer(scenario)["expect"]["unsupported"].startswith(f"{PREFIX}{reason}")


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(
            changed("1", unchanged, TASBalancedPlacement=True), id="100 balanced placement of a required level"
        ),
        pytest.param(changed("1", with_preference), id="preferred Nodes without the gate"),
        pytest.param(of_version("29", "v0.18.3"), id="slices in 0.18"),
        pytest.param(of_version("29", "v0.20.0"), id="whole slices in 0.20"),
    ],
)
def test_what_a_gate_does_not_concern_is_answered(scenario: Scenario) -> None:
    assert answer(scenario)["expect"]["mode"] == "Fit"


def test_unlike_nodes_with_one_hostname_are_refused() -> None:
    scenario = deepcopy(scenarios()["1.4.3-two-nodes-one-host-label"])
    first = next(raw for raw in scenario["objects"] if raw["kind"] == "Node")
    first["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    assert "share the hostname" in answer(scenario)["expect"]["unsupported"]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        pytest.param("4", Outcome.UNSUPPORTED, id="101 a topology is asked for"),
        pytest.param("64", Outcome.UNSUPPORTED, id="101 a topology is implied"),
        pytest.param("63", Outcome.ADMIT, id="101 a plain flavor"),
    ],
)
def test_without_nodes_and_pods_nothing_is_said_about_topologies(name: str, outcome: Outcome) -> None:
    scenario = scenarios()[name]
    model = ClusterModel.of(scenario["objects"], KueueConfiguration(gates=FeatureGates()))
    prediction = predict(model, ObjectKey("ns", "p"), parse_time(scenario["now"]), as_head=True)
    assert prediction.outcome is outcome
