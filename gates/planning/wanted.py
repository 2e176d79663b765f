"""From a manifest to the Workload that Kueue on the hub would make of it, as far as a forecast needs it.

Invariant: what comes out of here can be used by the engine; everything else is refused by the name of the field.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import Raw, format_time
from config.names import KUEUE_API_VERSION, KUEUE_GROUP, MULTIKUEUE_NAME
from engine.objects.convert import to_v1beta2
from engine.objects.validate_objects import check_object
from engine.vocabulary.errors import InvalidObjectError
from gates.jobs.copying import manager_of
from gates.jobs.kinds import JobKind
from gates.jobs.podsets import pod_sets_of, priority_class_of
from gates.jobs.reading import ManifestFieldError, block_at, text_at
from gates.planning.limits import check_metadata, check_pod_sets
from gates.targets.rules import NO_RULES, TargetRules, target_annotations, target_rules

QUEUE_LABEL: Final = f"{KUEUE_GROUP}/queue-name"
PRIORITY_LABEL: Final = f"{KUEUE_GROUP}/priority-class"
DEFAULT_QUEUE: Final = "default"
WORKLOAD_CLASSES: Final = KUEUE_GROUP
POD_CLASSES: Final = "scheduling.k8s.io"
_PLANNED_UID: Final = "planned"


@dataclass(frozen=True, slots=True)
class PrioritySource:
    """Where a job's priority comes from; without a name from the hub's default class, 0 if there is none."""

    group: str
    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a manifest asks for."""

    kind: str
    gvk: str
    """Group, version and kind of the job; empty for a Workload, which every worker has."""
    namespace: str
    name: str
    queue: str
    spec: dict[str, Any]
    """The spec of its Workload but for the priority."""
    annotations: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    workload: str = ""
    """The name of its Workload; one that no object has, unless the manifest is a Workload."""
    priority: int | None = None
    """Its priority, if the manifest itself gives it."""
    priority_class: PrioritySource | None = None
    remarks: tuple[str, ...] = ()
    targets: TargetRules = NO_RULES


def read_wanted(raw: object, namespace: str, kinds: Mapping[str, JobKind]) -> Wanted:
    """Read a manifest of a Workload or of a kind of job that is switched on; raises `ManifestFieldError`."""
    if not isinstance(raw, Mapping):
        raise ManifestFieldError("a manifest must be a map")
    api_version, kind = str(raw.get("apiVersion") or ""), str(raw.get("kind") or "")
    metadata = block_at(raw, "metadata")
    check_metadata(metadata)
    name = text_at(metadata, "name", "metadata") or text_at(metadata, "generateName", "metadata")
    if not name:
        raise ManifestFieldError("metadata.name is missing: must be a name")
    place = text_at(metadata, "namespace", "metadata") or namespace
    if kind == "Workload" and api_version.startswith(f"{KUEUE_GROUP}/"):
        return _of_workload(raw, place, name)
    found = kinds.get(f"{api_version}, Kind={kind}")
    if found is None:
        known = sorted(f"{each.api_version} {each.kind}" for each in kinds.values())
        allowed = f"{KUEUE_API_VERSION} Workload, {', '.join(known)} (jobs.integrations enables kinds)"
        raise ManifestFieldError(f'"{api_version} {kind}" is not allowed: must be one of {allowed}')
    return _of_job(raw, place, name, found)


def workload_of(wanted: Wanted, priority: int, now_ns: int, uid: str = _PLANNED_UID) -> dict[str, Any]:
    """Return the replica that a worker would get, with its gate closed, as if created now."""
    return {
        "apiVersion": KUEUE_API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": wanted.workload,
            "namespace": wanted.namespace,
            "uid": uid,
            "creationTimestamp": format_time(now_ns),
            "labels": wanted.labels,
            "annotations": wanted.annotations,
        },
        "spec": {**wanted.spec, "priority": priority, "preemptionGates": [{"name": MULTIKUEUE_NAME}]},
    }


def _of_workload(raw: Raw, namespace: str, name: str) -> Wanted:
    metadata = {**block_at(raw, "metadata"), "namespace": namespace, "name": name}
    check_pod_sets(block_at(raw, "spec").get("podSets"), "spec.podSets")
    try:
        converted = to_v1beta2({**raw, "metadata": metadata})
        check_object(converted)
    except InvalidObjectError as error:
        raise ManifestFieldError(str(error.error)) from None
    spec = dict(block_at(converted, "spec"))
    if not spec.get("podSets"):
        raise ManifestFieldError("spec.podSets is missing: must be a list of pod sets")
    reference = block_at(converted, "spec", "priorityClassRef")
    return Wanted(
        kind="Workload",
        gvk="",
        namespace=namespace,
        name=name,
        workload=name,
        queue=text_at(spec, "queueName", "spec") or DEFAULT_QUEUE,
        spec={key: value for key, value in spec.items() if key not in ("priority", "preemptionGates")},
        annotations=dict(block_at(metadata, "annotations")),
        labels=dict(block_at(metadata, "labels")),
        priority=spec.get("priority"),
        targets=_targets(block_at(metadata, "annotations")),
        priority_class=PrioritySource(str(reference.get("group")), str(reference.get("name"))) if reference else None,
    )


def _targets(annotations: Raw) -> TargetRules:
    rules = target_rules(target_annotations({str(key): str(value) for key, value in annotations.items()}), {})
    if rules.problem:
        raise ManifestFieldError(f"metadata.annotations: {rules.problem}")
    return rules


def _of_job(raw: Raw, namespace: str, name: str, kind: JobKind) -> Wanted:
    labels, annotations = block_at(raw, "metadata", "labels"), block_at(raw, "metadata", "annotations")
    remarks = []
    queue = labels.get(QUEUE_LABEL) or annotations.get(QUEUE_LABEL)
    if not queue:
        queue = DEFAULT_QUEUE
        remarks.append(
            f'no label {QUEUE_LABEL}: "{DEFAULT_QUEUE}" is assumed, as Kueue does where that LocalQueue exists'
        )
    if kind.managed_by is not None and manager_of(kind, dict(raw)) != MULTIKUEUE_NAME:
        remarks.append(
            f"{'.'.join(kind.managed_by)} is not {MULTIKUEUE_NAME}: unless a policy on the hub sets it, "
            "the check rejects the job"
        )
    pod_sets = pod_sets_of(raw)
    try:
        check_pod_sets(pod_sets, "spec.podSets")
    except ManifestFieldError as error:
        raise ManifestFieldError(f"as a Workload, {error}") from None
    label = labels.get(PRIORITY_LABEL)
    wanted = Wanted(
        kind=kind.kind,
        gvk=kind.gvk,
        namespace=namespace,
        name=name,
        workload=f"{kind.kind.lower()}-{name}-planned",
        queue=str(queue),
        spec={"queueName": str(queue), "podSets": pod_sets, "active": True},
        annotations={key: value for key, value in annotations.items() if key.startswith(f"{KUEUE_GROUP}/")},
        priority_class=(
            PrioritySource(WORKLOAD_CLASSES, str(label))
            if label
            else PrioritySource(POD_CLASSES, priority_class_of(raw, pod_sets))
        ),
        remarks=tuple(remarks),
        targets=_targets(annotations),
    )
    try:
        check_object(workload_of(wanted, 0, 0))
    except InvalidObjectError as error:
        raise ManifestFieldError(f"as a Workload, {error.error}") from None
    return wanted
