"""What Kueue's webhook allows to change in a stored Workload."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.api.meta import Obj
from config.names import KUEUE_GROUP
from localcluster.catalogue.kueue_kinds.workload_invariants import QUOTA_RESERVED
from localcluster.kinds.columns import has_condition, read
from localcluster.kinds.equality import is_same
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors

NOT_NOMINATED = "when setting clusterName it must be one of the nominatedClusterNames"

_ELASTIC_ANNOTATION = f"{KUEUE_GROUP}/elastic-job"
_REPLACEMENT_ANNOTATION = f"{KUEUE_GROUP}/workload-slice-replacement-for"
_SET_LATER = ("topologyAssignment", "delayedTopologyRequest")


def is_elastic(workload: Obj) -> bool:
    """Return whether the workload may be scaled while it holds quota."""
    annotations = read(workload, "metadata.annotations") or {}
    return annotations.get(_ELASTIC_ANNOTATION) == "true"


def check_update(new: Obj, old: Obj) -> Iterator[SchemaError]:
    """Return every change that is not allowed."""
    if has_condition(old, QUOTA_RESERVED):
        yield from _check_pod_sets(read(new, "spec.podSets") or (), read(old, "spec.podSets") or ())
    if has_condition(old, QUOTA_RESERVED) and has_condition(new, QUOTA_RESERVED):
        yield from _check_reclaimable_pods(new, old)
    yield from _check_admission(read(new, "status.admission"), read(old, "status.admission"))
    yield from _check_ready_checks(new, old)
    yield from _check_cluster_name(new, old)


def _check_pod_sets(new: Sequence[Obj], old: Sequence[Obj]) -> Iterator[SchemaError]:
    if len(new) != len(old):
        yield errors.invalid("spec.podSets", list(new), errors.FIELD_IS_IMMUTABLE)
        return
    for index, (current, stored) in enumerate(zip(new, old, strict=True)):
        # Elastic jobs shrink in place, so only growth counts as a change of the size.
        count = max(current.get("count", 0), stored.get("count", 0))
        if not is_same({**current, "count": count}, stored):
            yield errors.invalid(f"spec.podSets.{index}", current, errors.FIELD_IS_IMMUTABLE)


def _check_reclaimable_pods(new: Obj, old: Obj) -> Iterator[SchemaError]:
    counts = {entry["name"]: entry["count"] for entry in read(new, "status.reclaimablePods") or ()}
    scaled_down = _scaled_down_pod_sets(new)
    for entry in read(old, "status.reclaimablePods") or ():
        name, before = entry["name"], entry["count"]
        path = f"status.reclaimablePods[{name}]"
        if name in scaled_down:
            continue
        if name not in counts:
            yield errors.required(path, "cannot be removed")
        elif counts[name] < before:
            yield errors.invalid(f"{path}.count", counts[name], f"cannot be less than {before}")


def _scaled_down_pod_sets(workload: Obj) -> set[str]:
    if not is_elastic(workload):
        return set()
    sizes = {pod_set["name"]: pod_set.get("count", 0) for pod_set in read(workload, "spec.podSets") or ()}
    assignments = read(workload, "status.admission.podSetAssignments") or ()
    return {psa["name"] for psa in assignments if psa.get("count", 0) > sizes.get(psa["name"], 0)}


def _check_admission(new: Obj | None, old: Obj | None) -> Iterator[SchemaError]:
    """Admission may be set or taken back as a whole; inside it only topology may follow later."""
    if new is not None and old is not None and not is_same(_without_topology(new), _without_topology(old)):
        yield errors.invalid("status.admission", new, errors.FIELD_IS_IMMUTABLE)


def _without_topology(admission: Obj) -> Mapping[str, Any]:
    assignments = admission.get("podSetAssignments") or ()
    kept = [{key: value for key, value in psa.items() if key not in _SET_LATER} for psa in assignments]
    return {**admission, "podSetAssignments": kept}


def _check_ready_checks(new: Obj, old: Obj) -> Iterator[SchemaError]:
    current = {check["name"]: check for check in read(new, "status.admissionChecks") or ()}
    for index, stored in enumerate(read(old, "status.admissionChecks") or ()):
        check = current.get(stored["name"])
        if check is None or not (check["state"] == stored["state"] == "Ready"):
            continue
        pod_set_updates = check.get("podSetUpdates")
        if not is_same(pod_set_updates or [], stored.get("podSetUpdates") or []):
            path = f"status.admissionChecks[{index}].podSetUpdates"
            yield errors.invalid(path, pod_set_updates, errors.FIELD_IS_IMMUTABLE)


def _check_cluster_name(new: Obj, old: Obj) -> Iterator[SchemaError]:
    if _REPLACEMENT_ANNOTATION in (read(new, "metadata.annotations") or {}):
        return
    chosen = read(new, "status.clusterName")
    if chosen is None or read(old, "status.clusterName") is not None:
        return
    if chosen not in (read(old, "status.nominatedClusterNames") or ()):
        yield errors.invalid("status.clusterName", chosen, NOT_NOMINATED)
