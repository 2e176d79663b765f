"""Conversion to v1beta2 and the defaults of the CRDs."""

import copy
from typing import Any

import pytest

from engine.objects.convert import apply_defaults, normalize, to_v1beta2
from engine.vocabulary.errors import InvalidObjectError

Raw = dict[str, Any]
V1BETA1 = "kueue.x-k8s.io/v1beta1"
V1BETA2 = "kueue.x-k8s.io/v1beta2"


def test_cluster_queue_of_v1beta1() -> None:
    raw = {
        "apiVersion": V1BETA1,
        "kind": "ClusterQueue",
        "metadata": {"name": "a"},
        "spec": {
            "cohort": "c",
            "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt", "preference": None},
            "admissionChecks": ["check"],
            "resourceGroups": [],
        },
    }
    before = copy.deepcopy(raw)
    assert to_v1beta2(raw) == {
        "apiVersion": V1BETA2,
        "kind": "ClusterQueue",
        "metadata": {"name": "a"},
        "spec": {
            "cohortName": "c",
            "flavorFungibility": {
                "whenCanBorrow": "MayStopSearch",
                "whenCanPreempt": "MayStopSearch",
                "preference": None,
            },
            "admissionChecksStrategy": {"admissionChecks": [{"name": "check"}]},
            "resourceGroups": [],
        },
    }
    assert raw == before


@pytest.mark.parametrize(
    ("source", "want"),
    [
        (
            "kueue.x-k8s.io/workloadpriorityclass",
            {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
        ),
        ("scheduling.k8s.io/priorityclass", {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}),
        ("", None),
    ],
)
def test_workload_of_v1beta1(source: str, want: Raw | None) -> None:
    raw = {
        "apiVersion": V1BETA1,
        "kind": "Workload",
        "metadata": {"namespace": "ns", "name": "w"},
        "spec": {"priorityClassSource": source, "priorityClassName": "high", "priority": 7},
        "status": {"accumulatedPastExexcutionTimeSeconds": 3},
    }
    converted = to_v1beta2(raw)
    assert converted["spec"] == {"priority": 7} | ({} if want is None else {"priorityClassRef": want})
    assert converted["status"] == {"accumulatedPastExecutionTimeSeconds": 3}


def test_local_queue_of_v1beta1() -> None:
    raw = {"apiVersion": V1BETA1, "kind": "LocalQueue", "spec": {}, "status": {"flavorUsage": [1]}}
    assert to_v1beta2(raw)["status"] == {"flavorsUsage": [1]}


@pytest.mark.parametrize(
    "raw", [{"apiVersion": V1BETA2, "kind": "Cohort"}, {"apiVersion": "v1", "kind": "Namespace"}, {}]
)
def test_other_objects_pass_through(raw: Raw) -> None:
    assert to_v1beta2(raw) is raw
    assert apply_defaults(raw) is raw


def test_unknown_version_is_refused() -> None:
    with pytest.raises(InvalidObjectError) as caught:
        to_v1beta2({"apiVersion": "kueue.x-k8s.io/v1alpha1", "kind": "Cohort", "metadata": {"name": "c"}})
    assert str(caught.value) == (
        'Cohort "c": apiVersion: "kueue.x-k8s.io/v1alpha1" is not allowed: '
        "kueue.x-k8s.io/v1beta2, kueue.x-k8s.io/v1beta1"
    )


@pytest.mark.parametrize(
    "spec", [{}, {"preemption": {}, "flavorFungibility": {}}, {"preemption": None, "stopPolicy": None}, None]
)
def test_empty_cluster_queue_gets_every_default(spec: Raw | None) -> None:
    assert apply_defaults({"kind": "ClusterQueue", "spec": spec})["spec"] == {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "preemption": {
            "withinClusterQueue": "Never",
            "reclaimWithinCohort": "Never",
            "borrowWithinCohort": {"policy": "Never"},
        },
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
    }


def test_given_values_win_over_defaults() -> None:
    spec = {
        "queueingStrategy": "StrictFIFO",
        "preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"maxPriorityThreshold": 5}},
        "namespaceSelector": {},
    }
    defaulted = apply_defaults({"kind": "ClusterQueue", "spec": spec})["spec"]
    assert defaulted["queueingStrategy"] == "StrictFIFO"
    assert defaulted["preemption"] == {
        "withinClusterQueue": "Never",
        "reclaimWithinCohort": "Any",
        "borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 5},
    }
    assert defaulted["namespaceSelector"] == {}


def test_workload_defaults() -> None:
    defaulted = apply_defaults({"kind": "Workload", "spec": {"podSets": [{"template": {}}]}})["spec"]
    assert defaulted == {"active": True, "podSets": [{"name": "main", "count": 1, "template": {}}]}


def test_local_queue_defaults() -> None:
    assert apply_defaults({"kind": "LocalQueue", "spec": {"clusterQueue": "a"}})["spec"]["stopPolicy"] == "None"


def test_normalizing_twice_changes_nothing_more() -> None:
    raw = {"apiVersion": V1BETA1, "kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"cohort": "c"}}
    once = normalize(raw)
    assert normalize(once) is once
