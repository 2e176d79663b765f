"""Bring raw Kueue objects into the shape the engine reads: v1beta2, with the defaults of the CRDs.

Inputs are never changed: an object that needs nothing is returned as it is, any other as a copy along the changed path.
"""

from typing import Any, Final

from config.api.meta import Raw
from config.names import KUEUE_API_VERSION, KUEUE_GROUP
from engine.vocabulary.errors import FieldError, InvalidObjectError

_V1BETA1: Final = f"{KUEUE_GROUP}/v1beta1"
_WORKLOAD_PRIORITY_CLASS_SOURCE: Final = f"{KUEUE_GROUP}/workloadpriorityclass"
_POD_PRIORITY_CLASS_SOURCE: Final = "scheduling.k8s.io/priorityclass"
_OLD_POLICIES: Final = {"Borrow": "MayStopSearch", "Preempt": "MayStopSearch"}

_PREEMPTION_DEFAULTS: Final = {"withinClusterQueue": "Never", "reclaimWithinCohort": "Never"}
_FUNGIBILITY_DEFAULTS: Final = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
_QUEUE_DEFAULTS: Final = {"queueingStrategy": "BestEffortFIFO", "stopPolicy": "None"}


def normalize(raw: Raw) -> Raw:
    """Convert and default one raw object; other groups and kinds pass through."""
    return apply_defaults(to_v1beta2(raw))


def to_v1beta2(raw: Raw) -> Raw:
    """Convert a Kueue object of v1beta1; refuse versions that are neither."""
    api_version = raw.get("apiVersion") or ""
    if not api_version.startswith(f"{KUEUE_GROUP}/") or api_version == KUEUE_API_VERSION:
        return raw
    kind = raw.get("kind") or ""
    if api_version != _V1BETA1:
        name = (raw.get("metadata") or {}).get("name") or ""
        error = FieldError.not_allowed("apiVersion", api_version, (KUEUE_API_VERSION, _V1BETA1))
        raise InvalidObjectError(kind, name, error)
    converted = {**raw, "apiVersion": KUEUE_API_VERSION}
    if kind == "ClusterQueue" and raw.get("spec"):
        converted["spec"] = _cluster_queue_spec(raw["spec"])
    elif kind == "LocalQueue" and raw.get("status"):
        converted["status"] = _renamed(raw["status"], "flavorUsage", "flavorsUsage")
    elif kind == "Workload":
        converted["spec"] = _workload_spec(raw.get("spec") or {})
        if raw.get("status"):
            converted["status"] = _renamed(
                raw["status"], "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"
            )
    return converted


def apply_defaults(raw: Raw) -> Raw:
    """Fill in what the API server would have: the engine reads no object without its defaults."""
    spec = raw.get("spec") or {}
    match raw.get("kind"):
        case "ClusterQueue":
            defaulted = _cluster_queue_defaults(spec)
        case "LocalQueue":
            defaulted = {"stopPolicy": "None", **_present(spec)}
        case "Workload":
            defaulted = _workload_defaults(spec)
        case _:
            return raw
    return raw if defaulted == spec else {**raw, "spec": defaulted}


def _cluster_queue_spec(spec: Raw) -> dict[str, Any]:
    converted = _renamed(spec, "cohort", "cohortName")
    checks = converted.pop("admissionChecks", None)
    if checks:
        converted["admissionChecksStrategy"] = {"admissionChecks": [{"name": name} for name in checks]}
    fungibility = converted.get("flavorFungibility")
    if fungibility:
        converted["flavorFungibility"] = {
            key: _OLD_POLICIES.get(value, value) if isinstance(value, str) else value
            for key, value in fungibility.items()
        }
    return converted


def _workload_spec(spec: Raw) -> dict[str, Any]:
    converted = dict(spec)
    source, name = converted.pop("priorityClassSource", ""), converted.pop("priorityClassName", "")
    if source == _WORKLOAD_PRIORITY_CLASS_SOURCE:
        converted["priorityClassRef"] = {"group": KUEUE_GROUP, "kind": "WorkloadPriorityClass", "name": name}
    elif source == _POD_PRIORITY_CLASS_SOURCE:
        converted["priorityClassRef"] = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": name}
    return converted


def _cluster_queue_defaults(spec: Raw) -> dict[str, Any]:
    preemption = {**_PREEMPTION_DEFAULTS, **_present(spec.get("preemption"))}
    preemption["borrowWithinCohort"] = {"policy": "Never", **_present(preemption.get("borrowWithinCohort"))}
    return {
        **_QUEUE_DEFAULTS,
        **_present(spec),
        "preemption": preemption,
        "flavorFungibility": {**_FUNGIBILITY_DEFAULTS, **_present(spec.get("flavorFungibility"))},
    }


def _workload_defaults(spec: Raw) -> dict[str, Any]:
    pod_sets = spec.get("podSets") or []
    if any(pod_set.get("name") is None or pod_set.get("count") is None for pod_set in pod_sets):
        pod_sets = [{"name": "main", "count": 1, **_present(pod_set)} for pod_set in pod_sets]
    return {"active": True, **_present(spec), "podSets": pod_sets}


def _present(block: Raw | None) -> dict[str, Any]:
    """Return the block without nulls: the API server drops them before it defaults."""
    return {key: value for key, value in (block or {}).items() if value is not None}


def _renamed(block: Raw, old: str, new: str) -> dict[str, Any]:
    return {new if key == old else key: value for key, value in block.items()}
