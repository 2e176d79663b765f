"""Whatever stands in a manifest: an error that names it, or an object that every leaf of the engine can read."""

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InvalidObjectError
from engine.features import FeatureGates
from engine.flavors.node_affinity import AffinityError
from engine.flavors.suitability import FlavorPlacement, PodPlacement
from engine.objects.activity import KnownChecks, why_inactive
from engine.objects.boost import preemption_cost, priority_boost
from engine.objects.unsupported import Surroundings, cluster_queue_findings, in_flight_finding, workload_findings
from engine.objects.validate_objects import find_errors, load_object
from engine.objects.webhook_rules import find_refusals
from engine.requests.equivalence import equivalence_key
from engine.requests.requests import RequestContext, workload_request

Raw = dict[str, Any]
GATES = FeatureGates(priority_boost=True, preemption_cost=True, concurrent_admission=True)
AROUND = Surroundings(GATES, {"resources": {"deviceClassMappings": [{}]}, "admissionFairSharing": {}})

WORKLOAD: Raw = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "Workload",
    "metadata": {
        "namespace": "ns",
        "name": "w",
        "uid": "u",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"kueue.x-k8s.io/job-uid": "j"},
        "annotations": {"kueue.x-k8s.io/priority-boost": "5", "kueue.x-k8s.io/preemption-cost": "x"},
        "ownerReferences": [{"kind": "Job", "name": "j"}],
    },
    "spec": {
        "queueName": "q",
        "priority": 5,
        "active": True,
        "preemptionGates": [{"name": "g"}],
        "podSets": [
            {
                "name": "main",
                "count": 3,
                "minCount": 1,
                "topologyRequest": {"required": "rack"},
                "template": {
                    "spec": {
                        "initContainers": [
                            {"name": "i", "restartPolicy": "Always", "resources": {"limits": {"cpu": "1"}}}
                        ],
                        "containers": [{"name": "c", "ports": [], "resources": {"requests": {"memory": "1Gi"}}}],
                        "resources": {"requests": {"cpu": "1"}},
                        "overhead": {"cpu": "1m"},
                        "runtimeClassName": "kata",
                        "resourceClaims": [{"name": "c"}],
                        "nodeSelector": {"t": "x"},
                        "tolerations": [{"key": "k", "operator": "Lt", "value": "5", "effect": "NoSchedule"}],
                        "affinity": {
                            "nodeAffinity": {
                                "requiredDuringSchedulingIgnoredDuringExecution": {
                                    "nodeSelectorTerms": [
                                        {"matchExpressions": [{"key": "t", "operator": "Gt", "values": ["1"]}]}
                                    ]
                                }
                            }
                        },
                    }
                },
            }
        ],
    },
    "status": {
        "conditions": [{"type": "Evicted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "reclaimablePods": [{"name": "main", "count": 1}],
        "admission": {
            "clusterQueue": "a",
            "podSetAssignments": [{"name": "main", "count": 2, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "2"}}],
        },
        "requeueState": {"count": 1, "requeueAt": "2026-01-01T00:00:00Z"},
        "preemptionGates": [{"name": "g", "position": "Open"}],
    },
}
CLUSTER_QUEUE: Raw = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "ClusterQueue",
    "metadata": {"name": "a"},
    "spec": {
        "cohort": "c",
        "queueingStrategy": "StrictFIFO",
        "stopPolicy": "None",
        "namespaceSelector": {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]},
        "flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"},
        "preemption": {
            "withinClusterQueue": "LowerOrNewerEqualPriority",
            "withinClusterQueueConfig": {"minAdmitDuration": "4h"},
            "borrowWithinCohort": {"policy": "Never", "maxPriorityThreshold": 5},
        },
        "fairSharing": {"weight": "2"},
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
        "admissionChecks": ["check"],
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [
                    {
                        "name": "f",
                        "resources": [{"name": "cpu", "nominalQuota": "4", "borrowingLimit": "1", "lendingLimit": "1"}],
                    }
                ],
            }
        ],
    },
}
FLAVOR: Raw = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "ResourceFlavor",
    "metadata": {"name": "f"},
    "spec": {
        "nodeLabels": {"t": "5"},
        "nodeTaints": [{"key": "k", "value": "v", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
        "tolerations": [{"key": "other", "operator": "Exists"}],
        "topologyName": "rack",
    },
}

odd_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["5", "-1", "1e999999999", "Never", "True", "2026-01-01T00:00:00Z", "0", "60s"]),
    lambda children: st.lists(children, max_size=2) | st.dictionaries(st.text(max_size=3), children, max_size=2),
    max_leaves=4,
)


def paths(node: object, prefix: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    here = [prefix] if prefix else []
    if isinstance(node, dict):
        return here + [path for key, value in node.items() for path in paths(value, (*prefix, key))]
    if isinstance(node, list):
        return here + [path for index, value in enumerate(node) for path in paths(value, (*prefix, index))]
    return here


@st.composite
def damaged(draw: st.DrawFn, whole: Raw) -> Raw:
    """Return a copy of an object with one to three values replaced by something else."""
    raw = copy.deepcopy(whole)
    for path in draw(st.lists(st.sampled_from(paths(whole)), min_size=1, max_size=3)):
        if path != ("kind",):
            with contextlib.suppress(KeyError, IndexError, TypeError):  # an earlier replacement may have cut the path
                target: Any = raw
                for step in path[:-1]:
                    target = target[step]
                target[path[-1]] = draw(odd_values)
    return raw


def usable(raw: Raw) -> Raw | None:
    """Return the object as the engine reads it, or None when it was refused with errors that name it."""
    errors = find_errors(raw)
    assert all(str(error).startswith(f"{raw['kind']} ") for error in errors)
    if not errors:
        return dict(load_object(raw))
    with pytest.raises(InvalidObjectError):
        load_object(raw)
    return None


@settings(max_examples=100, deadline=None)
@given(damaged(WORKLOAD))
def test_damaged_workload(raw: Raw) -> None:
    normal = usable(raw)
    if normal is None:
        return
    request = workload_request(normal, RequestContext())
    hash(equivalence_key(normal, request, 0, GATES))
    workload_findings(normal, AROUND)
    in_flight_finding(normal)
    find_refusals(normal, GATES)
    annotations = normal["metadata"].get("annotations")
    priority_boost(annotations, GATES)
    preemption_cost(annotations, GATES)
    flavor = FlavorPlacement.from_raw(FLAVOR)
    for pod_set in normal["spec"]["podSets"]:
        pod = PodPlacement.from_raw((pod_set.get("template") or {}).get("spec") or {})
        with contextlib.suppress(AffinityError):
            flavor.why_unsuitable(pod)


@settings(max_examples=100, deadline=None)
@given(damaged(CLUSTER_QUEUE))
def test_damaged_cluster_queue(raw: Raw) -> None:
    normal = usable(raw)
    if normal is None:
        return
    find_refusals(normal, GATES)
    cluster_queue_findings(normal, AROUND)
    why_inactive(normal, {"f"}, KnownChecks({"check": "x"}), in_cohort_cycle=False)


@settings(max_examples=100, deadline=None)
@given(damaged(FLAVOR))
def test_damaged_flavor(raw: Raw) -> None:
    normal = usable(raw)
    if normal is not None:
        spec = WORKLOAD["spec"]["podSets"][0]["template"]["spec"]
        FlavorPlacement.from_raw(normal).why_unsuitable(PodPlacement.from_raw(spec))
