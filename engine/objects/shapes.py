"""The structure of raw objects, as far as the engine reads them, in v1beta1 and v1beta2 alike.

A shape says where maps, lists and strings are, so that later code can read without checking again. The values
of leaves (quantities, times, choices) are checked in `engine.objects.validate_objects`. Unknown fields are
ignored, and null is the same as absent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from engine.vocabulary.errors import FieldError

_MAX_SHOWN: Final = 60


class Leaf(Enum):
    """Kinds of values without inner structure; ANY is judged elsewhere."""

    TEXT = "text"
    ANY = "anything"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of equal shapes."""

    entry: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """A map from free keys to equal shapes."""

    value: "Shape"


Shape = Leaf | ListOf | MapOf | Mapping[str, "Shape"]

TEXT: Final = Leaf.TEXT
ANY: Final = Leaf.ANY
TEXTS: Final = MapOf(TEXT)
RESOURCES: Final = MapOf(ANY)
NAMES: Final = ListOf(TEXT)
NAMED: Final[Shape] = ListOf({"name": TEXT})

_METADATA: Final[Shape] = {
    "name": TEXT,
    "namespace": TEXT,
    "uid": TEXT,
    "creationTimestamp": TEXT,
    "deletionTimestamp": TEXT,
    "labels": TEXTS,
    "annotations": TEXTS,
    "ownerReferences": ListOf({"kind": TEXT, "name": TEXT, "apiVersion": TEXT}),
}
_REQUIREMENTS: Final[Shape] = {"requests": RESOURCES, "limits": RESOURCES}
_CONTAINERS: Final[Shape] = ListOf({"restartPolicy": TEXT, "resources": _REQUIREMENTS, "ports": ListOf(ANY)})
_EXPRESSIONS: Final[Shape] = ListOf({"key": TEXT, "operator": TEXT, "values": NAMES})
_TOLERATIONS: Final[Shape] = ListOf({"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT})
_NODE_TERMS: Final[Shape] = ListOf({"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS})
_REQUIRED_AFFINITY: Final[Shape] = {"nodeSelectorTerms": _NODE_TERMS}
_POD_SPEC: Final[Mapping[str, Shape]] = {
    "initContainers": _CONTAINERS,
    "containers": _CONTAINERS,
    "resources": _REQUIREMENTS,
    "overhead": RESOURCES,
    "runtimeClassName": TEXT,
    "resourceClaims": ListOf(ANY),
    "nodeSelector": TEXTS,
    "tolerations": _TOLERATIONS,
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _REQUIRED_AFFINITY}},
}
_RESOURCE_GROUPS: Final[Shape] = ListOf(
    {"coveredResources": NAMES, "flavors": ListOf({"name": TEXT, "resources": ListOf({"name": TEXT})})}
)
_CLUSTER_QUEUE: Final[Shape] = {
    "cohort": TEXT,
    "cohortName": TEXT,
    "resourceGroups": _RESOURCE_GROUPS,
    "namespaceSelector": {"matchLabels": TEXTS, "matchExpressions": _EXPRESSIONS},
    "flavorFungibility": MapOf(ANY),
    "preemption": {"borrowWithinCohort": MapOf(ANY), "withinClusterQueueConfig": MapOf(ANY)},
    "fairSharing": MapOf(ANY),
    "admissionScope": MapOf(ANY),
    "admissionChecks": NAMES,
    "admissionChecksStrategy": {"admissionChecks": ListOf({"name": TEXT, "onFlavors": NAMES})},
}
_WORKLOAD: Final[Shape] = {
    "queueName": TEXT,
    "priorityClassSource": TEXT,
    "priorityClassName": TEXT,
    "preemptionGates": NAMED,
    "podSets": ListOf({"name": TEXT, "topologyRequest": MapOf(ANY), "template": {"spec": _POD_SPEC}}),
}
_POD_SET_UPDATES: Final[Shape] = ListOf({"name": TEXT, "nodeSelector": TEXTS, "tolerations": _TOLERATIONS})
_WORKLOAD_STATUS: Final[Shape] = {
    "conditions": ListOf({"type": TEXT, "status": TEXT, "reason": TEXT, "message": TEXT, "lastTransitionTime": TEXT}),
    "admission": {
        "clusterQueue": TEXT,
        "podSetAssignments": ListOf(
            {
                "name": TEXT,
                "flavors": TEXTS,
                "resourceUsage": RESOURCES,
                "topologyAssignment": MapOf(ANY),
                "delayedTopologyRequest": TEXT,
            }
        ),
    },
    "reclaimablePods": NAMED,
    "requeueState": {"requeueAt": TEXT},
    "preemptionGates": NAMED,
    "admissionChecks": ListOf({"name": TEXT, "state": TEXT, "podSetUpdates": _POD_SET_UPDATES}),
    "unhealthyNodes": ListOf(ANY),
}
_LIMITS: Final[Shape] = ListOf(
    {"type": TEXT, "max": RESOURCES, "min": RESOURCES, "default": RESOURCES, "defaultRequest": RESOURCES}
)
_CONDITIONS: Final[Shape] = ListOf({"type": TEXT, "status": TEXT})

_KINDS: Final[Mapping[str, Mapping[str, Shape]]] = {
    "AdmissionCheck": {"spec": {"controllerName": TEXT}, "status": {"conditions": _CONDITIONS}},
    "ClusterQueue": {"spec": _CLUSTER_QUEUE},
    "Cohort": {"spec": {"parentName": TEXT, "resourceGroups": _RESOURCE_GROUPS, "fairSharing": MapOf(ANY)}},
    "LimitRange": {"spec": {"limits": _LIMITS}},
    "LocalQueue": {"spec": {"clusterQueue": TEXT}, "status": MapOf(ANY)},
    "Namespace": {},
    "Node": {
        "spec": {"taints": ListOf({"key": TEXT, "value": TEXT, "effect": TEXT})},
        "status": {"allocatable": RESOURCES, "conditions": _CONDITIONS},
    },
    "Pod": {"spec": {**_POD_SPEC, "nodeName": TEXT}, "status": {"phase": TEXT}},
    "ResourceFlavor": {
        "spec": {
            "nodeLabels": TEXTS,
            "nodeTaints": ListOf({"key": TEXT, "value": TEXT, "effect": TEXT, "timeAdded": TEXT}),
            "tolerations": _TOLERATIONS,
            "topologyName": TEXT,
        }
    },
    "Topology": {"spec": {"levels": ListOf({"nodeLabel": TEXT})}},
    "RuntimeClass": {"overhead": {"podFixed": RESOURCES}},
    "Workload": {"spec": _WORKLOAD, "status": _WORKLOAD_STATUS},
}


def shape_errors(raw: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield where the structure of a raw object is not what its kind prescribes."""
    kind = raw.get("kind") or ""
    known = kind if isinstance(kind, str) and kind in _OBJECT_SHAPES else ""
    if not _FITS[known](raw):  # telling where takes five times as long as telling whether
        yield from _mismatches(raw, _OBJECT_SHAPES[known], "")


def shape_checker(shape: Shape) -> Callable[[object], Iterator[FieldError]]:
    """Compile a shape that another module keeps into a function that yields where a value differs from it."""
    fits = _predicate(shape)

    def mismatches(value: object) -> Iterator[FieldError]:
        if not fits(value):
            yield from _mismatches(value, shape, "")

    return mismatches


def _predicate(shape: Shape) -> Callable[[Any], bool]:
    """Compile a shape into a function that tells whether a value has it."""
    match shape:
        case Leaf.ANY:
            return lambda _value: True
        case Leaf.TEXT:
            return lambda value: isinstance(value, str)
        case ListOf(entry):
            fits_entry = _predicate(entry)
            return lambda value: isinstance(value, list) and all(map(fits_entry, value))
        case MapOf(inner):
            fits_value = _predicate(inner)
            return lambda value: isinstance(value, dict) and all(map(fits_value, value.values()))
        case _:  # named fields, by their shapes
            return _predicate_of_fields(
                [(name, _predicate(inner)) for name, inner in shape.items() if inner is not ANY]
            )


def _predicate_of_fields(fields: Sequence[tuple[str, Callable[[Any], bool]]]) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, fits_field in fields:
            inner = value.get(name)
            if inner is not None and not fits_field(inner):
                return False
        return True

    return fits


def _mismatches(value: object, shape: Shape, path: str) -> Iterator[FieldError]:
    match shape:
        case Leaf.ANY:
            return
        case Leaf.TEXT:
            if not isinstance(value, str):
                yield _unlike(value, path, "text")
        case ListOf(entry):
            if not isinstance(value, list):
                yield _unlike(value, path, "a list")
                return
            for index, item in enumerate(value):
                yield from _mismatches(item, entry, f"{path}[{index}]")
        case MapOf(inner):
            if not isinstance(value, dict):
                yield _unlike(value, path, "a map")
                return
            for key, item in value.items():
                yield from _mismatches(item, inner, f"{path}[{key}]")
        case _:  # named fields, by their shapes
            yield from _mismatches_of_fields(value, shape, path)


def _mismatches_of_fields(value: object, fields: Mapping[str, Shape], path: str) -> Iterator[FieldError]:
    if not isinstance(value, dict):
        yield _unlike(value, path, "a map")
        return
    for name, inner in fields.items():
        if value.get(name) is not None:
            yield from _mismatches(value[name], inner, f"{path}.{name}" if path else name)


def _unlike(value: object, path: str, wanted: str) -> FieldError:
    shown = repr(value)
    if len(shown) > _MAX_SHOWN:
        shown = f"{shown[:_MAX_SHOWN]}..."
    return FieldError(path, f"{shown} is not allowed: must be {wanted}")


_OBJECT: Final[Mapping[str, Shape]] = {"apiVersion": TEXT, "kind": TEXT, "metadata": _METADATA}
_OBJECT_SHAPES: Final[Mapping[str, Shape]] = {"": _OBJECT} | {
    kind: {**_OBJECT, **fields} for kind, fields in _KINDS.items()
}
_FITS: Final = {kind: _predicate(shape) for kind, shape in _OBJECT_SHAPES.items()}
