"""What limits a prediction: features that the engine does not model, and circumstances that an answer must mention."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from config.api.meta import ObjectKey
from engine.cluster.model import ClusterModel
from engine.cluster.queueing import NominatedWorkload
from engine.objects.unsupported import (
    ClusterFacts,
    Feature,
    FindingEffect,
    FindingScope,
    UnsupportedFeature,
    cluster_findings,
    cluster_queue_findings,
    in_flight_finding,
    limit_range_findings,
    workload_findings,
)
from engine.objects.workloads import AdmittedWorkload
from engine.reporting.version_features import version_findings


@dataclass(frozen=True, slots=True)
class Caveats:
    """How far an answer can be trusted."""

    unsupported: str | None = None
    """The first feature in the way of any answer."""
    is_ambiguous: bool = False
    labels: tuple[str, ...] = ()


def caveats_of(model: ClusterModel, entry: NominatedWorkload) -> Caveats:
    """Return what limits a prediction about this workload."""
    around = _cluster_facts(model, entry)
    namespace = entry.workload.key.namespace
    findings = (
        *cluster_findings(around, lambda: _has_pods_not_ready(model)),
        *workload_findings(entry.workload.raw, around),
        *cluster_queue_findings(entry.spec.raw, around),
        *limit_range_findings(namespace, model.request_context(namespace).limit_ranges),
        *_unmodelled_trees(model, entry),
        *version_findings(model, entry),
    )
    if not findings:
        return Caveats()
    unsupported = next((finding for finding in findings if finding.effect is FindingEffect.UNSUPPORTED), None)
    return Caveats(
        unsupported=None if unsupported is None else f"unsupported: {_text(unsupported)}",
        is_ambiguous=any(finding.effect is FindingEffect.AMBIGUOUS for finding in findings),
        labels=_labels(findings),
    )


def _unmodelled_trees(model: ClusterModel, entry: NominatedWorkload) -> Iterator[UnsupportedFeature]:
    """Yield what about the Nodes of the ClusterQueue's flavors is not modelled."""
    if not model.follows_topology:
        return
    for flavor in entry.spec.flavors:
        keeper = model.topology.keeper(flavor)
        if keeper is None:
            continue
        details = [
            f"Nodes with different labels or taints share the hostname {host}, and Kueue takes any one's"
            for host in keeper.tree.contested_hosts
        ]
        if model.configuration.gates.tas_node_feasibility_for_all_levels and not keeper.tree.is_by_hostname:
            details.append("its lowest level is no hostname, with gate TASNodeFeasibilityForAllLevels: not modelled")
        for detail in details:
            yield UnsupportedFeature(
                Feature.TOPOLOGY_AWARE_SCHEDULING,
                FindingEffect.UNSUPPORTED,
                FindingScope.CLUSTER_QUEUE,
                detail,
                f"ResourceFlavor {flavor}",
            )


def in_flight_labels(model: ClusterModel, keys: Iterable[ObjectKey]) -> tuple[str, ...]:
    """Return a label for each of these workloads that is evicted but still holds its quota."""
    found = ((key, model.workload(key)) for key in keys)
    return _labels(
        in_flight_finding(key)
        for key, workload in found
        if isinstance(workload, AdmittedWorkload) and workload.is_evicted
    )


def _has_pods_not_ready(model: ClusterModel) -> bool:
    return any(isinstance(each, AdmittedWorkload) and not each.has_ready_pods for each in model.workloads())


def _cluster_facts(model: ClusterModel, entry: NominatedWorkload) -> ClusterFacts:
    flavors = {
        name: {"spec": {"topologyName": flavor.topology_name}}
        for name in entry.spec.flavors
        if (flavor := model.flavor(name)) is not None
    }
    return ClusterFacts(
        gates=model.configuration.gates,
        profile=model.configuration.profile,
        unknown_gates=model.configuration.unknown_gates,
        configuration=model.configuration.raw,
        is_assumed=model.configuration.is_assumed,
        flavors=flavors,
        sees_topology=model.topology.is_observed,
        why_no_topology=model.topology.why_unobserved,
        check_controllers=model.check_controllers() if entry.spec.admission_checks else {},
    )


def _labels(findings: Iterable[UnsupportedFeature]) -> tuple[str, ...]:
    return tuple(_text(finding) for finding in findings if finding.effect is not FindingEffect.UNSUPPORTED)


def _text(finding: UnsupportedFeature) -> str:
    where = f" ({finding.object})" if finding.object else ""
    return f"{finding.feature}: {finding.detail}{where}"
