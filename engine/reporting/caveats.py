"""What limits a prediction: features that the engine does not model, and circumstances that an answer must mention."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.model import ClusterModel
from engine.objects.unsupported import (
    Effect,
    Finding,
    Surroundings,
    cluster_queue_findings,
    limit_range_findings,
    workload_findings,
)
from engine.queueing import Entry


@dataclass(frozen=True, slots=True)
class Caveats:
    """How far an answer can be trusted."""

    unsupported: str | None = None
    """The first feature in the way of any answer."""
    is_ambiguous: bool = False
    labels: tuple[str, ...] = ()


def caveats_of(model: ClusterModel, entry: Entry) -> Caveats:
    """Return what limits a prediction about this workload."""
    around = _surroundings(model, entry)
    namespace = entry.workload.key.namespace
    findings = (
        *workload_findings(entry.workload.raw, around),
        *cluster_queue_findings(entry.spec.raw, around),
        *limit_range_findings(namespace, model.request_context(namespace).limit_ranges),
    )
    if not findings:
        return Caveats()
    unsupported = next((finding for finding in findings if finding.effect is Effect.UNSUPPORTED), None)
    return Caveats(
        unsupported=None if unsupported is None else f"unsupported: {_text(unsupported)}",
        is_ambiguous=any(finding.effect is Effect.AMBIGUOUS for finding in findings),
        labels=_labels(findings),
    )


def _surroundings(model: ClusterModel, entry: Entry) -> Surroundings:
    flavors = {
        name: {"spec": {"topologyName": flavor.topology_name}}
        for name in entry.spec.flavors
        if (flavor := model.flavor(name)) is not None
    }
    return Surroundings(
        gates=model.configuration.gates,
        configuration=model.configuration.raw,
        flavors=flavors,
        check_controllers=model.check_controllers() if entry.spec.admission_checks else {},
    )


def _labels(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(_text(finding) for finding in findings if finding.effect is not Effect.UNSUPPORTED)


def _text(finding: Finding) -> str:
    where = f" ({finding.object})" if finding.object else ""
    return f"{finding.feature}: {finding.detail}{where}"
