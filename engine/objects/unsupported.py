"""What the engine does not model, found in the objects themselves.

Every finding says which feature, where it was seen and how far its effect reaches, so that an answer is refused or
labelled for exactly the workloads concerned. Invariant: nothing here guesses; what cannot be known counts as present.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from config.api.meta import ObjectKey, Raw, conditions, is_true, object_key
from config.names import KUEUE_GROUP, MULTIKUEUE_NAME
from engine.objects.activity import flavor_names
from engine.objects.unsupported_topology import unmodelled_topology, uses_of_topology
from engine.requests.limit_ranges import CONTAINER, ContestedDefault, LimitRangeSummary
from engine.versions.gates import hint_for
from engine.versions.profiles import REFERENCE_PROFILE, VersionProfile
from engine.vocabulary.features import FeatureGates

_CONFIGURATION_V1BETA1: Final = "config.kueue.x-k8s.io/v1beta1"
_PARENT_LABEL: Final = f"{KUEUE_GROUP}/concurrent-admission-parent"
_ELASTIC_ANNOTATION: Final = f"{KUEUE_GROUP}/elastic-job"
_SLICE_ANNOTATION: Final = f"{KUEUE_GROUP}/workload-slice-replacement-for"


class Feature(StrEnum):
    """Features and circumstances that limit a prediction."""

    TOPOLOGY_AWARE_SCHEDULING = "topology-aware-scheduling"
    ADMISSION_FAIR_SHARING = "admission-fair-sharing"
    DYNAMIC_RESOURCE_ALLOCATION = "dynamic-resource-allocation"
    ADMISSION_CHECKS = "admission-checks"
    MULTIKUEUE_DISPATCH = "multikueue-dispatch"
    CONCURRENT_ADMISSION = "concurrent-admission"
    ELASTIC_WORKLOADS = "elastic-workloads"
    BLOCK_ADMISSION = "wait-for-pods-ready-block-admission"
    LIMIT_RANGE_DEFAULTS = "limit-range-defaults"
    CONFIGURABLE_PREEMPTIONS = "configurable-preemptions"
    DYNAMIC_QUOTA_ORCHESTRATION = "dynamic-quota-orchestration"
    FAIR_SHARING_REFILL = "fair-sharing-refill"
    FAIR_SHARING_REEVALUATION = "fair-sharing-reevaluate-preemption-candidates"
    PRIORITIZED_PREEMPTORS = "prioritize-preemptor-workloads"
    KUEUE_CRASH = "kueue-crash"
    UNKNOWN_FIELD = "unknown-field"
    ASSUMED_DEFAULTS = "assumed-defaults"
    ASSUMED_VERSION = "assumed-version"
    UNKNOWN_FEATURE_GATE = "unknown-feature-gate"
    IN_FLIGHT = "in-flight"
    COLD_START = "cold-start"


class FindingEffect(StrEnum):
    """What a finding does to an answer."""

    UNSUPPORTED = "unsupported"
    PARTIAL = "partial"
    AMBIGUOUS = "ambiguous"
    LABEL = "label"


class FindingScope(StrEnum):
    """How far a finding reaches."""

    WORKLOAD = "workload"
    CLUSTER_QUEUE = "cluster-queue"
    NAMESPACE = "namespace"
    CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class UnsupportedFeature:
    """One reason not to trust a prediction blindly."""

    feature: Feature
    effect: FindingEffect
    scope: FindingScope
    detail: str
    object: str


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What is known of the cluster around a workload or a ClusterQueue.

    `is_assumed` when nothing is known of Kueue's Configuration. `device_class_resources` (the extended resources that
    DeviceClasses serve) is None when unknown.
    """

    gates: FeatureGates = field(default_factory=FeatureGates)
    profile: VersionProfile = REFERENCE_PROFILE
    unknown_gates: tuple[str, ...] = ()
    configuration: Raw = field(default_factory=dict)
    is_assumed: bool = False
    flavors: Mapping[str, Raw] = field(default_factory=dict)
    check_controllers: Mapping[str, str] = field(default_factory=dict)
    device_class_resources: AbstractSet[str] | None = None
    sees_topology: bool = False
    """Whether Topologies, Nodes and Pods are known."""
    why_no_topology: str = ""
    """Why they are not; empty if there is nothing to do about it."""


COLD_START: Final = UnsupportedFeature(
    Feature.COLD_START,
    FindingEffect.LABEL,
    FindingScope.CLUSTER,
    "parked workloads and flavor scan progress live in Kueue's memory; predicted as after its restart",
    "",
)


def workload_findings(workload: Raw, around: ClusterFacts) -> list[UnsupportedFeature]:
    """Return what in a workload itself the engine does not model."""
    where = f"Workload {object_key(workload)}"
    found = (
        *_topology_of_workload(workload, around),
        *_claims(workload, around),
        *_concurrent_variant(workload),
        *_elastic(workload, around.gates),
    )
    return [
        UnsupportedFeature(feature, FindingEffect.UNSUPPORTED, FindingScope.WORKLOAD, detail, where)
        for feature, detail in found
    ]


