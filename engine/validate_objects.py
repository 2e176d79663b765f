"""Which objects can be used at all: the errors that a person gets instead of a traceback or a silent default.

An error names object, field and what is allowed. What Kueue accepts and answers with a verdict (a stopped queue, a
missing flavor, a cycle of cohorts, a missing LocalQueue) is no error here; see `engine.activity` and the queues.
Objects are v1beta2. Cross-field rules of Kueue's webhooks are in `engine.webhook_rules`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from config.api.meta import parse_time
from config.api.selectors import SelectorError, check_selector
from engine.errors import FieldError, InvalidObjectError
from engine.field_checks import (
    check_boolean,
    check_choice,
    check_integer,
    check_quantity,
    check_resource_list,
    entries_at,
    mapping_at,
)
from engine.time_based import read_min_admit_duration

Raw = Mapping[str, Any]

_COUNT: Final = range(2**31)
_GENERATION: Final = range(2**63)
_STOP_POLICIES: Final = ("None", "Hold", "HoldAndDrain")
_FUNGIBILITY: Final = ("MayStopSearch", "TryNextFlavor")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONDITION_STATUSES: Final = ("True", "False", "Unknown")
_NAMESPACED: Final = frozenset({"Workload", "LocalQueue", "LimitRange"})


def find_errors(raw: Raw) -> list[InvalidObjectError]:
    """Return everything that keeps one raw object from being used; unknown kinds are not judged."""
    kind = raw.get("kind") or ""
    name = ""
    errors: list[FieldError] = []
    try:
        name = _display_name(kind, raw)
        errors += _metadata_errors(raw)
        check = _CHECKS.get(kind)
        if check is not None:
            errors += check(mapping_at(raw, "spec", ""))
        if kind == "Workload":
            errors += _workload_status_errors(mapping_at(raw, "status", ""))
    except FieldError as error:
        errors.append(error)
    return [InvalidObjectError(kind, name, error) for error in errors]


def check_object(raw: Raw) -> None:
    """Raise the first error of a raw object."""
    for error in find_errors(raw):
        raise error


def _display_name(kind: str, raw: Raw) -> str:
    metadata = mapping_at(raw, "metadata", "")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name:
        raise FieldError("metadata.name", "must be set")
    if kind not in _NAMESPACED:
        return name
    if not isinstance(namespace, str) or not namespace:
        raise FieldError("metadata.namespace", "must be set")
    return f"{namespace}/{name}"


def _metadata_errors(raw: Raw) -> Iterator[FieldError]:
    metadata = mapping_at(raw, "metadata", "")
    for key in ("creationTimestamp", "deletionTimestamp"):
        yield from _check_time(metadata, key, "metadata")
    yield from check_integer(metadata, "generation", "metadata", _GENERATION)
    for key in ("labels", "annotations"):
        for name, value in mapping_at(metadata, key, "metadata").items():
            if not isinstance(value, str):
                yield FieldError(f"metadata.{key}[{name}]", f"{value!r} is not allowed: must be text")


def _cluster_queue_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_choice(spec, "queueingStrategy", "spec", ("StrictFIFO", "BestEffortFIFO"))
    yield from check_choice(spec, "stopPolicy", "spec", _STOP_POLICIES)
    yield from _check_name(spec, "cohortName", "spec")
    yield from _resource_group_errors(spec)
    yield from _preemption_errors(mapping_at(spec, "preemption", "spec"))
    fungibility = mapping_at(spec, "flavorFungibility", "spec")
    for key in ("whenCanBorrow", "whenCanPreempt"):
        yield from check_choice(fungibility, key, "spec.flavorFungibility", _FUNGIBILITY)
    preferences = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
    yield from check_choice(fungibility, "preference", "spec.flavorFungibility", preferences)
    yield from check_quantity(mapping_at(spec, "fairSharing", "spec"), "weight", "spec.fairSharing")
    modes = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
    yield from check_choice(mapping_at(spec, "admissionScope", "spec"), "admissionMode", "spec.admissionScope", modes)
    strategy = mapping_at(spec, "admissionChecksStrategy", "spec")
    for path, rule in entries_at(strategy, "admissionChecks", "spec.admissionChecksStrategy"):
        yield from _require_name(rule, path)
    yield from _selector_errors(spec)


def _preemption_errors(preemption: Raw) -> Iterator[FieldError]:
    path = "spec.preemption"
    within = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
    yield from check_choice(preemption, "withinClusterQueue", path, within, ("Any",))
    reclaim = ("Never", "LowerPriority", "Any")
    yield from check_choice(preemption, "reclaimWithinCohort", path, reclaim, ("LowerOrNewerEqualPriority",))
    borrow = mapping_at(preemption, "borrowWithinCohort", path)
    yield from check_choice(borrow, "policy", f"{path}.borrowWithinCohort", ("Never", "LowerPriority"))
    yield from check_integer(borrow, "maxPriorityThreshold", f"{path}.borrowWithinCohort")
    try:
        read_min_admit_duration(preemption)
    except FieldError as error:
        yield error


def _selector_errors(spec: Raw) -> Iterator[FieldError]:
    selector = spec.get("namespaceSelector")
    if selector is None:
        return
    try:
        check_selector(mapping_at(spec, "namespaceSelector", "spec"))
    except SelectorError as error:
        field, _, detail = str(error).partition(": ")
        yield FieldError(f"spec.namespaceSelector.{field}", detail)


def _resource_group_errors(spec: Raw) -> Iterator[FieldError]:
    seen_resources: set[str] = set()
    seen_flavors: set[str] = set()
    for path, group in entries_at(spec, "resourceGroups", "spec"):
        covered = group.get("coveredResources") or []
        for index, resource in enumerate(covered):
            if resource in seen_resources:
                yield FieldError(f"{path}.coveredResources[{index}]", f'"{resource}" is covered already')
            seen_resources.add(resource)
        for flavor_path, flavor in entries_at(group, "flavors", path):
            yield from _require_name(flavor, flavor_path)
            if flavor.get("name") in seen_flavors:
                yield FieldError(f"{flavor_path}.name", f'"{flavor["name"]}" is listed already')
            seen_flavors.add(flavor.get("name") or "")
            yield from _flavor_quota_errors(flavor, flavor_path, covered)


def _flavor_quota_errors(flavor: Raw, path: str, covered: list[str]) -> Iterator[FieldError]:
    names: list[object] = []
    for quota_path, quota in entries_at(flavor, "resources", path):
        names.append(quota.get("name"))
        for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            yield from check_quantity(quota, key, quota_path)
    if names != covered:
        yield FieldError(f"{path}.resources", f"must name the coveredResources in their order: {', '.join(covered)}")


def _cohort_errors(spec: Raw) -> Iterator[FieldError]:
    yield from _check_name(spec, "parentName", "spec")
    yield from _resource_group_errors(spec)
    yield from check_quantity(mapping_at(spec, "fairSharing", "spec"), "weight", "spec.fairSharing")


def _local_queue_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_choice(spec, "stopPolicy", "spec", _STOP_POLICIES)
    yield from _check_name(spec, "clusterQueue", "spec")


def _resource_flavor_errors(spec: Raw) -> Iterator[FieldError]:
    for name, value in mapping_at(spec, "nodeLabels", "spec").items():
        if not isinstance(value, str):
            yield FieldError(f"spec.nodeLabels[{name}]", f"{value!r} is not allowed: must be text")
    for path, taint in entries_at(spec, "nodeTaints", "spec"):
        yield from check_choice({"effect": "", **taint}, "effect", path, _EFFECTS)
        yield from _check_time(taint, "timeAdded", path)
    for _ in entries_at(spec, "tolerations", "spec"):
        pass


def _workload_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_boolean(spec, "active", "spec")
    yield from check_integer(spec, "priority", "spec")
    yield from _check_name(spec, "queueName", "spec")
    names: set[str] = set()
    for path, pod_set in entries_at(spec, "podSets", "spec"):
        yield from check_integer(pod_set, "count", path, _COUNT)
        yield from check_integer(pod_set, "minCount", path, _COUNT)
        name = pod_set.get("name") or "main"
        if name in names:
            yield FieldError(f"{path}.name", f'"{name}" is used already')
        names.add(name)
        template = mapping_at(pod_set, "template", path)
        yield from _pod_spec_errors(mapping_at(template, "spec", f"{path}.template"), f"{path}.template.spec")
    for path, gate in entries_at(spec, "preemptionGates", "spec"):
        yield from _require_name(gate, path)


def _pod_spec_errors(spec: Raw, path: str) -> Iterator[FieldError]:
    for kind in ("initContainers", "containers"):
        for container_path, container in entries_at(spec, kind, path):
            resources = mapping_at(container, "resources", container_path)
            for key in ("requests", "limits"):
                yield from check_resource_list(resources, key, f"{container_path}.resources")
    pod_level = mapping_at(spec, "resources", path)
    for key in ("requests", "limits"):
        yield from check_resource_list(pod_level, key, f"{path}.resources")
    yield from check_resource_list(spec, "overhead", path)


def _workload_status_errors(status: Raw) -> Iterator[FieldError]:
    for path, condition in entries_at(status, "conditions", "status"):
        yield from check_choice({"status": "", **condition}, "status", path, _CONDITION_STATUSES)
        yield from _check_time(condition, "lastTransitionTime", path)
        if not isinstance(condition.get("type"), str):
            yield FieldError(f"{path}.type", "must be set")
    for path, reclaimable in entries_at(status, "reclaimablePods", "status"):
        yield from _require_name(reclaimable, path)
        yield from check_integer({"count": "", **reclaimable}, "count", path, _COUNT)
    for path, gate in entries_at(status, "preemptionGates", "status"):
        yield from check_choice(gate, "position", path, ("Open", "Closed"))
        yield from check_choice(gate, "state", path, ("Open", "Closed"))
    yield from _check_time(mapping_at(status, "requeueState", "status"), "requeueAt", "status.requeueState")
    admission = mapping_at(status, "admission", "status")
    if admission:
        yield from _check_name({"clusterQueue": "", **admission}, "clusterQueue", "status.admission", required=True)
    for path, assignment in entries_at(admission, "podSetAssignments", "status.admission"):
        yield from check_integer(assignment, "count", path, _COUNT)
        yield from check_resource_list(assignment, "resourceUsage", path)
        for resource, flavor in mapping_at(assignment, "flavors", path).items():
            if not isinstance(flavor, str):
                yield FieldError(f"{path}.flavors[{resource}]", f"{flavor!r} is not allowed: must name a flavor")


def _check_time(block: Raw, key: str, path: str) -> Iterator[FieldError]:
    value = block.get(key)
    if value is None:
        return
    try:
        parse_time(value if isinstance(value, str) else repr(value))
    except ValueError as error:
        yield FieldError(f"{path}.{key}", str(error))


def _check_name(block: Raw, key: str, path: str, *, required: bool = False) -> Iterator[FieldError]:
    value = block.get(key)
    if (value is not None and not isinstance(value, str)) or (required and not value):
        yield FieldError(f"{path}.{key}", f"{value!r} is not allowed: must be a name")


def _require_name(block: Raw, path: str) -> Iterator[FieldError]:
    return _check_name({"name": "", **block}, "name", path, required=True)


_CHECKS: Final[Mapping[str, Callable[[Raw], Iterator[FieldError]]]] = {
    "ClusterQueue": _cluster_queue_errors,
    "Cohort": _cohort_errors,
    "LocalQueue": _local_queue_errors,
    "ResourceFlavor": _resource_flavor_errors,
    "Workload": _workload_errors,
}
