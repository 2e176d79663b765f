"""Rules of batch/v1 Job: what a spec must hold, what may change, and which status transitions are valid.

An external controller writes the status of a managed Job, so the API server is strict about it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from config.api.meta import Obj
from localcluster.catalogue.builtin_kinds.limits import check_containers, check_not_negative
from localcluster.kinds.columns import has_condition, read
from localcluster.kinds.durations import seconds_between
from localcluster.kinds.equality import is_same
from localcluster.kinds.metadata import check_domain_prefixed_path
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors

_NOT_NEGATIVE_SPEC = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
_NOT_NEGATIVE_STATUS = ("active", "succeeded", "failed", "ready", "terminating")
_IMMUTABLE = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates", "affinity")
_CONTRADICTIONS = (
    ("Complete", "Failed"),
    ("Complete", "FailureTarget"),
    ("SuccessCriteriaMet", "Failed"),
    ("SuccessCriteriaMet", "FailureTarget"),
)


def check_job(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    """Return what is wrong with a Job's spec, or with the change of it."""
    found = [*_check_spec(new["spec"])]
    if old is not None:
        found.extend(_check_spec_update(new["spec"], old))
    return found


def check_job_status(new: Obj, old: Obj | None) -> Sequence[SchemaError]:
    """Return what is wrong with a Job's status, or with the change of it."""
    found = [*_check_status(new)]
    if old is not None:
        found.extend(_check_status_update(new, old))
    return found


def _check_spec(spec: Obj) -> Iterator[SchemaError]:
    yield from check_not_negative(spec, _NOT_NEGATIVE_SPEC, "spec")
    if "managedBy" in spec:
        yield from check_domain_prefixed_path(spec["managedBy"], "spec.managedBy")
    if spec.get("completionMode") == "Indexed" and "completions" not in spec:
        yield errors.required("spec.completions", "when completion mode is Indexed")
    yield from _check_template(read(spec, "template.spec") or {})
    yield from _check_selector(spec)


def _check_template(pod: Obj) -> Iterator[SchemaError]:
    yield from check_containers(pod, "spec.template.spec")
    policy = pod.get("restartPolicy") or "Always"
    if policy == "Always":
        yield errors.required("spec.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')
    elif policy not in {"OnFailure", "Never"}:
        yield errors.not_supported("spec.template.spec.restartPolicy", policy, ("OnFailure", "Never"))


def _check_selector(spec: Obj) -> Iterator[SchemaError]:
    selector = spec.get("selector")
    if selector is None:
        yield errors.required("spec.selector")
        return
    labels = read(spec, "template.metadata.labels") or {}
    selected = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in selected.items()):
        complaint = "`selector` does not match template `labels`"
        yield errors.invalid("spec.template.metadata.labels", labels, complaint)


def _check_spec_update(spec: Obj, old: Obj) -> Iterator[SchemaError]:
    stored = old["spec"]
    completions = spec.get("completions")
    if completions != stored.get("completions"):
        if spec.get("completionMode") != "Indexed":
            yield errors.invalid("spec.completions", completions, errors.FIELD_IS_IMMUTABLE)
        elif completions != spec.get("parallelism"):
            complaint = "can only be modified in tandem with spec.parallelism"
            yield errors.invalid("spec.completions", completions, complaint)
    for field in _IMMUTABLE:
        if not is_same(spec.get(field), stored.get(field)):
            yield errors.invalid(f"spec.{field}", spec.get(field), errors.FIELD_IS_IMMUTABLE)
    is_open = _is_template_open(old)
    template = spec.get("template")
    frozen = _frozen_template(stored.get("template"), is_open=is_open)
    if not is_same(_frozen_template(template, is_open=is_open), frozen):
        yield errors.invalid("spec.template", template, errors.FIELD_IS_IMMUTABLE)


def _is_template_open(job: Obj) -> bool:
    """Return whether placement and resources may still change: suspended, never started or known to be stopped."""
    is_stopped = not read(job, "status.startTime") or has_condition(job, "Suspended")
    return bool(read(job, "spec.suspend")) and is_stopped and not read(job, "status.active")


