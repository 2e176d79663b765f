"""Feature gates that change what the engine predicts.

The defaults are those of Kueue v0.19.1. Two gates are the product's own: they switch on KEP-7990's preemption cost and
KEP-8522's time-based preemption, which no released Kueue has. Each gate is an attribute in snake_case, so that reading
one costs no more than reading any other attribute.
"""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, Self


class FeatureGateError(ValueError):
    """A gate that does not exist, or a value that is not a boolean."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The state of every gate the engine knows."""

    partial_admission: bool = True
    flavor_fungibility: bool = True
    flavor_fungibility_preserve_scan_progress: bool = True
    priority_sorting_within_cohort: bool = True
    reclaimable_pods: bool = True
    scheduling_equivalence_hashing: bool = True
    fair_sharing_preempt_within_nominal: bool = True
    fair_sharing_prioritize_non_borrowing: bool = True
    topology_aware_scheduling: bool = True
    admission_gated_by: bool = True
    admission_fair_sharing: bool = True
    quota_check_strategy: bool = True
    elastic_jobs_via_workload_slices: bool = True
    kueue_dra_integration: bool = True
    kueue_dra_integration_extended_resource: bool = True
    skip_reassignment_for_pod_owned_workloads: bool = True
    priority_boost: bool = False
    scheduler_timestamp_preemption_buffer: bool = False
    scheduler_long_requeue_interval: bool = False
    recompute_assignment_upon_preemption_targets_overlap: bool = False
    multi_kueue_orchestrated_preemption: bool = False
    concurrent_admission: bool = False
    unadmitted_workloads_observability: bool = False
    unadmitted_workloads_explicit_status: bool = False
    time_based_same_priority_preemption: bool = False
    preemption_cost: bool = False

    @classmethod
    def from_mapping(cls, gates: Mapping[str, object]) -> Self:
        """Return the defaults with `gates` (name as Kueue spells it → boolean) on top."""
        overrides: dict[str, bool] = {}
        for name, enabled in gates.items():
            if name not in _ATTRIBUTE_OF_GATE and name not in _GATES_WITHOUT_EFFECT_HERE:
                raise FeatureGateError(_unknown_gate(name))
            if not isinstance(enabled, bool):
                raise FeatureGateError(f"feature gate {name}: {enabled!r} is not allowed: true, false")
            if name in _ATTRIBUTE_OF_GATE:
                overrides[_ATTRIBUTE_OF_GATE[name]] = enabled
        return cls(**overrides)


def parse_feature_gates(text: str) -> FeatureGates:
    """Read `A=true,B=false`, the syntax of Kubernetes' --feature-gates."""
    gates: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        enabled = _BOOLEANS.get(value)
        if not equals or enabled is None:
            raise FeatureGateError(f"feature gates: {part!r} is not allowed: must be NAME=true or NAME=false")
        gates[name] = enabled
    return FeatureGates.from_mapping(gates)


def _unknown_gate(name: object) -> str:
    close = difflib.get_close_matches(str(name), GATE_NAMES, n=1)
    hint = f", did you mean {close[0]}?" if close else "."
    return f"unknown feature gate {name!r}{hint} Known: {', '.join(sorted(GATE_NAMES))}"


def _gate_name(attribute: str) -> str:
    name = "".join(word.capitalize() for word in attribute.split("_"))
    return name.replace("Dra", "DRA")


_BOOLEANS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "True", "TRUE", "t", "T", "1"), True),
    **dict.fromkeys(("false", "False", "FALSE", "f", "F", "0"), False),
}
_ATTRIBUTE_OF_GATE: Final[Mapping[str, str]] = {_gate_name(field.name): field.name for field in fields(FeatureGates)}
GATE_NAMES: Final = frozenset(_ATTRIBUTE_OF_GATE)
_GATES_WITHOUT_EFFECT_HERE: Final = frozenset(
    {
        "AssignQueueLabelsForPods",
        "CleanupProvisioningRequestsOnEviction",
        "CustomMetricLabels",
        "DeferRayServiceFinalizationForRedisCleanup",
        "DisableWaitForPodsReady",
        "ElasticJobsViaWorkloadSlicesWithTAS",
        "FailureRecoveryPolicy",
        "FastQuotaReleaseInPodIntegration",
        "FinishOrphanedWorkloads",
        "HierarchicalCohorts",
        "KueueDRAIntegrationConsumableCapacity",
        "KueueDRAIntegrationPartitionableDevices",
        "KueueDRARejectWorkloadsWhenDRADisabled",
        "LWSImmutableGroupSize",
        "LocalQueueMetrics",
        "ManagedJobsNamespaceSelectorAlwaysRespected",
        "MetricForWorkloadCreationLatency",
        "MetricsForCohorts",
        "MultiKueue",
        "MultiKueueAdaptersForCustomJobs",
        "MultiKueueAllowInsecureKubeconfigs",
        "MultiKueueClusterProfile",
        "MultiKueueIncrementalDispatcherConfig",
        "MultiKueueIncrementalDispatcherRespectConfigOrder",
        "MultiKueueKubeConfigPathValidation",
        "MultiKueueManagerQuotaAutomation",
        "MultiKueueRedoAdmissionOnEvictionInWorker",
        "MultiKueueRemoteSpecSync",
        "MultiKueueWaitForWorkloadAdmitted",
        "ObjectRetentionPolicies",
        "PropagateBatchJobLabelsToWorkload",
        "RejectUpdatesToCQWithInvalidOnFlavors",
        "RemoveFinalizersWithStrictPatch",
        "SchedulerLibraryIntegration",
        "ShortWorkloadNames",
        "SkipAncestorCheckForDeletedWorkloads",
        "SkipFinalizersForPodsSuspendedByParent",
        "SparkApplicationIntegration",
        "TASAssignmentsEncodingByHostnamePrefix",
        "TASBalancedPlacement",
        "TASCacheNodeMatchResults",
        "TASCachingRemainingResources",
        "TASFailedNodeReplacement",
        "TASFailedNodeReplacementFailFast",
        "TASHandleOverlappingFlavors",
        "TASMultiLayerTopology",
        "TASProfileMixed",
        "TASRecomputeAssignmentWithinSchedulingCycle",
        "TASReplaceNodeDueToNotReadyOverFixedTime",
        "TASReplaceNodeOnNodeTaints",
        "TASReplaceNodeOnPodTermination",
        "TASRespectNodeAffinityPreferred",
        "TASValidateWorkloadSliceSize",
        "TLSOptions",
        "VectorizedResourceRequests",
        "VisibilityOnDemand",
        "WorkloadIdentifierAnnotations",
        "WorkloadPriorityClassDefaulting",
        "WorkloadRequestUseMergePatch",
        "WorkloadValidateResourcesAreNonNegative",
        "WorkloadValidationForPodSetMetadata",
    }
)
"""Gates of Kueue v0.19.1 that change no prediction: a worker's configuration may name them."""
