"""Kueue objects with every field, and values that no field should have."""

from typing import Any

from hypothesis import strategies as st

Raw = dict[str, Any]


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
