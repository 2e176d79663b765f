"""What Kueue's validating webhook for Workloads demands beyond the CustomResourceDefinition.

It sees writes of the object and of /status alike. Feature gates are at their defaults of v0.19.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from config.api.meta import Obj
from config.api.quantity import parse_quantity, request_amount
from localcluster.catalogue.kueue_kinds.admission_gates import check_admission_gates
from localcluster.catalogue.kueue_kinds.workload_invariants import QUOTA_RESERVED
from localcluster.catalogue.kueue_kinds.workload_webhook_updates import check_update, is_elastic
from localcluster.kinds.columns import has_condition, read
from localcluster.kinds.kinds import Webhook
from localcluster.kinds.metadata import check_annotations, check_label_name, check_labels
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors


def validate(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    """Return every objection of the webhook to this write."""
    return [*_check_workload(new, old), *(check_update(new, old) if old is not None else ())]


WORKLOAD_WEBHOOK = Webhook("vworkload.kb.io", validate, sees_status=True)


def _check_workload(new: Obj, old: Obj | None) -> Iterator[SchemaError]:
    pod_sets: Sequence[Obj] = read(new, "spec.podSets") or ()
    # A write of /status carries the stored spec itself, which was checked when it was stored.
    if old is None or new["spec"] is not old["spec"]:
        for index, pod_set in enumerate(pod_sets):
            yield from _check_pod_set(pod_set, f"spec.podSets[{index}]")
    scalable = sum("minCount" in pod_set for pod_set in pod_sets)
    if scalable > 1:
        yield errors.invalid("spec.podSets", scalable, "at most one podSet can use minCount")
    if scalable and is_elastic(new):
        yield errors.invalid("spec.podSets", scalable, "partial admission and elastic job cannot be used together")
    if has_condition(new, QUOTA_RESERVED):
        yield from _check_admission(new, old)
    yield from _check_reclaimable_pods(new, old)
    for index, check in enumerate(read(new, "status.admissionChecks") or ()):
        yield from _check_pod_set_updates(check, new, f"status.admissionChecks[{index}].podSetUpdates")
    yield from check_admission_gates(new, old)


def _check_pod_set(pod_set: Obj, path: str) -> Iterator[SchemaError]:
    metadata = read(pod_set, "template.metadata") or {}
    yield from check_labels(metadata.get("labels") or {}, f"{path}.template.metadata.labels")
    yield from check_annotations(metadata.get("annotations") or {}, f"{path}.template.metadata.annotations")
    spec = read(pod_set, "template.spec") or {}
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or ()):
            where = f"{path}.template.spec.{group}[{index}].resources"
            yield from _check_requirements(container.get("resources") or {}, where)
    yield from _check_requirements(spec.get("resources") or {}, f"{path}.template.spec.resources")
    yield from _check_slice_size(pod_set.get("topologyRequest") or {}, f"{path}.topologyRequest")


def _check_requirements(requirements: Obj, path: str) -> Iterator[SchemaError]:
    for part in ("requests", "limits"):
        for name, amount in (requirements.get(part) or {}).items():
            where = f"{path}.{part}[{name}]"
            if name == "pods":
                yield errors.invalid(where, "pods", "the key is reserved for internal kueue use")
            if parse_quantity(amount) < 0:
                yield errors.invalid(where, str(amount), errors.MUST_NOT_BE_NEGATIVE)


def _check_slice_size(request: Obj, path: str) -> Iterator[SchemaError]:
    where = f"{path}.podSetSliceSize"
    size = request.get("podSetSliceSize")
    if "podSetSliceRequiredTopology" not in request:
        if size is not None:
            yield errors.forbidden(where, "may not be set when podSetSliceRequiredTopology is not specified")
    elif size is None:
        yield errors.required(where, "must be set when podSetSliceRequiredTopology is specified")
    elif size <= 0:
        yield errors.invalid(where, size, "must be greater than 0")


def _check_admission(new: Obj, old: Obj | None) -> Iterator[SchemaError]:
    admission = read(new, "status.admission")
    if admission is None:
        was_so_before = old is not None and has_condition(old, QUOTA_RESERVED) and not read(old, "status.admission")
        if not was_so_before:
            yield errors.required("status.admission", "must be set while the QuotaReserved condition is true")
        return
    names = _pod_set_names(new)
    for index, assignment in enumerate(admission.get("podSetAssignments") or ()):
        path = f"status.admission.podSetAssignments[{index}]"
        if assignment.get("name") not in names:
            yield errors.not_found(f"{path}.name", assignment.get("name"))
        count = assignment.get("count") or 0
        for resource, amount in (assignment.get("resourceUsage") or {}).items():
            if count and request_amount(resource, amount) % count:
                yield errors.invalid(f"{path}.resourceUsage[{resource}]", amount, f"is not a multiple of {count}")


def _pod_set_names(workload: Obj) -> list[str]:
    return [pod_set["name"] for pod_set in read(workload, "spec.podSets") or ()]


def _check_reclaimable_pods(new: Obj, old: Obj | None) -> Iterator[SchemaError]:
    counts = {pod_set["name"]: pod_set.get("count", 0) for pod_set in read(new, "spec.podSets") or ()}
    before: Sequence[Obj] = (read(old, "status.reclaimablePods") or ()) if old is not None else ()
    for reclaimable in read(new, "status.reclaimablePods") or ():
        name, count = reclaimable["name"], reclaimable["count"]
        path = f"status.reclaimablePods[{name}]"
        if name not in counts:
            yield errors.not_supported(f"{path}.name", name, counts)
        elif count > counts[name] and not (is_elastic(new) and reclaimable in before):
            # An unchanged excess is what a scale-down left behind; it must be able to converge.
            yield errors.invalid(f"{path}.count", count, f"should be less or equal to {counts[name]}")


def _check_pod_set_updates(check: Mapping[str, Any], workload: Obj, path: str) -> Iterator[SchemaError]:
    names = sorted(_pod_set_names(workload))
    for index, update in enumerate(check.get("podSetUpdates") or ()):
        where = f"{path}[{index}]"
        if update["name"] not in names:
            yield errors.not_supported(f"{where}.name", update["name"], names)
        for position, toleration in enumerate(update.get("tolerations") or ()):
            if toleration.get("key"):
                yield from check_label_name(toleration["key"], f"{where}.tolerations[{position}].key")
        yield from check_annotations(update.get("annotations") or {}, f"{where}.annotations")
        yield from check_labels(update.get("nodeSelector") or {}, f"{where}.nodeSelector")
        yield from check_labels(update.get("labels") or {}, f"{where}.labels")
