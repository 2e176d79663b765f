"""148: what the engine does not model is found in the objects and named, never guessed."""

from typing import Any

import pytest

from engine.objects.unsupported import (
    COLD_START,
    ClusterFacts,
    Feature,
    FindingEffect,
    FindingScope,
    cluster_findings,
    cluster_queue_findings,
    limit_range_findings,
    workload_findings,
)
from engine.requests.limit_ranges import ContestedDefault, LimitRangeSummary
from engine.vocabulary.features import FeatureGates

Raw = dict[str, Any]
KNOWN = ClusterFacts(configuration={})


def workload(
    pod_spec: Raw | None = None,
    pod_set: Raw | None = None,
    metadata: Raw | None = None,
    spec: Raw | None = None,
    **rest: Any,
) -> Raw:
    return {
        "metadata": {"namespace": "ns", "name": "w", **(metadata or {})},
        "spec": {
            "podSets": [{"name": "main", "template": {"spec": pod_spec or {}}, **(pod_set or {})}],
            **(spec or {}),
        },
        **rest,
    }


def requesting(resource: str) -> Raw:
    return workload({"containers": [{"resources": {"limits": {resource: "1"}}}]})


@pytest.mark.parametrize(
    ("raw", "around", "feature", "detail"),
    [
        pytest.param(
            workload(pod_set={"topologyRequest": {"required": "rack"}}),
            KNOWN,
            Feature.TOPOLOGY_AWARE_SCHEDULING,
            "spec.podSets[0].topologyRequest.required is set",
            id="topology request",
        ),
        pytest.param(
            workload(pod_set={"topologyRequest": {"unconstrained": False}}),
            KNOWN,
            Feature.TOPOLOGY_AWARE_SCHEDULING,
            "spec.podSets[0].topologyRequest.unconstrained is set",
            id="a topology request that is false is a request",
        ),
        pytest.param(
            workload(status={"admission": {"podSetAssignments": [{"topologyAssignment": {"levels": ["h"]}}]}}),
            KNOWN,
            Feature.TOPOLOGY_AWARE_SCHEDULING,
            "status.admission.podSetAssignments[0].topologyAssignment is set",
            id="topology assignment",
        ),
        pytest.param(
            workload(status={"unhealthyNodes": [{"name": "n"}]}),
            KNOWN,
            Feature.TOPOLOGY_AWARE_SCHEDULING,
            "status.unhealthyNodes is set",
            id="unhealthy nodes",
        ),
        pytest.param(
            workload({"resourceClaims": [{"name": "c"}]}),
            KNOWN,
            Feature.DYNAMIC_RESOURCE_ALLOCATION,
            "spec.podSets[0].template.spec.resourceClaims is set",
            id="resource claims",
        ),
        pytest.param(
            requesting("gpu.example.com/a"),
            ClusterFacts(
                configuration={"resources": {"deviceClassMappings": [{"name": "x"}]}},
                device_class_resources={"gpu.example.com/a"},
            ),
            Feature.DYNAMIC_RESOURCE_ALLOCATION,
            "spec.podSets[0] requests gpu.example.com/a, which a DeviceClass serves",
            id="extended resource of a DeviceClass",
        ),
        pytest.param(
            requesting("gpu.example.com/a"),
            ClusterFacts(configuration={"resources": {"deviceClassMappings": [{"name": "x"}]}}),
            Feature.DYNAMIC_RESOURCE_ALLOCATION,
            "spec.podSets[0] requests gpu.example.com/a, and it is unknown whether a DeviceClass serves it",
            id="extended resource, DeviceClasses unknown",
        ),
        pytest.param(
            workload(metadata={"labels": {"kueue.x-k8s.io/concurrent-admission-parent": "p"}}),
            KNOWN,
            Feature.CONCURRENT_ADMISSION,
            "label kueue.x-k8s.io/concurrent-admission-parent is set",
            id="variant",
        ),
        pytest.param(
            workload(metadata={"ownerReferences": [{"kind": "Workload", "name": "p"}]}),
            KNOWN,
            Feature.CONCURRENT_ADMISSION,
            "is owned by Workload p",
            id="owned by a workload",
        ),
        pytest.param(
            workload(metadata={"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}),
            KNOWN,
            Feature.ELASTIC_WORKLOADS,
            "annotation kueue.x-k8s.io/elastic-job is true",
            id="elastic job",
        ),
        pytest.param(
            workload(metadata={"annotations": {"kueue.x-k8s.io/workload-slice-replacement-for": "ns/v"}}),
            KNOWN,
            Feature.ELASTIC_WORKLOADS,
            "annotation kueue.x-k8s.io/workload-slice-replacement-for is set",
            id="slice",
        ),
    ],
)
def test_148_workload_that_is_not_modelled(raw: Raw, around: ClusterFacts, feature: Feature, detail: str) -> None:
    (finding,) = workload_findings(raw, around)
    assert (finding.feature, finding.detail) == (feature, detail)
    assert (finding.effect, finding.scope, finding.object) == (
        FindingEffect.UNSUPPORTED,
        FindingScope.WORKLOAD,
        "Workload ns/w",
    )


NO_TOPOLOGY = ClusterFacts(configuration={}, gates=FeatureGates(topology_aware_scheduling=False))
NO_SLICES = ClusterFacts(configuration={}, gates=FeatureGates(elastic_jobs_via_workload_slices=False))


@pytest.mark.parametrize(
    ("raw", "around"),
    [
        pytest.param(workload(), ClusterFacts(), id="an ordinary workload"),
        pytest.param(workload(pod_set={"topologyRequest": {"podSetGroupName": "g"}}), KNOWN, id="only a group name"),
        pytest.param(workload(pod_set={"topologyRequest": {"required": "rack"}}), NO_TOPOLOGY, id="topology off"),
        pytest.param(requesting("gpu.example.com/a"), KNOWN, id="no device class mappings"),
        pytest.param(
            requesting("cpu"),
            ClusterFacts(configuration={"resources": {"deviceClassMappings": [{"name": "x"}]}}),
            id="no extended resource",
        ),
        pytest.param(
            workload(
                {"resourceClaims": [{"name": "c"}]},
                status={"conditions": [{"type": "QuotaReserved", "status": "True"}]},
            ),
            KNOWN,
            id="claims of an admitted workload: its status is exact",
        ),
        pytest.param(
            workload(metadata={"annotations": {"kueue.x-k8s.io/elastic-job": "true"}}), NO_SLICES, id="elastic jobs off"
        ),
        pytest.param(
            workload(metadata={"annotations": {"kueue.x-k8s.io/workload-allowed-resource-flavors": "f"}}),
            KNOWN,
            id="allowed flavors alone are modelled",
        ),
        pytest.param(workload(spec={"preemptionGates": [{"name": "g"}]}), KNOWN, id="preemption gates"),
    ],
)
def test_workload_that_is_modelled(raw: Raw, around: ClusterFacts) -> None:
    assert workload_findings(raw, around) == []


def queue(flavors: tuple[str, ...] = ("plain",), **spec: object) -> Raw:
    groups = [{"coveredResources": ["cpu"], "flavors": [{"name": name} for name in flavors]}]
    return {"metadata": {"name": "a"}, "spec": {"resourceGroups": groups, **spec}}


FLAVORS: dict[str, Raw] = {"plain": {"spec": {}}, "rack": {"spec": {"topologyName": "t"}}}
FAIR: Raw = {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}


@pytest.mark.parametrize(
    ("raw", "around", "feature", "effect", "detail"),
    [
        pytest.param(
            queue(("rack",)),
            ClusterFacts(flavors=FLAVORS),
            Feature.TOPOLOGY_AWARE_SCHEDULING,
            FindingEffect.UNSUPPORTED,
            "all its flavors have a topology: rack",
            id="topology only",
        ),
        pytest.param(
            queue(**FAIR),
            ClusterFacts(configuration={"admissionFairSharing": {}}),
            Feature.ADMISSION_FAIR_SHARING,
            FindingEffect.UNSUPPORTED,
            "spec.admissionScope orders its workloads by the past usage of their LocalQueues",
            id="admission fair sharing",
        ),
        pytest.param(
            queue(concurrentAdmissionPolicy={}),
            ClusterFacts(gates=FeatureGates(concurrent_admission=True)),
            Feature.CONCURRENT_ADMISSION,
            FindingEffect.UNSUPPORTED,
            "spec.concurrentAdmissionPolicy is set",
            id="concurrent admission",
        ),
        pytest.param(
            queue(admissionChecksStrategy={"admissionChecks": [{"name": "prov", "onFlavors": ["f", "g"]}]}),
            ClusterFacts(check_controllers={"prov": "kueue.x-k8s.io/provisioning-request"}),
            Feature.ADMISSION_CHECKS,
            FindingEffect.PARTIAL,
            "check prov for flavors f, g: QuotaReserved predicted, Admitted unknown",
            id="admission check",
        ),
        pytest.param(
            queue(admissionChecksStrategy={"admissionChecks": [{"name": "mk"}]}),
            ClusterFacts(check_controllers={"mk": "kueue.x-k8s.io/multikueue"}),
            Feature.MULTIKUEUE_DISPATCH,
            FindingEffect.PARTIAL,
            "check mk: QuotaReserved predicted, dispatch to workers is not",
            id="MultiKueue manager",
        ),
    ],
)
def test_148_cluster_queue_that_is_not_fully_modelled(
    raw: Raw, around: ClusterFacts, feature: Feature, effect: FindingEffect, detail: str
) -> None:
    (finding,) = cluster_queue_findings(raw, around)
    assert (finding.feature, finding.effect, finding.detail) == (feature, effect, detail)
    assert (finding.scope, finding.object) == (FindingScope.CLUSTER_QUEUE, "ClusterQueue a")


@pytest.mark.parametrize(
    ("raw", "around"),
    [
        pytest.param(queue(), ClusterFacts(flavors=FLAVORS), id="an ordinary queue"),
        pytest.param(queue(("plain", "rack")), ClusterFacts(flavors=FLAVORS), id="plain pod sets just miss the flavor"),
        pytest.param(queue(("rack",)), ClusterFacts(NO_TOPOLOGY.gates, flavors=FLAVORS), id="topology off"),
        pytest.param(queue(**FAIR), KNOWN, id="admission fair sharing without its configuration"),
        pytest.param(queue(concurrentAdmissionPolicy={}), KNOWN, id="concurrent admission off"),
        pytest.param(queue(()), KNOWN, id="no flavors"),
    ],
)
def test_cluster_queue_that_is_modelled(raw: Raw, around: ClusterFacts) -> None:
    assert cluster_queue_findings(raw, around) == []


@pytest.mark.parametrize(("is_assumed", "want"), [(True, [Feature.ASSUMED_DEFAULTS]), (False, [])])
def test_an_unknown_configuration_is_labelled(is_assumed: bool, want: list[Feature]) -> None:
    findings = cluster_findings(ClusterFacts(is_assumed=is_assumed), lambda: True)
    assert [finding.feature for finding in findings] == want
    assert all(finding.effect is FindingEffect.LABEL for finding in findings)


@pytest.mark.parametrize(("waiting", "want"), [(True, [Feature.BLOCK_ADMISSION]), (False, [])])
def test_blocked_admission_matters_only_while_something_is_not_ready(waiting: bool, want: list[Feature]) -> None:
    around = ClusterFacts(configuration={"waitForPodsReady": {"blockAdmission": True}})
    assert [finding.feature for finding in cluster_findings(around, lambda: waiting)] == want


CONTESTED = LimitRangeSummary(
    contested=(ContestedDefault("Container", "defaultRequest", "cpu"), ContestedDefault("Pod", "default", "cpu"))
)


def test_contested_limit_ranges_are_ambiguous() -> None:
    findings = limit_range_findings("ns", CONTESTED)
    assert [(f.effect, f.scope, f.object) for f in findings] == [
        (FindingEffect.AMBIGUOUS, FindingScope.NAMESPACE, "Namespace ns")
    ] * 2
    assert "Container defaultRequest cpu" in findings[0].detail


@pytest.mark.parametrize(
    ("pod_spec", "want"),
    [
        pytest.param({"containers": [{"resources": {"requests": {"cpu": "1"}}}]}, 0, id="says it all itself"),
        pytest.param({"containers": [{"resources": {"limits": {"cpu": "1"}}}]}, 1, id="leaves its request open"),
        pytest.param({"initContainers": [{}], "resources": {}}, 2, id="leaves everything open"),
    ],
)
def test_contested_default_matters_only_to_a_workload_that_needs_it(pod_spec: Raw, want: int) -> None:
    assert len(limit_range_findings("ns", CONTESTED, workload(pod_spec))) == want


def test_cold_start_is_a_label() -> None:
    assert COLD_START.effect is FindingEffect.LABEL
