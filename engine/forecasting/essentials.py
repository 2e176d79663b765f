"""A waiting Workload reduced to what a prediction reads, and packed: no image, command or environment is kept.

A decoded pod template takes many times the memory of its text, and a worker may hold thousands of waiting Workloads. So
the three parts are kept as compact JSON and decoded when read, which a prediction does a few times.
Invariant: a prediction made from the packed form equals one made from the whole object.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from config.api.meta import Raw
from config.names import KUEUE_API_VERSION, KUEUE_GROUP

_METADATA: Final = ("name", "namespace", "uid", "creationTimestamp")
_SPEC: Final = ("queueName", "active", "priority", "preemptionGates")
_POD_SET: Final = ("name", "count", "minCount", "topologyRequest")
_POD: Final = ("resources", "overhead", "runtimeClassName", "nodeSelector", "tolerations", "resourceClaims")
_CONTAINER: Final = ("resources", "restartPolicy")
_STATUS: Final = ("admission", "requeueState", "preemptionGates", "reclaimablePods", "unhealthyNodes")
_CONDITION: Final = ("type", "status", "reason", "lastTransitionTime")
_WITH_MESSAGE: Final = "Requeued"
_PARTS: Final = ("apiVersion", "kind", "metadata", "spec", "status")


class PackedWorkload(Mapping[str, Any]):
    """Reads like the raw Workload that it was made of, as far as predictions read it."""

    __slots__ = ("_metadata", "_spec", "_status")

    def __init__(self, raw: Raw) -> None:
        self._metadata = _packed(_metadata(raw.get("metadata") or {}))
        self._spec = _packed(_spec(raw.get("spec") or {}))
        self._status = _packed(_status(raw.get("status") or {}))

    @property
    def spec_text(self) -> bytes:
        """Return the spec as it is kept: equal for as long as the request does not change."""
        return self._spec

    @property
    def size(self) -> int:
        """Return how many bytes are kept."""
        return len(self._metadata) + len(self._spec) + len(self._status)

    def __getitem__(self, part: str) -> Any:
        match part:
            case "apiVersion":
                return KUEUE_API_VERSION
            case "kind":
                return "Workload"
            case "metadata":
                return json.loads(self._metadata)
            case "spec":
                return json.loads(self._spec)
            case "status":
                return json.loads(self._status)
        raise KeyError(part)

    def __iter__(self) -> Iterator[str]:
        return iter(_PARTS)

    def __len__(self) -> int:
        return len(_PARTS)


def _packed(part: Raw) -> bytes:
    return json.dumps(part, separators=(",", ":")).encode()


def _only(raw: Raw, names: Iterable[str]) -> dict[str, Any]:
    return {name: raw[name] for name in names if raw.get(name) is not None}


def _metadata(metadata: Raw) -> Raw:
    kept = _only(metadata, _METADATA)
    for part in ("annotations", "labels"):
        ours = {key: value for key, value in (metadata.get(part) or {}).items() if key.startswith(f"{KUEUE_GROUP}/")}
        if ours:
            kept[part] = ours
    owners = [_only(owner, ("kind", "name")) for owner in metadata.get("ownerReferences") or ()]
    return {**kept, "ownerReferences": owners} if owners else kept


def _spec(spec: Raw) -> Raw:
    return {**_only(spec, _SPEC), "podSets": [_pod_set(pod_set) for pod_set in spec.get("podSets") or ()]}


def _pod_set(pod_set: Raw) -> Raw:
    pod = (pod_set.get("template") or {}).get("spec") or {}
    kept = _only(pod, _POD)
    for part in ("initContainers", "containers"):
        if pod.get(part):
            kept[part] = [_only(container, _CONTAINER) for container in pod[part]]
    affinity = (pod.get("affinity") or {}).get("nodeAffinity")
    if affinity:
        kept["affinity"] = {"nodeAffinity": affinity}
    return {**_only(pod_set, _POD_SET), "template": {"spec": kept}}


def _status(status: Raw) -> Raw:
    kept = _only(status, _STATUS)
    conditions = [_condition(entry) for entry in status.get("conditions") or ()]
    checks = [_only(check, ("name", "state")) for check in status.get("admissionChecks") or ()]
    if conditions:
        kept["conditions"] = conditions
    return {**kept, "admissionChecks": checks} if checks else kept


def _condition(entry: Raw) -> Raw:
    return _only(entry, (*_CONDITION, "message") if entry.get("type") == _WITH_MESSAGE else _CONDITION)
