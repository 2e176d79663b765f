"""Bad input gets an error that names object and field; never a traceback."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from engine.objects.validate_objects import check_object, find_errors
from engine.vocabulary.errors import InvalidObjectError

Raw = dict[str, Any]


def cluster_queue(**spec: Any) -> Raw:
    quota = {"name": "cpu", "nominalQuota": "4", "borrowingLimit": 1, "lendingLimit": None}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}
    return {"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"resourceGroups": [group], **spec}}


def workload(**pod_set: Any) -> Raw:
    container = {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": 2}}}
    spec = {"podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}, **pod_set}]}
    return {"kind": "Workload", "metadata": {"namespace": "ns", "name": "w"}, "spec": spec, "status": {}}


def with_status(**status: Any) -> Raw:
    return workload() | {"status": status}


def quota_of(raw: Raw) -> Raw:
    quota: Raw = raw["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]
    return quota


def changed(raw: Raw, change: Callable[[Raw], object]) -> Raw:
    raw = copy.deepcopy(raw)
    change(raw)
    return raw


VALID = [
    cluster_queue(),
    cluster_queue(namespaceSelector={}, preemption={"borrowWithinCohort": {"maxPriorityThreshold": -10}}),
    workload(),
    workload(count=10**6),
    workload(count=0, minCount=None),
    with_status(conditions=[{"type": "Evicted", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]),
    {"kind": "Namespace", "metadata": {"name": "ns"}},
    {
        "kind": "ResourceFlavor",
        "metadata": {"name": "f"},
        "spec": {"nodeTaints": [{"key": "k", "effect": "NoExecute"}]},
    },
    {"kind": "Cohort", "metadata": {"name": "c"}, "spec": {"parentName": "c"}},
    {"kind": "LocalQueue", "metadata": {"namespace": "ns", "name": "q"}, "spec": {"clusterQueue": "missing"}},
]


@pytest.mark.parametrize("raw", VALID)
def test_usable_object_has_no_errors(raw: Raw) -> None:
    assert find_errors(raw) == []
    check_object(raw)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param(
            cluster_queue(preemption={"withinClusterQueue": "Foo"}),
            'ClusterQueue "a": spec.preemption.withinClusterQueue: "Foo" is not allowed: '
            "Never, LowerPriority, LowerOrNewerEqualPriority",
            id="unknown policy",
        ),
        pytest.param(
            cluster_queue(preemption={"reclaimWithinCohort": "Foo"}),
            'ClusterQueue "a": spec.preemption.reclaimWithinCohort: "Foo" is not allowed: Never, LowerPriority, Any',
            id="unknown reclaim policy",
        ),
        pytest.param(
            cluster_queue(preemption={"borrowWithinCohort": {"policy": "Any"}}),
            'ClusterQueue "a": spec.preemption.borrowWithinCohort.policy: "Any" is not allowed: Never, LowerPriority',
            id="unknown borrow policy",
        ),
        pytest.param(
            cluster_queue(preemption={"borrowWithinCohort": {"maxPriorityThreshold": "5"}}),
            "ClusterQueue \"a\": spec.preemption.borrowWithinCohort.maxPriorityThreshold: '5' is not allowed: "
            "must be a whole number from -2147483648 to 2147483647",
            id="threshold that is text",
        ),
        pytest.param(
            cluster_queue(preemption={"withinClusterQueueConfig": {"minAdmitDuration": "4h"}}),
            'ClusterQueue "a": spec.preemption.withinClusterQueueConfig: needs '
            "spec.preemption.withinClusterQueue: LowerOrNewerEqualPriority, but it is Never",
            id="141: time-based preemption without its policy",
        ),
        pytest.param(
            cluster_queue(preemption=["Never"]),
            "ClusterQueue \"a\": spec.preemption: ['Never'] is not allowed: must be a map",
            id="a list for a map",
        ),
        pytest.param(
            cluster_queue(queueingStrategy="FIFO"),
            'ClusterQueue "a": spec.queueingStrategy: "FIFO" is not allowed: StrictFIFO, BestEffortFIFO',
            id="unknown strategy",
        ),
        pytest.param(
            cluster_queue(flavorFungibility={"whenCanBorrow": "Borrow"}) | {"apiVersion": "kueue.x-k8s.io/v1beta2"},
            'ClusterQueue "a": spec.flavorFungibility.whenCanBorrow: "Borrow" is not allowed: '
            "MayStopSearch, TryNextFlavor",
            id="value of the old API",
        ),
        pytest.param(
            cluster_queue(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            'ClusterQueue "a": spec.namespaceSelector.matchExpressions[0].operator: '
            "'Is' is not allowed: In, NotIn, Exists, DoesNotExist",
            id="malformed selector",
        ),
        pytest.param(
            changed(cluster_queue(), lambda raw: quota_of(raw).update(nominalQuota="4 cores")),
            'ClusterQueue "a": spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: '
            "'4 cores' is not a quantity: must be a number with an optional suffix "
            "(n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3)",
            id="unparseable quota",
        ),
        pytest.param(
            changed(cluster_queue(), lambda raw: quota_of(raw).update(nominalQuota="-4")),
            'ClusterQueue "a": spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: '
            '"-4" is not allowed: must be zero or more',
            id="negative quota",
        ),
        pytest.param(
            changed(cluster_queue(), lambda raw: quota_of(raw).update(name="memory")),
            'ClusterQueue "a": spec.resourceGroups[0].flavors[0].resources: '
            "must name the coveredResources in their order: cpu",
            id="quota of another resource",
        ),
        pytest.param(
            changed(cluster_queue(), lambda raw: raw["spec"]["resourceGroups"].append({"coveredResources": ["cpu"]})),
            'ClusterQueue "a": spec.resourceGroups[1].coveredResources[0]: "cpu" is covered already',
            id="a resource in two groups",
        ),
        pytest.param(
            changed(
                cluster_queue(),
                lambda raw: raw["spec"]["resourceGroups"].append({"flavors": [{"name": "f"}]}),
            ),
            'ClusterQueue "a": spec.resourceGroups[1].flavors[0].name: "f" is listed already',
            id="a flavor in two groups",
        ),
        pytest.param(
            changed(cluster_queue(), lambda raw: quota_of(raw).pop("nominalQuota")),
            'ClusterQueue "a": spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: must be set',
            id="no quota",
        ),
        pytest.param(
            changed(workload(), lambda raw: raw["spec"]["podSets"].append({"name": "main"})),
            'Workload "ns/w": spec.podSets[1].name: "main" is used already',
            id="two pod sets of one name",
        ),
        pytest.param(
            workload(count=-1),
            'Workload "ns/w": spec.podSets[0].count: -1 is not allowed: must be a whole number from 0 to 2147483647',
            id="negative count",
        ),
        pytest.param(
            workload(template={"spec": {"initContainers": [{"resources": {"requests": {"memory": "1gb"}}}]}}),
            'Workload "ns/w": spec.podSets[0].template.spec.initContainers[0].resources.requests[memory]: '
            "'1gb' is not a quantity: must be a number with an optional suffix "
            "(n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3)",
            id="unparseable request",
        ),
        pytest.param(
            changed(workload(), lambda raw: raw["metadata"].update(annotations={"a": 5})),
            'Workload "ns/w": metadata.annotations[a]: 5 is not allowed: must be text',
            id="annotation that is a number",
        ),
        pytest.param(
            changed(workload(), lambda raw: raw["metadata"].update(creationTimestamp="yesterday")),
            'Workload "ns/w": metadata.creationTimestamp: '
            "'yesterday' is not a time: must be RFC 3339 such as 2026-08-01T12:00:00Z",
            id="creation time",
        ),
        pytest.param(
            changed(workload(), lambda raw: raw["metadata"].pop("namespace")),
            'Workload "w": metadata.namespace: must be set',
            id="no namespace",
        ),
        pytest.param(
            changed(workload(), lambda raw: raw["spec"].update(priority="high")),
            "Workload \"ns/w\": spec.priority: 'high' is not allowed: "
            "must be a whole number from -2147483648 to 2147483647",
            id="priority that is text",
        ),
        pytest.param(
            with_status(conditions=[{"type": "Evicted", "status": True}]),
            'Workload "ns/w": status.conditions[0].status: True is not allowed: must be text',
            id="condition status that is no text",
        ),
        pytest.param(
            with_status(admission={"podSetAssignments": []}),
            'Workload "ns/w": status.admission.clusterQueue: must be set',
            id="admission without a ClusterQueue",
        ),
        pytest.param(
            with_status(reclaimablePods=[{"name": "main", "count": -2}]),
            'Workload "ns/w": status.reclaimablePods[0].count: -2 is not allowed: '
            "must be a whole number from 0 to 2147483647",
            id="negative reclaimable pods",
        ),
        pytest.param(
            with_status(preemptionGates=[{"name": "g", "position": "Ajar"}]),
            'Workload "ns/w": status.preemptionGates[0].position: "Ajar" is not allowed: Open, Closed',
            id="gate position",
        ),
        pytest.param(
            {"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {"nodeTaints": [{"key": "k"}]}},
            'ResourceFlavor "f": spec.nodeTaints[0].effect: "" is not allowed: NoSchedule, PreferNoSchedule, NoExecute',
            id="taint without effect",
        ),
        pytest.param(
            {"kind": "LocalQueue", "metadata": {"namespace": "n", "name": "q"}, "spec": {"stopPolicy": "Stop"}},
            'LocalQueue "n/q": spec.stopPolicy: "Stop" is not allowed: None, Hold, HoldAndDrain',
            id="stop policy",
        ),
        pytest.param(
            {"kind": "Cohort", "metadata": {"name": "c"}, "spec": {"fairSharing": {"weight": "heavy"}}},
            "Cohort \"c\": spec.fairSharing.weight: 'heavy' is not a quantity: "
            "must be a number with an optional suffix "
            "(n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3)",
            id="weight",
        ),
    ],
)
def test_error_names_object_field_and_what_is_allowed(raw: Raw, want: str) -> None:
    assert [str(error) for error in find_errors(raw)] == [want]
    with pytest.raises(InvalidObjectError):
        check_object(raw)


def test_values_that_only_the_scheduler_understands_are_left_to_it() -> None:
    policies = {"withinClusterQueue": "Any", "reclaimWithinCohort": "LowerOrNewerEqualPriority"}
    assert find_errors(cluster_queue(preemption=policies)) == []


def test_several_errors_are_all_reported() -> None:
    raw = cluster_queue(queueingStrategy="x", stopPolicy="y", fairSharing={"weight": "z"})
    assert len(find_errors(raw)) == 3


def test_objects_of_the_old_api_are_judged_after_conversion() -> None:
    old = cluster_queue(flavorFungibility={"whenCanBorrow": "Borrow"}) | {"apiVersion": "kueue.x-k8s.io/v1beta1"}
    assert find_errors(old) == []
    (error,) = find_errors(old | {"apiVersion": "kueue.x-k8s.io/v1alpha1"})
    assert str(error).startswith('ClusterQueue "a": apiVersion: "kueue.x-k8s.io/v1alpha1" is not allowed')


def test_long_values_are_cut_in_errors() -> None:
    (error,) = find_errors(cluster_queue(cohortName=["x"] * 100))
    assert len(str(error)) < 140


def test_wrong_structure_is_reported_without_guessing_at_values() -> None:
    raw = cluster_queue(queueingStrategy="x", resourceGroups=[{"coveredResources": "cpu", "flavors": [None]}])
    assert [str(error) for error in find_errors(raw)] == [
        "ClusterQueue \"a\": spec.resourceGroups[0].coveredResources: 'cpu' is not allowed: must be a list",
        'ClusterQueue "a": spec.resourceGroups[0].flavors[0]: None is not allowed: must be a map',
    ]
