"""The rules that the Workload's CustomResourceDefinition states over its own fields."""

from collections.abc import Callable
from typing import Any

from config.api.meta import Obj
from localcluster.kinds.columns import has_condition, read
from localcluster.kinds.schema import SchemaRule

QUOTA_RESERVED = "QuotaReserved"
ADMITTED = "Admitted"


def _min_count_fits(pod_set: Obj, _old: Any) -> bool:
    return "minCount" not in pod_set or bool(pod_set["minCount"] <= pod_set.get("count", 1))


def _kind_belongs_to(group: str, kind: str) -> Callable[[Any, Any], bool]:
    return lambda reference, _old: reference["group"] != group or reference["kind"] == kind


def _has_priority_with_class(spec: Obj, _old: Any) -> bool:
    return "priorityClassRef" not in spec or "priority" in spec


def _keeps_cluster_name(status: Obj, old: Obj) -> bool:
    return "clusterName" not in old or "clusterName" not in status or old["clusterName"] == status["clusterName"]


def _is_nominated_or_placed(status: Obj, _old: Any) -> bool:
    return "clusterName" not in status or not status.get("nominatedClusterNames")


def _assigns_every_pod_set(workload: Obj, _old: Any) -> bool:
    assignments = read(workload, "status.admission")
    if assignments is None or not has_condition(workload, QUOTA_RESERVED):
        return True
    return len(read(workload, "spec.podSets") or ()) == len(assignments.get("podSetAssignments") or ())


def _while_reserved(keeps: Callable[[Obj | None, Obj | None], bool]) -> Callable[[Obj, Obj], bool]:
    """Compare the old and the new priorityClassRef, but only of a workload that held quota before."""

    def holds(new: Obj, old: Obj) -> bool:
        if not has_condition(old, QUOTA_RESERVED):
            return True
        return keeps(read(new, "spec.priorityClassRef"), read(old, "spec.priorityClassRef"))

    return holds


def _keeps_part(part: str) -> Callable[[Obj, Obj], bool]:
    return _while_reserved(lambda new, old: new is None or old is None or new[part] == old[part])


def _keeps_pod_priority_class(new: Obj | None, old: Obj | None) -> bool:
    if new is None or old is None or (new["group"], new["kind"]) != ("scheduling.k8s.io", "PriorityClass"):
        return True
    return bool(new["name"] == old["name"])


def _keeps_while(condition: str, path: str, absent: Any = None) -> Callable[[Obj, Obj], bool]:
    """Compare a field, but only of a workload that had the condition before and has it still."""

    def holds(new: Obj, old: Obj) -> bool:
        if not (has_condition(old, condition) and has_condition(new, condition)):
            return True
        return bool((read(new, path) or absent) == (read(old, path) or absent))

    return holds


def _transition(message: str, holds: Callable[[Obj, Obj], bool]) -> SchemaRule:
    return SchemaRule(message, holds, is_transition=True)


POD_SET = (SchemaRule("minCount should be positive and less or equal to count", _min_count_fits),)

PRIORITY_CLASS_REF = (
    SchemaRule(
        "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
        _kind_belongs_to("scheduling.k8s.io", "PriorityClass"),
    ),
    SchemaRule(
        "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
        _kind_belongs_to("kueue.x-k8s.io", "WorkloadPriorityClass"),
    ),
)

SPEC = (SchemaRule("priority should not be nil when priorityClassRef is set", _has_priority_with_class),)

STATUS = (
    _transition("clusterName is immutable once set", _keeps_cluster_name),
    SchemaRule("clusterName and nominatedClusterNames are mutually exclusive", _is_nominated_or_placed),
)

OBJECT = (
    SchemaRule("podSetAssignments must have the same number of podSets as the spec", _assigns_every_pod_set),
    _transition(
        "priorityClassRef is immutable while workload quota reserved",
        _while_reserved(lambda new, old: (new is None) == (old is None)),
    ),
    _transition("priorityClassRef.group is immutable while workload quota reserved", _keeps_part("group")),
    _transition("priorityClassRef.kind is immutable while workload quota reserved", _keeps_part("kind")),
    _transition(
        "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
        _while_reserved(_keeps_pod_priority_class),
    ),
    _transition("queueName is immutable while workload quota reserved", _keeps_while(QUOTA_RESERVED, "spec.queueName")),
    _transition(
        "maximumExecutionTimeSeconds is immutable while workload quota reserved",
        _keeps_while(ADMITTED, "spec.maximumExecutionTimeSeconds", absent=0),
    ),
)
