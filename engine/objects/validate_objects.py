"""Which objects can be used at all: the errors that a person gets instead of a traceback or a silent default.

An error names object, field and what is allowed. What Kueue accepts and answers with a verdict (a stopped queue, a
missing flavor, a cycle of cohorts, a missing LocalQueue) is not an error here; see `engine.objects.activity` and the
queues. Values are checked in v1beta2, whichever version came in. Rules across fields are in
`engine.objects.webhook_rules`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from config.api.meta import Raw
from config.api.selectors import SelectorError, check_selector
from engine.objects.convert import normalize
from engine.objects.field_checks import (
    block_at,
    check_boolean,
    check_choice,
    check_integer,
    check_quantity,
    check_resource_list,
    check_time,
    entries_at,
    require,
    require_choice,
    require_integer,
)
from engine.objects.shapes import shape_errors
from engine.objects.time_based import read_min_admit_duration
from engine.topology.node_inventory import read_amounts, read_levels
from engine.topology.request import TopologyRequest
from engine.topology.wire import decode
from engine.vocabulary.errors import FieldError, InvalidObjectError

_COUNT: Final = range(2**31)
_GENERATION: Final = range(2**63)
_STOP_POLICIES: Final = ("None", "Hold", "HoldAndDrain")
_FUNGIBILITY: Final = ("MayStopSearch", "TryNextFlavor")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CONDITION_STATUSES: Final = ("True", "False", "Unknown")
_NAMESPACED: Final = frozenset({"Workload", "LocalQueue", "LimitRange"})


def check_object(raw: Raw) -> None:
    """Raise the first error of a raw object."""
    for error in find_errors(raw):
        raise error


def find_errors(raw: Raw) -> list[InvalidObjectError]:
    """Return everything that keeps one raw object from being used; unknown kinds are not judged.

    While the structure is wrong, only that is reported: nothing can be said about the values inside.
    """
    try:
        errors = list(shape_errors(raw)) or list(_value_errors(normalize(raw)))
    except InvalidObjectError as unknown_version:
        return [unknown_version]
    return [_named(raw, error) for error in errors]


def _named(raw: Raw, error: FieldError) -> InvalidObjectError:
    metadata = raw.get("metadata")
    parts = [metadata.get(key) for key in ("namespace", "name")] if isinstance(metadata, Mapping) else []
    return InvalidObjectError(str(raw.get("kind") or "object"), "/".join(str(part) for part in parts if part), error)


def _value_errors(raw: Raw) -> Iterator[FieldError]:
    kind = raw.get("kind") or ""
    yield from _metadata_errors(kind, block_at(raw, "metadata"))
    check = _CHECKS.get(kind)
    if check is not None:
        yield from check(block_at(raw, "spec"))
    if kind == "Workload":
        yield from _workload_status_errors(block_at(raw, "status"))
    elif kind == "Node":
        allocatable = block_at(block_at(raw, "status"), "allocatable")
        yield from _error_of(lambda: read_amounts(allocatable, "status.allocatable"))


def _metadata_errors(kind: str, metadata: Raw) -> Iterator[FieldError]:
    yield from require(metadata, "name", "metadata")
    if kind in _NAMESPACED:
        yield from require(metadata, "namespace", "metadata")
    for key in ("creationTimestamp", "deletionTimestamp"):
        yield from check_time(metadata, key, "metadata")
    yield from check_integer(metadata, "generation", "metadata", _GENERATION)


def _cluster_queue_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_choice(spec, "queueingStrategy", "spec", ("StrictFIFO", "BestEffortFIFO"))
    yield from check_choice(spec, "stopPolicy", "spec", _STOP_POLICIES)
    yield from _resource_group_errors(spec)
    yield from _preemption_errors(block_at(spec, "preemption"))
    fungibility = block_at(spec, "flavorFungibility")
    for key in ("whenCanBorrow", "whenCanPreempt"):
        yield from check_choice(fungibility, key, "spec.flavorFungibility", _FUNGIBILITY)
    preferences = ("BorrowingOverPreemption", "PreemptionOverBorrowing")
    yield from check_choice(fungibility, "preference", "spec.flavorFungibility", preferences)
    yield from check_quantity(block_at(spec, "fairSharing"), "weight", "spec.fairSharing")
    modes = ("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing")
    yield from check_choice(block_at(spec, "admissionScope"), "admissionMode", "spec.admissionScope", modes)
    strategy = block_at(spec, "admissionChecksStrategy")
    for path, rule in entries_at(strategy, "admissionChecks", "spec.admissionChecksStrategy"):
        yield from require(rule, "name", path)
    yield from _selector_errors(spec)


def _preemption_errors(preemption: Raw) -> Iterator[FieldError]:
    path = "spec.preemption"
    within = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
    yield from check_choice(preemption, "withinClusterQueue", path, within, ("Any",))
    reclaim = ("Never", "LowerPriority", "Any")
    yield from check_choice(preemption, "reclaimWithinCohort", path, reclaim, ("LowerOrNewerEqualPriority",))
    borrow = block_at(preemption, "borrowWithinCohort")
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
        check_selector(selector)
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
            yield from require(flavor, "name", flavor_path)
            name = str(flavor.get("name"))
            if name in seen_flavors:
                yield FieldError(f"{flavor_path}.name", f'"{name}" is listed already')
            seen_flavors.add(name)
            yield from _flavor_quota_errors(flavor, flavor_path, covered)


def _flavor_quota_errors(flavor: Raw, path: str, covered: list[str]) -> Iterator[FieldError]:
    names: list[object] = []
    for quota_path, quota in entries_at(flavor, "resources", path):
        names.append(quota.get("name"))
        if quota.get("nominalQuota") is None:
            yield FieldError(f"{quota_path}.nominalQuota", "must be set")
        for key in ("nominalQuota", "borrowingLimit", "lendingLimit"):
            yield from check_quantity(quota, key, quota_path)
    if names != covered:
        yield FieldError(f"{path}.resources", f"must name the coveredResources in their order: {', '.join(covered)}")


def _cohort_errors(spec: Raw) -> Iterator[FieldError]:
    yield from _resource_group_errors(spec)
    yield from check_quantity(block_at(spec, "fairSharing"), "weight", "spec.fairSharing")


def _local_queue_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_choice(spec, "stopPolicy", "spec", _STOP_POLICIES)


def _resource_flavor_errors(spec: Raw) -> Iterator[FieldError]:
    for path, taint in entries_at(spec, "nodeTaints", "spec"):
        yield from require_choice(taint, "effect", path, _EFFECTS)
        yield from check_time(taint, "timeAdded", path)
    for path, toleration in entries_at(spec, "tolerations", "spec"):
        yield from check_choice(toleration, "effect", path, ("", *_EFFECTS))


def _workload_errors(spec: Raw) -> Iterator[FieldError]:
    yield from check_boolean(spec, "active", "spec")
    yield from check_integer(spec, "priority", "spec")
    names: set[str] = set()
    for path, pod_set in entries_at(spec, "podSets", "spec"):
        yield from check_integer(pod_set, "count", path, _COUNT)
        yield from check_integer(pod_set, "minCount", path, _COUNT)
        name = str(pod_set.get("name") or "main")
        if name in names:
            yield FieldError(f"{path}.name", f'"{name}" is used already')
        names.add(name)
        request = pod_set.get("topologyRequest")
        yield from _error_of(partial(TopologyRequest.from_raw, request, f"{path}.topologyRequest"))
        template = block_at(pod_set, "template")
        yield from _pod_spec_errors(block_at(template, "spec"), f"{path}.template.spec")
    for path, gate in entries_at(spec, "preemptionGates", "spec"):
        yield from require(gate, "name", path)


def _pod_spec_errors(spec: Raw, path: str) -> Iterator[FieldError]:
    for kind in ("initContainers", "containers"):
        for container_path, container in entries_at(spec, kind, path):
            resources = block_at(container, "resources")
            for key in ("requests", "limits"):
                yield from check_resource_list(resources, key, f"{container_path}.resources")
    pod_level = block_at(spec, "resources")
    for key in ("requests", "limits"):
        yield from check_resource_list(pod_level, key, f"{path}.resources")
    yield from check_resource_list(spec, "overhead", path)


def _workload_status_errors(status: Raw) -> Iterator[FieldError]:
    for path, condition in entries_at(status, "conditions", "status"):
        yield from require_choice(condition, "status", path, _CONDITION_STATUSES)
        yield from check_time(condition, "lastTransitionTime", path)
        yield from require(condition, "type", path)
    for path, reclaimable in entries_at(status, "reclaimablePods", "status"):
        yield from require(reclaimable, "name", path)
        yield from require_integer(reclaimable, "count", path, _COUNT)
    for path, gate in entries_at(status, "preemptionGates", "status"):
        yield from check_choice(gate, "position", path, ("Open", "Closed"))
        yield from check_choice(gate, "state", path, ("Open", "Closed"))
    yield from check_time(block_at(status, "requeueState"), "requeueAt", "status.requeueState")
    admission = block_at(status, "admission")
    if admission:
        yield from require(admission, "clusterQueue", "status.admission")
    for path, assignment in entries_at(admission, "podSetAssignments", "status.admission"):
        yield from check_integer(assignment, "count", path, _COUNT)
        yield from check_resource_list(assignment, "resourceUsage", path)
        if assignment.get("topologyAssignment"):
            where = f"{path}.topologyAssignment"
            yield from _error_of(partial(decode, assignment["topologyAssignment"], where))
        yield from check_choice(assignment, "delayedTopologyRequest", path, ("Pending", "Ready"))


def _pod_errors(spec: Raw) -> Iterator[FieldError]:
    yield from _pod_spec_errors(spec, "spec")


def _topology_errors(spec: Raw) -> Iterator[FieldError]:
    yield from _error_of(lambda: read_levels({"spec": spec}))


def _error_of(read: Callable[[], object]) -> Iterator[FieldError]:
    """Yield what is wrong with a field that is read as a whole."""
    try:
        read()
    except FieldError as error:
        yield error


_CHECKS: Final[Mapping[str, Callable[[Raw], Iterator[FieldError]]]] = {
    "ClusterQueue": _cluster_queue_errors,
    "Cohort": _cohort_errors,
    "LocalQueue": _local_queue_errors,
    "Pod": _pod_errors,
    "ResourceFlavor": _resource_flavor_errors,
    "Topology": _topology_errors,
    "Workload": _workload_errors,
}
