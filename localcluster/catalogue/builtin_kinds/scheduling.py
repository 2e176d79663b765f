"""Group scheduling.k8s.io: PriorityClass, and PodGroup in the spellings of Kubernetes 1.36 and 1.37."""

from collections.abc import Iterator, Sequence

from config.api.meta import Obj
from localcluster.catalogue.builtin_kinds.priority import SYSTEM_CLASSES, resolve_pod_group_priority
from localcluster.kinds.columns import age_column, computed_column, field_column, find_condition, read
from localcluster.kinds.fields import conditions, resource
from localcluster.kinds.kinds import Rule, ServedKind
from localcluster.kinds.schema import Schema, SchemaError
from localcluster.kinds.structural import errors
from localcluster.kinds.structural.builder import boolean, int32, list_of, obj, one_of, preserved, string

GROUP = "scheduling.k8s.io"
HIGHEST_USER_PRIORITY = 1_000_000_000


def priority_class_kind() -> ServedKind:
    """Return the PriorityClass kind."""
    return ServedKind(
        group=GROUP,
        version="v1",
        kind="PriorityClass",
        plural="priorityclasses",
        singular="priorityclass",
        namespaced=False,
        short_names=("pc",),
        schema=resource(
            {
                "value": int32(default=0),
                "globalDefault": boolean(),
                "description": string(),
                "preemptionPolicy": one_of("PreemptLowerPriority", "Never", default="PreemptLowerPriority"),
            }
        ),
        columns=(
            field_column("Value", "value", of="integer"),
            computed_column("Global-Default", lambda stored: bool(stored.get("globalDefault")), of="boolean"),
            age_column(),
            field_column("PreemptionPolicy", "preemptionPolicy"),
        ),
        validate=_check_priority_class,
    )


def pod_group_v1alpha2_kind() -> ServedKind:
    """Return the PodGroup of Kubernetes 1.36: the disruption mode is a word."""
    return _pod_group("v1alpha2", one_of("Pod", "PodGroup", default="Pod"), _check_pod_group)


def pod_group_v1beta1_kind() -> ServedKind:
    """Return the PodGroup of Kubernetes 1.37: the disruption mode is a union, and a gang may change its size."""
    mode = obj({"single": obj({}), "all": obj({})}, default={"single": {}})
    return _pod_group("v1beta1", mode, _check_pod_group_v1beta1)


def _pod_group(version: str, disruption_mode: Schema, rule: Rule) -> ServedKind:
    template = obj({"workloadName": string(), "podGroupTemplateName": string()})
    spec = obj(
        {
            "podGroupTemplateRef": obj({"workload": template}),
            "schedulingPolicy": obj({"basic": obj({}), "gang": obj({"minCount": int32()})}),
            "resourceClaims": list_of(preserved(), keys=("name",)),
            "disruptionMode": disruption_mode,
            "priorityClassName": string(),
            "priority": int32(),
        },
        default={},
    )
    status = obj({"conditions": conditions(), "resourceClaimStatuses": list_of(preserved(), keys=("name",))})
    return ServedKind(
        group=GROUP,
        version=version,
        kind="PodGroup",
        plural="podgroups",
        singular="podgroup",
        namespaced=True,
        has_status=True,
        schema=resource({"spec": spec, "status": status}),
        columns=(
            computed_column("Policy", lambda group: "Gang" if _gang(group) is not None else "Basic"),
            computed_column("Workload", _describe_workload),
            computed_column("Status", _describe_status),
            age_column(),
        ),
        prepare_create=_start_without_status,
        admit=resolve_pod_group_priority,
        validate=rule,
    )


def _start_without_status(group: Obj) -> None:
    group["status"] = {}


def _check_priority_class(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    found: list[SchemaError] = []
    name, value = new["metadata"].get("name", ""), new.get("value", 0)
    if old is not None:
        if value != old.get("value", 0):
            found.append(errors.forbidden("value", "may not be changed in an update."))
        if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
            found.append(errors.invalid("preemptionPolicy", new.get("preemptionPolicy"), errors.FIELD_IS_IMMUTABLE))
    elif name.startswith("system-"):
        if SYSTEM_CLASSES.get(name) != value:
            complaint = "priority class names with 'system-' prefix are reserved for system use only. error: "
            found.append(errors.forbidden("metadata.name", f"{complaint}{name} is not a known system priority class"))
    elif value > HIGHEST_USER_PRIORITY:
        complaint = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        found.append(errors.forbidden("value", complaint))
    return found


def _gang(group: Obj) -> Obj | None:
    gang: Obj | None = read(group, "spec.schedulingPolicy.gang")
    return gang


def _check_pod_group(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    found = [*_check_pod_group_spec(new)]
    if old is not None:
        found.extend(_check_unchanged(new, old, ("schedulingPolicy",)))
    return found


def _check_pod_group_v1beta1(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    found = [*_check_pod_group_spec(new)]
    mode = read(new, "spec.disruptionMode") or {}
    found.extend(_check_union(mode, ("single", "all"), "spec.disruptionMode"))
    if old is not None and (_gang(new) is None) != (_gang(old) is None):
        found.extend(_check_unchanged(new, old, ("schedulingPolicy",)))
    elif old is not None:
        found.extend(_check_unchanged(new, old, ()))
    return found


def _check_pod_group_spec(group: Obj) -> Iterator[SchemaError]:
    path = "spec.schedulingPolicy"
    yield from _check_union(read(group, path) or {}, ("basic", "gang"), path)
    gang = _gang(group)
    if gang is not None:
        count = gang.get("minCount", 0)
        if count == 0:
            yield errors.required(f"{path}.gang.minCount")
        elif count < 0:
            yield errors.invalid(f"{path}.gang.minCount", count, "must be greater than or equal to 1")
    priority = read(group, "spec.priority") or 0
    if priority > HIGHEST_USER_PRIORITY:
        complaint = f"must be less than or equal to {HIGHEST_USER_PRIORITY}"
        yield errors.invalid("spec.priority", priority, complaint)


def _check_union(union: Obj, members: Sequence[str], path: str) -> Iterator[SchemaError]:
    given = [member for member in members if member in union]
    choices = ", ".join(f"`{member}`" for member in members)
    if not given:
        yield errors.invalid(path, "", f"must specify one of: {choices}")
    elif len(given) > 1:
        yield errors.invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {choices}")


def _check_unchanged(new: Obj, old: Obj, more_fields: Sequence[str]) -> Iterator[SchemaError]:
    for field in ("podGroupTemplateRef", *more_fields, "disruptionMode", "priorityClassName", "priority"):
        if read(new, f"spec.{field}") != read(old, f"spec.{field}"):
            yield errors.invalid(f"spec.{field}", None, errors.FIELD_IS_IMMUTABLE)


def _describe_workload(group: Obj) -> str:
    return str(read(group, "spec.podGroupTemplateRef.workload.workloadName") or "<none>")


def _describe_status(group: Obj) -> str:
    disrupted = find_condition(group, "DisruptionTarget")
    if disrupted is not None:
        return str(disrupted.get("reason"))
    scheduled = find_condition(group, "PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"