def _frozen_template(template: Any, *, is_open: bool) -> Any:
    """Return what must stay equal in a template."""
    if not is_open or not isinstance(template, dict):
        return template
    metadata = {
        key: value for key, value in (template.get("metadata") or {}).items() if key not in {"labels", "annotations"}
    }
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in _SCHEDULING_DIRECTIVES}
    for group in ("containers", "initContainers"):
        if group in pod:
            pod[group] = [_without(container, ("resources",)) for container in pod[group]]
    return {**template, "metadata": metadata, "spec": pod}


def _without(part: Obj, fields: Sequence[str]) -> Obj:
    return {key: value for key, value in part.items() if key not in fields}


def _check_status(job: Obj) -> Iterator[SchemaError]:
    status = job.get("status") or {}
    yield from check_not_negative(status, _NOT_NEGATIVE_STATUS, "status")
    for one, other in _CONTRADICTIONS:
        if has_condition(job, one) and has_condition(job, other):
            yield errors.violated("status.conditions", f"cannot set {one}=True and {other}=true conditions")
    yield from _check_completion(job, status)
    if has_condition(job, "Failed") and not has_condition(job, "FailureTarget"):
        complaint = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield errors.violated("status.conditions", complaint)
    if has_condition(job, "Complete") or has_condition(job, "Failed"):
        yield from _check_finished(job, status)
    if status.get("ready", 0) > status.get("active", 0):
        yield errors.invalid("status.ready", status["ready"], "cannot set more ready pods than active")


def _check_completion(job: Obj, status: Obj) -> Iterator[SchemaError]:
    completed = status.get("completionTime")
    if has_condition(job, "Complete"):
        if completed is None:
            yield errors.required("status.completionTime", "completionTime is required for Complete jobs")
        if not has_condition(job, "SuccessCriteriaMet"):
            complaint = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            yield errors.violated("status.conditions", complaint)
    elif completed is not None:
        complaint = "cannot set completionTime when there is no Complete=True condition"
        yield errors.invalid("status.completionTime", completed, complaint)
    started = status.get("startTime")
    if started is not None and completed is not None and seconds_between(started, completed) < 0:
        yield errors.invalid("status.completionTime", completed, "must be equal to or after `startTime`")


def _check_finished(job: Obj, status: Obj) -> Iterator[SchemaError]:
    if status.get("active", 0) > 0:
        yield errors.invalid("status.active", status["active"], "active>0 is invalid for finished job")
    if status.get("terminating", 0) > 0:
        yield errors.invalid("status.terminating", status["terminating"], "terminating>0 is invalid for finished job")
    never_ran = read(job, "spec.suspend") and read(job, "spec.completions") == 0
    if status.get("startTime") is None and not never_ran:
        yield errors.required("status.startTime", "startTime is required for finished job")


def _check_status_update(new: Obj, old: Obj) -> Iterator[SchemaError]:
    for terminal in ("Failed", "Complete", "FailureTarget"):
        if has_condition(old, terminal) and not has_condition(new, terminal):
            yield errors.violated("status.conditions", f"cannot disable the terminal {terminal}=True condition")
    if has_condition(old, "SuccessCriteriaMet") and not has_condition(new, "SuccessCriteriaMet"):
        yield errors.violated("status.conditions", "cannot disable the SuccessCriteriaMet=True condition")
    status, stored = new.get("status") or {}, old.get("status") or {}
    for counter in ("failed", "succeeded"):
        if status.get(counter, 0) < stored.get(counter, 0) and not (counter == "succeeded" and _is_elastic(new)):
            yield errors.invalid(f"status.{counter}", status.get(counter, 0), f"cannot decrease the {counter} counter")
    completed = status.get("completionTime")
    if completed and stored.get("completionTime") and completed != stored["completionTime"]:
        yield errors.invalid("status.completionTime", completed, errors.FIELD_IS_IMMUTABLE)
    started = status.get("startTime")
    may_restart = bool(read(new, "spec.suspend")) or _is_resuming(new, old)
    if stored.get("startTime") and started != stored["startTime"] and not may_restart:
        yield errors.invalid("status.startTime", started, "field is immutable for unsuspended job once set")


def _is_elastic(job: Obj) -> bool:
    is_indexed = read(job, "spec.completionMode") == "Indexed"
    return bool(is_indexed and read(job, "spec.completions") == read(job, "spec.parallelism"))


def _is_resuming(new: Obj, old: Obj) -> bool:
    return has_condition(old, "Suspended") and not has_condition(new, "Suspended")
