"""Raw Pod objects as values: bound ones for their room, pending ones for what they ask."""

from collections.abc import Mapping
from typing import Any, Final

from config.api.meta import ZERO_TIME_NS, ObjectKey, conditions, parse_time
from engine.placement.node_affinity import Expression
from engine.placement.taints import read_tolerations
from engine.pods.values.priorities import PriorityClasses, reads_never
from engine.pods.values.resources import ResourceNames, read_footprint
from engine.pods.values.unmodelled import approximate_fields, read_attracting, read_keeping_away, unsupported_fields
from engine.pods.values.values import (
    DEFAULT_SCHEDULER,
    NOT_STARTED,
    BoundPod,
    NodeDemands,
    PendingPod,
    Preference,
    SelectorTerm,
)
from engine.vocabulary.errors import FieldError

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
DEFAULT_NAMESPACE: Final = "default"
_DISRUPTION_TARGET: Final = "DisruptionTarget"
_BY_SCHEDULER: Final = "PreemptionByScheduler"
_NODE_AFFINITY: Final = "spec.affinity.nodeAffinity"
_PREFERENCE_WEIGHTS: Final = range(1, 101)


def pod_key(raw: Mapping[str, Any]) -> ObjectKey:
    """Return the key of a raw namespaced object; without a namespace it is in `default`, as for kubectl."""
    metadata = raw["metadata"]
    return ObjectKey(metadata.get("namespace") or DEFAULT_NAMESPACE, metadata["name"])


def is_over(raw: Mapping[str, Any]) -> bool:
    """Return whether the pod has finished: such a pod takes no room and is not scheduled."""
    return (raw.get("status") or {}).get("phase") in TERMINAL_PHASES


def node_name(raw: Mapping[str, Any]) -> str:
    """Return the node that a raw pod is bound to, empty while it is pending."""
    return (raw.get("spec") or {}).get("nodeName") or ""


def read_bound_pod(raw: Mapping[str, Any], names: ResourceNames, classes: PriorityClasses) -> BoundPod:
    """Read a raw pod that has a node."""
    key, spec, status = pod_key(raw), raw.get("spec") or {}, raw.get("status") or {}
    priority, never = _priority(spec, classes)
    is_terminating = raw["metadata"].get("deletionTimestamp") is not None
    started = status.get("startTime")
    return BoundPod(
        key=key,
        node=node_name(raw),
        footprint=read_footprint(raw, names),
        priority=priority,
        start_ns=_time(started, "status.startTime") if started else NOT_STARTED,
        labels=raw["metadata"].get("labels") or {},
        group=group_key(key, spec),
        scheduler=spec.get("schedulerName") or DEFAULT_SCHEDULER,
        never_preempts=never,
        is_terminating=is_terminating,
        is_being_preempted=is_terminating and _is_target(status),
        keeps_away=read_keeping_away(spec, key.namespace),
        attracts=read_attracting(spec, key.namespace),
    )


def read_pending_pod(
    raw: Mapping[str, Any], names: ResourceNames, classes: PriorityClasses, sequence: int
) -> PendingPod:
    """Read a raw pod without a node; `sequence` orders pods that were created at the same time."""
    key, spec, status = pod_key(raw), raw.get("spec") or {}, raw.get("status") or {}
    priority, never = _priority(spec, classes)
    created = raw["metadata"].get("creationTimestamp")
    created_ns = _time(created, "metadata.creationTimestamp") if created else ZERO_TIME_NS
    return PendingPod(
        key=key,
        footprint=read_footprint(raw, names),
        demands=_read_demands(spec),
        priority=priority,
        labels=raw["metadata"].get("labels") or {},
        arrival=(created_ns, sequence),
        group=group_key(key, spec),
        scheduler=spec.get("schedulerName") or DEFAULT_SCHEDULER,
        never_preempts=never,
        nominated_node=status.get("nominatedNodeName") or "",
        is_terminating=raw["metadata"].get("deletionTimestamp") is not None,
        images=frozenset(entry["image"] for entry in spec.get("containers") or () if entry.get("image")),
        unsupported=tuple(unsupported_fields(spec)),
        approximate=tuple(approximate_fields(raw)),
    )


def group_key(key: ObjectKey, spec: Mapping[str, Any]) -> ObjectKey | None:
    """Return the PodGroup that a pod names; it is always in the pod's own namespace."""
    name = (spec.get("schedulingGroup") or {}).get("podGroupName")
    return ObjectKey(key.namespace, name) if name else None


def _priority(spec: Mapping[str, Any], classes: PriorityClasses) -> tuple[int, bool]:
    resolved = classes.resolve(spec)
    never = reads_never(spec, "preemptionPolicy", "spec.preemptionPolicy")
    return resolved.value, bool(resolved.never_preempts if never is None else never)


def _time(text: str, field: str) -> int:
    try:
        return parse_time(text)
    except ValueError as error:
        raise FieldError(field, str(error)) from None


def _is_target(status: Mapping[str, Any]) -> bool:
    target = conditions({"conditions": _without_times(status)}).get(_DISRUPTION_TARGET)
    return target is not None and target.is_true and target.reason == _BY_SCHEDULER


def _without_times(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    wanted = ("type", "status", "reason")
    entries = status.get("conditions") or ()
    return [{name: entry.get(name) or "" for name in wanted} for entry in entries if entry.get("type")]


def _read_demands(spec: Mapping[str, Any]) -> NodeDemands:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return NodeDemands(
        selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        required=None if required is None else _read_terms(required.get("nodeSelectorTerms") or ()),
        preferred=tuple(
            _read_preference(entry, f"{_NODE_AFFINITY}.preferredDuringSchedulingIgnoredDuringExecution[{index}]")
            for index, entry in enumerate(preferred)
        ),
        tolerations=read_tolerations(spec.get("tolerations")),
    )


def _read_terms(raw: Any) -> tuple[SelectorTerm, ...]:
    """Read the alternatives; an empty one matches no node."""
    return tuple(term for term in map(_read_term, raw) if term.expressions or term.fields)


def _read_term(raw: Mapping[str, Any]) -> SelectorTerm:
    return SelectorTerm(
        expressions=tuple(map(Expression.from_raw, raw.get("matchExpressions") or ())),
        fields=tuple(map(Expression.from_raw, raw.get("matchFields") or ())),
    )


def _read_preference(raw: Mapping[str, Any], field: str) -> Preference:
    weight = raw.get("weight")
    if not isinstance(weight, int) or weight not in _PREFERENCE_WEIGHTS:
        raise FieldError(f"{field}.weight", f"{weight!r} is not allowed: must be a whole number from 1 to 100")
    return Preference(weight, _read_term(raw.get("preference") or {}))