def in_flight_finding(key: ObjectKey) -> UnsupportedFeature:
    """Return the label of a workload that is evicted but still holds its quota."""
    detail = "evicted, and holds its quota until its job has stopped"
    return UnsupportedFeature(Feature.IN_FLIGHT, FindingEffect.LABEL, FindingScope.WORKLOAD, detail, f"Workload {key}")


def cluster_queue_findings(cluster_queue: Raw, around: ClusterFacts) -> list[UnsupportedFeature]:
    """Return what in a ClusterQueue (v1beta2) the engine does not model, or only in part."""
    where = f"ClusterQueue {object_key(cluster_queue)}"
    spec = cluster_queue.get("spec") or {}
    found = (*_unsupported_in_queue(spec, around), *_admission_checks(spec, around))
    return [
        UnsupportedFeature(feature, effect, FindingScope.CLUSTER_QUEUE, detail, where)
        for feature, effect, detail in found
    ]


def cluster_findings(around: ClusterFacts, has_pods_not_ready: Callable[[], bool]) -> list[UnsupportedFeature]:
    """Return what holds for every prediction about a cluster.

    `has_pods_not_ready` tells whether an admitted workload lacks ready pods; it is asked only where that matters.
    """
    found = [
        UnsupportedFeature(feature, FindingEffect.LABEL, FindingScope.CLUSTER, detail, "")
        for feature, detail in _assumptions(around)
    ]
    if _blocks_admission(around.configuration) and has_pods_not_ready():
        detail = "waitForPodsReady.blockAdmission delays every admission until all admitted workloads are ready"
        found.append(
            UnsupportedFeature(
                Feature.BLOCK_ADMISSION, FindingEffect.UNSUPPORTED, FindingScope.CLUSTER, detail, "Configuration"
            )
        )
    return found


def _assumptions(around: ClusterFacts) -> Iterator[tuple[Feature, str]]:
    profile = around.profile
    if profile.assumption is not None:
        yield Feature.ASSUMED_VERSION, profile.assumption
    if around.is_assumed:
        detail = f"Kueue's Configuration is not known; predicted as Kueue {profile} with its defaults"
        yield Feature.ASSUMED_DEFAULTS, detail
    for name in around.unknown_gates:
        yield Feature.UNKNOWN_FEATURE_GATE, f"{name} is no gate of Kueue {profile} as it is known here{hint_for(name)}"


def _blocks_admission(configuration: Raw) -> bool:
    """Return whether one workload is admitted at a time. v1beta1 needs `enable`, and blocks by default."""
    wait = configuration.get("waitForPodsReady") or {}
    if configuration.get("apiVersion") == _CONFIGURATION_V1BETA1:
        return bool(wait.get("enable")) and wait.get("blockAdmission") is not False
    return bool(wait.get("blockAdmission"))


def limit_range_findings(
    namespace: str, summary: LimitRangeSummary, workload: Raw | None = None
) -> list[UnsupportedFeature]:
    """Return the defaults on which LimitRanges of a namespace disagree: Kueue takes either.

    With a workload, only those that it leaves to the LimitRanges.
    """
    where = f"Namespace {namespace}"
    detail = "LimitRanges disagree on {}, and Kueue reads them in no defined order"
    return [
        UnsupportedFeature(
            Feature.LIMIT_RANGE_DEFAULTS, FindingEffect.AMBIGUOUS, FindingScope.NAMESPACE, detail.format(default), where
        )
        for default in summary.contested
        if workload is None or _leaves_open(workload, default)
    ]


def _leaves_open(workload: Raw, default: ContestedDefault) -> bool:
    key = "limits" if default.key == "default" else "requests"
    return any(
        default.resource not in (block.get(key) or {})
        for _, spec in _pod_specs(workload)
        for block in _resource_blocks(spec, default.limit_type)
    )


def _resource_blocks(spec: Raw, limit_type: str) -> Iterator[Raw]:
    if limit_type == CONTAINER:
        for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
            yield container.get("resources") or {}
    elif spec.get("resources") is not None:
        yield spec["resources"]


def _pod_sets(workload: Raw) -> Sequence[Raw]:
    return (workload.get("spec") or {}).get("podSets") or ()


def _pod_specs(workload: Raw) -> Iterator[tuple[str, Raw]]:
    for index, pod_set in enumerate(_pod_sets(workload)):
        yield f"spec.podSets[{index}]", (pod_set.get("template") or {}).get("spec") or {}


def _topology_of_workload(workload: Raw, around: ClusterFacts) -> Iterator[tuple[Feature, str]]:
    if not around.gates.topology_aware_scheduling:
        return
    if not around.sees_topology:
        details = [_with_reason(detail, around) for detail in uses_of_topology(workload)]
    elif any(_topology_of(around, name) for name in around.flavors):
        details = list(unmodelled_topology(workload, around.gates, around.profile.switches))
    else:
        return
    for detail in details:
        yield Feature.TOPOLOGY_AWARE_SCHEDULING, detail


