"""What a pod may use that this engine does not model: found by field name, never guessed at.

Hard rules make a forecast impossible (`unsupported`). Wishes only steer which node scores best, so the forecast is
given and marked (`approximate`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from config.api.selectors import SelectorError, check_selector, matches_selector
from engine.pods.values.values import DEFAULT_SCHEDULER, PeerTerm, PendingPod
from engine.vocabulary.errors import FieldError

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_STORAGE_VOLUMES: Final = frozenset(
    {
        "awsElasticBlockStore",
        "azureDisk",
        "csi",
        "ephemeral",
        "gcePersistentDisk",
        "iscsi",
        "persistentVolumeClaim",
        "rbd",
    }
)
"""Volumes that the scheduler looks at; the others exist on every node."""
_SPREAD_OWNERS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})


def unsupported_fields(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a pending pod's spec that decide where it can run and are not modelled."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(kind) or {}).get(_REQUIRED):
            yield f"spec.affinity.{kind}.{_REQUIRED}"
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if constraint.get("whenUnsatisfiable") != "ScheduleAnyway":
            yield f"spec.topologySpreadConstraints[{index}]"
    for index, volume in enumerate(spec.get("volumes") or ()):
        for source in sorted(_STORAGE_VOLUMES & volume.keys()):
            yield f"spec.volumes[{index}].{source}"
    if spec.get("resourceClaims"):
        yield "spec.resourceClaims"
    if spec.get("schedulingGates"):
        yield "spec.schedulingGates"
    if (spec.get("schedulerName") or DEFAULT_SCHEDULER) != DEFAULT_SCHEDULER:
        yield "spec.schedulerName"


def approximate_fields(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield what steers the score of nodes for a pending pod and is not modelled."""
    spec = raw.get("spec") or {}
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        if (affinity.get(kind) or {}).get(_PREFERRED):
            yield f"spec.affinity.{kind}.{_PREFERRED}"
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway":
            yield f"spec.topologySpreadConstraints[{index}]"
    for index, owner in enumerate((raw.get("metadata") or {}).get("ownerReferences") or ()):
        if owner.get("kind") in _SPREAD_OWNERS:
            yield f"metadata.ownerReferences[{index}]: the scheduler spreads the pods of a {owner['kind']} by default"


def read_keeping_away(spec: Mapping[str, Any], namespace: str) -> tuple[PeerTerm, ...]:
    """Return the terms by which a bound pod forbids others to come near."""
    anti = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
    field = f"spec.affinity.podAntiAffinity.{_REQUIRED}"
    return tuple(
        _read_term(term, f"{field}[{index}]", namespace) for index, term in enumerate(anti.get(_REQUIRED) or ())
    )


def read_attracting(spec: Mapping[str, Any], namespace: str) -> tuple[PeerTerm, ...]:
    """Return the terms by which a bound pod makes its surroundings score higher or lower for others."""
    affinity = spec.get("affinity") or {}
    near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    terms = [
        (term, f"spec.affinity.podAffinity.{_REQUIRED}[{index}]")
        for index, term in enumerate(near.get(_REQUIRED) or ())
    ]
    for kind, block in (("podAffinity", near), ("podAntiAffinity", far)):
        terms += [
            (entry.get("podAffinityTerm") or {}, f"spec.affinity.{kind}.{_PREFERRED}[{index}].podAffinityTerm")
            for index, entry in enumerate(block.get(_PREFERRED) or ())
        ]
    return tuple(_read_term(term, field, namespace) for term, field in terms)


def concerns(term: PeerTerm, pod: PendingPod) -> bool:
    """Return whether a bound pod's term may be about this pending pod."""
    if term.namespaces is not None and pod.key.namespace not in term.namespaces:
        return False
    return matches_selector(term.selector, pod.labels)


def _read_term(raw: Mapping[str, Any], field: str, namespace: str) -> PeerTerm:
    selector = raw.get("labelSelector")
    if selector is not None:
        try:
            check_selector(selector)
        except SelectorError as error:
            raise FieldError(f"{field}.labelSelector", str(error)) from None
    # A selector of namespaces, and label keys taken from the pod itself, could only be judged by more than this pod.
    if raw.get("namespaceSelector") is not None:
        return PeerTerm(field, None, selector)
    if raw.get("matchLabelKeys") or raw.get("mismatchLabelKeys"):
        selector = {}
    return PeerTerm(field, frozenset(raw.get("namespaces") or (namespace,)), selector)
