"""The structure of the raw objects that decide a scheduling cycle, as far as it is read here.

Values of leaves are checked where they are read; unknown fields are ignored, and null is absent.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from engine.objects.shapes import ANY, NAMES, RESOURCES, TEXT, TEXTS, ListOf, MapOf, Shape, shape_checker
from engine.vocabulary.errors import FieldError, InvalidObjectError

_METADATA: Final[Shape] = {
    "name": TEXT,
    "namespace": TEXT,
    "uid": TEXT,
    "creationTimestamp": TEXT,
    "deletionTimestamp": TEXT,
    "labels": TEXTS,
    "ownerReferences": ListOf({"kind": TEXT}),
}
_CONDITIONS: Final[Shape] = ListOf({"type": TEXT, "status": TEXT, "reason": TEXT})
_EXPRESSIONS: Final[Shape] = ListOf({"key": TEXT, "operator": TEXT, "values": NAMES})
_LABEL_SELECTOR: Final[Shape] = {"matchLabels": TEXTS, "matchExpressions": _EXPRESSIONS}
_REQUIREMENTS: Final[Shape] = {"requests": RESOURCES, "limits": RESOURCES}
_CONTAINERS: Final[Shape] = ListOf(
    {
        "name": TEXT,
        "image": TEXT,
        "restartPolicy": TEXT,
        "resources": _REQUIREMENTS,
        "ports": ListOf({"hostIP": TEXT, "protocol": TEXT, "hostPort": ANY}),
    }
)
_NODE_TERM: Final[Shape] = {"matchExpressions": _EXPRESSIONS, "matchFields": _EXPRESSIONS}
_PEER_TERM: Final[Shape] = {
    "topologyKey": TEXT,
    "labelSelector": _LABEL_SELECTOR,
    "namespaces": NAMES,
    "namespaceSelector": _LABEL_SELECTOR,
    "matchLabelKeys": NAMES,
    "mismatchLabelKeys": NAMES,
}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_PEER_AFFINITY: Final[Shape] = {
    _REQUIRED: ListOf(_PEER_TERM),
    _PREFERRED: ListOf({"weight": ANY, "podAffinityTerm": _PEER_TERM}),
}
_AFFINITY: Final[Shape] = {
    "nodeAffinity": {
        _REQUIRED: {"nodeSelectorTerms": ListOf(_NODE_TERM)},
        _PREFERRED: ListOf({"weight": ANY, "preference": _NODE_TERM}),
    },
    "podAffinity": _PEER_AFFINITY,
    "podAntiAffinity": _PEER_AFFINITY,
}
_CONTAINER_STATUSES: Final[Shape] = ListOf({"name": TEXT, "resources": _REQUIREMENTS, "allocatedResources": RESOURCES})
_POD_SPEC: Final[Shape] = {
    "nodeName": TEXT,
    "priorityClassName": TEXT,
    "preemptionPolicy": TEXT,
    "schedulerName": TEXT,
    "schedulingGroup": {"podGroupName": TEXT},
    "schedulingGates": ListOf({"name": TEXT}),
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
    "resources": _REQUIREMENTS,
    "overhead": RESOURCES,
    "nodeSelector": TEXTS,
    "affinity": _AFFINITY,
    "tolerations": ListOf({"key": TEXT, "operator": TEXT, "value": TEXT, "effect": TEXT}),
    "topologySpreadConstraints": ListOf({"topologyKey": TEXT, "whenUnsatisfiable": TEXT}),
    "volumes": ListOf(MapOf(ANY)),
    "resourceClaims": ListOf({"name": TEXT}),
}
_POD_STATUS: Final[Shape] = {
    "phase": TEXT,
    "startTime": TEXT,
    "nominatedNodeName": TEXT,
    "conditions": _CONDITIONS,
    "containerStatuses": _CONTAINER_STATUSES,
    "initContainerStatuses": _CONTAINER_STATUSES,
}
_POLICY: Final[Shape] = {"basic": MapOf(ANY), "gang": {"minCount": ANY}, "disruptionMode": ANY}
_GROUP: Final[Mapping[str, Shape]] = {
    "schedulingPolicy": _POLICY,
    "disruptionMode": ANY,
    "priorityClassName": TEXT,
    "priority": ANY,
    "preemptionPolicy": TEXT,
    "parentCompositePodGroupName": TEXT,
    "schedulingConstraints": {"topology": ListOf({"key": TEXT})},
    "resourceClaims": ListOf({"name": TEXT}),
}
_KINDS: Final[Mapping[str, Mapping[str, Shape]]] = {
    "Node": {
        "spec": {
            "unschedulable": ANY,
            "taints": ListOf({"key": TEXT, "value": TEXT, "effect": TEXT}),
        },
        "status": {"allocatable": RESOURCES, "images": ListOf({"names": NAMES})},
    },
    "Pod": {"spec": _POD_SPEC, "status": _POD_STATUS},
    "PodGroup": {"spec": _GROUP},
    "Workload": {"spec": {"podGroupTemplates": ListOf({"name": TEXT, **_GROUP})}},
    "PodDisruptionBudget": {
        "spec": {"selector": _LABEL_SELECTOR},
        "status": {"disruptionsAllowed": ANY, "disruptedPods": MapOf(ANY)},
    },
    "PriorityClass": {"value": ANY, "globalDefault": ANY, "preemptionPolicy": TEXT},
}
_CHECKERS: Final[Mapping[str, Callable[[object], Iterator[FieldError]]]] = {
    kind: shape_checker({"apiVersion": TEXT, "kind": TEXT, "metadata": _METADATA, **fields})
    for kind, fields in _KINDS.items()
}


def check_structure(kind: str, raw: Mapping[str, Any]) -> None:
    """Raise InvalidObjectError where the structure of an object is not what its kind prescribes."""
    for error in _CHECKERS[kind](raw):
        raise InvalidObjectError(kind, name_of(raw), error)
    if not (raw.get("metadata") or {}).get("name"):
        raise InvalidObjectError(kind, "", FieldError("metadata.name", "must be set"))


def name_of(raw: Mapping[str, Any]) -> str:
    """Return namespace/name as far as the object has them."""
    metadata = raw.get("metadata")
    if not isinstance(metadata, Mapping):
        return ""
    namespace, name = metadata.get("namespace"), metadata.get("name")
    return f"{namespace}/{name}" if namespace else f"{name or ''}"