def _with_reason(detail: str, around: ClusterFacts) -> str:
    return f"{detail}; {around.why_no_topology}" if around.why_no_topology else detail


def _topology_of(around: ClusterFacts, flavor: str) -> str | None:
    name: str | None = ((around.flavors.get(flavor) or {}).get("spec") or {}).get("topologyName")
    return name


def _claims(workload: Raw, around: ClusterFacts) -> Iterator[tuple[Feature, str]]:
    """Yield claims of a workload without quota; once it has some, its status says exactly what it uses."""
    if not around.gates.kueue_dra_integration or is_true(conditions(workload), "QuotaReserved"):
        return
    feature = Feature.DYNAMIC_RESOURCE_ALLOCATION
    mappings = (around.configuration.get("resources") or {}).get("deviceClassMappings")
    for path, spec in _pod_specs(workload):
        if spec.get("resourceClaims"):
            yield feature, f"{path}.template.spec.resourceClaims is set"
        if not mappings or not around.gates.kueue_dra_integration_extended_resource:
            continue
        for resource in sorted(_extended_resources(spec)):
            if around.device_class_resources is None:
                yield feature, f"{path} requests {resource}, and it is unknown whether a DeviceClass serves it"
            elif resource in around.device_class_resources:
                yield feature, f"{path} requests {resource}, which a DeviceClass serves"


def _extended_resources(spec: Raw) -> set[str]:
    names: set[str] = set()
    for resources in _resource_blocks(spec, CONTAINER):
        names |= {*(resources.get("requests") or {}), *(resources.get("limits") or {})}
    return {name for name in names if "/" in name and not name.startswith("kubernetes.io/")}


def _concurrent_variant(workload: Raw) -> Iterator[tuple[Feature, str]]:
    """Yield the marks of a variant; the list of allowed flavors alone is modelled."""
    metadata = workload.get("metadata") or {}
    if _PARENT_LABEL in (metadata.get("labels") or {}):
        yield Feature.CONCURRENT_ADMISSION, f"label {_PARENT_LABEL} is set"
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Workload":
            yield Feature.CONCURRENT_ADMISSION, f"is owned by Workload {owner.get('name')}"


def _elastic(workload: Raw, gates: FeatureGates) -> Iterator[tuple[Feature, str]]:
    if not gates.elastic_jobs_via_workload_slices:
        return
    annotations = (workload.get("metadata") or {}).get("annotations") or {}
    if annotations.get(_ELASTIC_ANNOTATION) == "true":
        yield Feature.ELASTIC_WORKLOADS, f"annotation {_ELASTIC_ANNOTATION} is true"
    if annotations.get(_SLICE_ANNOTATION):
        yield Feature.ELASTIC_WORKLOADS, f"annotation {_SLICE_ANNOTATION} is set"


def _unsupported_in_queue(spec: Raw, around: ClusterFacts) -> Iterator[tuple[Feature, FindingEffect, str]]:
    gates, names = around.gates, flavor_names(spec)
    with_topology = [name for name in names if _topology_of(around, name)]
    has_topology = gates.topology_aware_scheduling and not around.sees_topology
    if has_topology and names and len(with_topology) == len(names):
        detail = f"all its flavors have a topology: {', '.join(with_topology)}"
        yield Feature.TOPOLOGY_AWARE_SCHEDULING, FindingEffect.UNSUPPORTED, _with_reason(detail, around)
    mode = (spec.get("admissionScope") or {}).get("admissionMode")
    is_configured = around.configuration.get("admissionFairSharing") is not None
    if gates.admission_fair_sharing and mode == "UsageBasedAdmissionFairSharing" and is_configured:
        detail = "spec.admissionScope orders its workloads by the past usage of their LocalQueues"
        yield Feature.ADMISSION_FAIR_SHARING, FindingEffect.UNSUPPORTED, detail
    if gates.concurrent_admission and spec.get("concurrentAdmissionPolicy") is not None:
        yield Feature.CONCURRENT_ADMISSION, FindingEffect.UNSUPPORTED, "spec.concurrentAdmissionPolicy is set"


def _admission_checks(spec: Raw, around: ClusterFacts) -> Iterator[tuple[Feature, FindingEffect, str]]:
    rules = (spec.get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    for rule in rules:
        name, flavors = rule.get("name"), rule.get("onFlavors") or ()
        reach = f" for flavors {', '.join(flavors)}" if flavors else ""
        if around.check_controllers.get(name) == MULTIKUEUE_NAME:
            detail = f"check {name}{reach}: QuotaReserved predicted, dispatch to workers is not"
            yield Feature.MULTIKUEUE_DISPATCH, FindingEffect.PARTIAL, detail
        else:
            detail = f"check {name}{reach}: QuotaReserved predicted, Admitted unknown"
            yield Feature.ADMISSION_CHECKS, FindingEffect.PARTIAL, detail
