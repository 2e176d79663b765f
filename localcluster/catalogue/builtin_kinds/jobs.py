"""Job (batch/v1): defaults, the generated selector, and the columns; its rules are in `job_rules`."""

from config.api.meta import Obj
from localcluster.catalogue.builtin_kinds.job_rules import check_job, check_job_status
from localcluster.catalogue.builtin_kinds.pods import set_pod_spec_defaults
from localcluster.kinds.columns import age_column, computed_column, has_condition, read, text_field
from localcluster.kinds.durations import human_duration, seconds_between
from localcluster.kinds.fields import label_selector, pod_template, resource
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.kinds.structural.builder import (
    boolean,
    int32,
    int64,
    list_of,
    obj,
    one_of,
    preserved,
    string,
    timestamp,
)

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_MAX_INT32 = 2**31 - 1


def job_kind() -> ServedKind:
    """Return the Job kind."""
    return ServedKind(
        group="batch",
        version="v1",
        kind="Job",
        plural="jobs",
        singular="job",
        namespaced=True,
        categories=("all",),
        has_status=True,
        schema=resource({"spec": _spec(), "status": _status()}),
        columns=(
            computed_column("Status", _describe_status),
            computed_column("Completions", _describe_completions),
            computed_column("Duration", _show_duration, of="date"),
            age_column(),
        ),
        selectable_fields={"status.successful": text_field("status.succeeded", default="0")},
        set_defaults=_set_job_defaults,
        prepare_create=_prepare_job,
        validate=check_job,
        validate_status=check_job_status,
    )


def _spec() -> Schema:
    return obj(
        {
            "parallelism": int32(),
            "completions": int32(),
            "activeDeadlineSeconds": int64(),
            "podFailurePolicy": preserved(),
            "successPolicy": preserved(),
            "backoffLimit": int32(),
            "backoffLimitPerIndex": int32(),
            "maxFailedIndexes": int32(),
            "selector": label_selector(),
            "manualSelector": boolean(default=False),
            "template": pod_template(),
            "ttlSecondsAfterFinished": int32(),
            "completionMode": one_of("NonIndexed", "Indexed", default="NonIndexed"),
            "suspend": boolean(default=False),
            "podReplacementPolicy": one_of("TerminatingOrFailed", "Failed"),
            "managedBy": string(),
        },
        default={},
    )


def _status() -> Schema:
    condition = obj(
        {
            "type": string(),
            "status": string(),
            "lastProbeTime": timestamp(),
            "lastTransitionTime": timestamp(),
            "reason": string(),
            "message": string(),
        },
        required=("status", "type"),
    )
    return obj(
        {
            "conditions": list_of(condition),
            "startTime": timestamp(),
            "completionTime": timestamp(),
            "active": int32(),
            "ready": int32(),
            "succeeded": int32(),
            "failed": int32(),
            "terminating": int32(),
            "completedIndexes": string(),
            "failedIndexes": string(),
            "uncountedTerminatedPods": obj({"succeeded": list_of(string()), "failed": list_of(string())}),
        }
    )


def _set_job_defaults(job: Obj) -> None:
    spec = job.get("spec")
    if not isinstance(spec, dict):
        return
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("podReplacementPolicy", "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed")
    template = read(job, "spec.template.spec")
    if isinstance(template, dict):
        # Unlike a pod, a job's template has no default restart policy: the user must choose one.
        had_policy = "restartPolicy" in template
        set_pod_spec_defaults(template)
        if not had_policy:
            del template["restartPolicy"]


def _prepare_job(job: Obj) -> None:
    """Label the pods to come with the job's name and uid, and select them by uid."""
    job["status"] = {}
    spec = job.get("spec")
    if not isinstance(spec, dict) or spec.get("manualSelector"):
        return
    labels = _part(_part(_part(spec, "template"), "metadata"), "labels")
    selected = _part(_part(spec, "selector"), "matchLabels")
    if labels is None or selected is None:
        return
    metadata = job["metadata"]
    for label in _NAME_LABELS:
        labels.setdefault(label, metadata["name"])
    for label in _UID_LABELS:
        labels.setdefault(label, metadata["uid"])
    selected.setdefault(_UID_LABELS[1], metadata["uid"])
    if not metadata.get("labels"):
        metadata["labels"] = {key: value for key, value in labels.items() if isinstance(value, str)}


def _part(parent: Obj | None, key: str) -> Obj | None:
    """Return the object under a key, made if absent; None if something else is there, for validation to report."""
    part = None if parent is None else parent.setdefault(key, {})
    return part if isinstance(part, dict) else None


def _describe_status(job: Obj) -> str:
    for finished in ("Complete", "Failed"):
        if has_condition(job, finished):
            return finished
    if read(job, "metadata.deletionTimestamp"):
        return "Terminating"
    for phase in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if has_condition(job, phase):
            return phase
    return "Running"


def _describe_completions(job: Obj) -> str:
    succeeded = read(job, "status.succeeded") or 0
    completions = read(job, "spec.completions")
    if completions is not None:
        return f"{succeeded}/{completions}"
    parallelism = read(job, "spec.parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _show_duration(job: Obj) -> object:
    """Return how long a completed job took, or since when another one runs."""
    started, completed = read(job, "status.startTime"), read(job, "status.completionTime")
    if started and completed:
        return human_duration(seconds_between(started, completed))
    return started
