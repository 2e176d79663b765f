"""What only some versions of Kueue have, found where it matters: the engine does not model it."""

from collections.abc import Iterator
from typing import Final

from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload
from engine.objects.specs import PreemptionPolicy
from engine.objects.unsupported import Feature, FindingEffect, FindingScope, UnsupportedFeature
from engine.quota.quota_tree import CohortNode, QuotaNode

_CONFIGURABLE_PREEMPTIONS: Final = "ConfigurablePreemptions"
_DYNAMIC_QUOTA_ORCHESTRATION: Final = "DynamicQuotaOrchestration"
_KNOWN_SPEC: Final = frozenset(
    {
        "admissionChecks",
        "admissionChecksStrategy",
        "admissionScope",
        "cohort",
        "cohortName",
        "concurrentAdmissionPolicy",
        "fairSharing",
        "flavorFungibility",
        "namespaceSelector",
        "preemption",
        "queueingStrategy",
        "resourceGroups",
        "stopPolicy",
    }
)
"""What is known of `ClusterQueue.spec` in v1beta1 and v1beta2."""


def version_findings(model: ClusterModel, entry: NominatedWorkload) -> Iterator[UnsupportedFeature]:
    """Yield what around a workload other versions of Kueue than the reference have."""
    yield from _preemption_configs(model, entry)
    yield from _effective_quotas(model, entry)
    yield from _fair_sharing_gates(model)
    yield from _crash(model, entry)
    for name in sorted(entry.spec.raw["spec"].keys() - _KNOWN_SPEC):
        yield UnsupportedFeature(
            Feature.UNKNOWN_FIELD,
            FindingEffect.UNSUPPORTED,
            FindingScope.CLUSTER_QUEUE,
            f"spec.{name} is not known to this version of Turnstile",
            f"ClusterQueue {entry.queue.name}",
        )


def _preemption_configs(model: ClusterModel, entry: NominatedWorkload) -> Iterator[UnsupportedFeature]:
    """Yield PreemptionConfigs: of the preemptor's ClusterQueue, and of others whose workloads may preempt anywhere."""
    if not model.configuration.may_have_on(_CONFIGURABLE_PREEMPTIONS):
        return
    for queue in model.forest.declared_queues():
        config = queue.existing_spec.preemption_config
        if not config:
            continue
        is_own = queue.name == entry.queue.name
        effect = FindingEffect.UNSUPPORTED if is_own else FindingEffect.LABEL
        detail = f"its PreemptionConfig {config} decides whom it preempts (gate {_CONFIGURABLE_PREEMPTIONS})"
        where = f"ClusterQueue {queue.name}"
        yield UnsupportedFeature(Feature.CONFIGURABLE_PREEMPTIONS, effect, FindingScope.CLUSTER_QUEUE, detail, where)


def _effective_quotas(model: ClusterModel, entry: NominatedWorkload) -> Iterator[UnsupportedFeature]:
    if not model.configuration.may_have_on(_DYNAMIC_QUOTA_ORCHESTRATION):
        return
    ancestors = entry.queue.ancestors()
    root: QuotaNode = ancestors[-1] if ancestors else entry.queue
    for node in _tree(root):
        if isinstance(node, CohortNode):
            spec = model.forest.cohort_spec(node.name)
            where, has_quotas = f"Cohort {node.name}", spec is not None and spec.has_effective_quotas
        else:
            declared = model.forest.find_queue(node.name)
            where = f"ClusterQueue {node.name}"
            has_quotas = declared is not None and declared.existing_spec.has_effective_quotas
        if has_quotas:
            detail = f"status.effectiveQuotas stands in for its quotas (gate {_DYNAMIC_QUOTA_ORCHESTRATION})"
            yield UnsupportedFeature(
                Feature.DYNAMIC_QUOTA_ORCHESTRATION,
                FindingEffect.UNSUPPORTED,
                FindingScope.CLUSTER_QUEUE,
                detail,
                where,
            )


def _crash(model: ClusterModel, entry: NominatedWorkload) -> Iterator[UnsupportedFeature]:
    configuration, preemption = model.configuration, entry.spec.preemption
    may_preempt = preemption.within_cluster_queue is not PreemptionPolicy.NEVER
    is_fair = configuration.fair_sharing is not None
    if configuration.profile.switches.crashes_without_cohort and is_fair and may_preempt and not entry.spec.cohort:
        detail = f"Kueue {configuration.profile} crashes under fair sharing if its own victims are not enough here"
        where = f"ClusterQueue {entry.queue.name}"
        yield UnsupportedFeature(Feature.KUEUE_CRASH, FindingEffect.LABEL, FindingScope.CLUSTER_QUEUE, detail, where)


def _tree(node: QuotaNode) -> Iterator[QuotaNode]:
    yield node
    if isinstance(node, CohortNode):
        yield from node.child_queues
        for child in node.child_cohorts:
            yield from _tree(child)


def _fair_sharing_gates(model: ClusterModel) -> Iterator[UnsupportedFeature]:
    gates = model.configuration.gates
    if model.configuration.fair_sharing is None:
        return
    switched_on = {
        Feature.FAIR_SHARING_REFILL: gates.fair_sharing_refill,
        Feature.FAIR_SHARING_REEVALUATION: gates.fair_sharing_reevaluate_preemption_candidates,
    }
    for feature, is_on in switched_on.items():
        if is_on:
            detail = "its feature gate is on, and fair sharing is configured"
            yield UnsupportedFeature(feature, FindingEffect.UNSUPPORTED, FindingScope.CLUSTER, detail, "Configuration")
