"""Objects that could not exist in a cluster, because Kueue's API server side refuses them."""

from typing import Any

import pytest

from engine.objects.webhook_rules import find_refusals
from engine.vocabulary.features import FeatureGates

Raw = dict[str, Any]
BOOST = "kueue.x-k8s.io/priority-boost"


def cluster_queue(quota: Raw | None = None, **spec: object) -> Raw:
    resources = [{"name": "cpu", "nominalQuota": "4", **(quota or {})}]
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": resources}]}
    return {"kind": "ClusterQueue", "metadata": {"name": "a"}, "spec": {"resourceGroups": [group], **spec}}


def workload(*pod_sets: Raw, annotations: Raw | None = None) -> Raw:
    return {"kind": "Workload", "metadata": {"annotations": annotations}, "spec": {"podSets": list(pod_sets)}}


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (
            cluster_queue(
                preemption={"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
            ),
            "spec.preemption.borrowWithinCohort.policy: "
            "must be Never while spec.preemption.reclaimWithinCohort is Never",
        ),
        (
            cluster_queue(preemption={"reclaimWithinCohort": "LowerOrNewerEqualPriority"}),
            'spec.preemption.reclaimWithinCohort: "LowerOrNewerEqualPriority" is not allowed: '
            "Never, LowerPriority, Any",
        ),
        (
            cluster_queue(preemption={"withinClusterQueue": "Any"}),
            'spec.preemption.withinClusterQueue: "Any" is not allowed: Never, LowerPriority, LowerOrNewerEqualPriority',
        ),
        (
            cluster_queue(
                flavorFungibility={"preference": "BorrowingOverPreemption", "whenCanBorrow": "TryNextFlavor"}
            ),
            "spec.flavorFungibility.preference: "
            "is allowed only while whenCanBorrow and whenCanPreempt are both TryNextFlavor",
        ),
        (
            cluster_queue(fairSharing={"weight": "1n"}),
            'spec.fairSharing.weight: "1n" is not allowed: must be 0 or greater than 1n',
        ),
        (
            cluster_queue({"borrowingLimit": "1"}),
            f"{QUOTA}.borrowingLimit: is allowed only while spec.cohortName is set",
        ),
        (
            cluster_queue({"lendingLimit": "5"}, cohortName="c"),
            f'{QUOTA}.lendingLimit: "5" is not allowed: must be at most nominalQuota, 4',
        ),
        (
            cluster_queue({"lendingLimit": "1"}) | {"kind": "Cohort"},
            f"{QUOTA}.lendingLimit: is allowed only while spec.parentName is set",
        ),
        (
            workload({"count": 2, "minCount": 3}),
            "spec.podSets[0].minCount: 3 is not allowed: must be from 1 to count",
        ),
        (
            workload({"count": 2, "minCount": 1}, {"count": 2, "minCount": 1}),
            "spec.podSets: minCount is set in 2 of them: at most one may",
        ),
        (
            workload({"template": {"spec": {"containers": [{"resources": {"requests": {"pods": "1"}}}]}}}),
            "spec.podSets[0].template.spec.containers[0].resources.requests[pods]: "
            "is counted by Kueue itself and must not be requested",
        ),
        (
            workload(annotations={BOOST: "much"}),
            f'metadata.annotations[{BOOST}]: "much" is not allowed: must be an integer from -2147483648 to 2147483647',
        ),
    ],
)
def test_refused_objects(raw: Raw, want: str) -> None:
    assert [str(refusal) for refusal in find_refusals(raw, FeatureGates(priority_boost=True))] == [want]


@pytest.mark.parametrize(
    "raw",
    [
        cluster_queue(),
        cluster_queue({"borrowingLimit": "9", "lendingLimit": "4"}, cohortName="c", fairSharing={"weight": "0"}),
        cluster_queue({"lendingLimit": "9"}, parentName="p") | {"kind": "Cohort"},
        workload({"count": 2, "minCount": 2}),
        workload(annotations={BOOST: "5"}),
        {"kind": "Namespace"},
    ],
)
def test_storable_objects(raw: Raw) -> None:
    assert find_refusals(raw, FeatureGates(priority_boost=True)) == []


def test_without_its_gate_the_boost_is_not_checked() -> None:
    assert find_refusals(workload(annotations={BOOST: "much"}), FeatureGates()) == []
