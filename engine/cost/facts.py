"""What a cost is computed from: a Job and its Workload as frozen values, read from raw objects once.

The readers keep no pod template, so that ten thousand jobs fit in a cache. An invalid object raises
`ValueError`, and the cache keeps it as unreadable.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from config.api.meta import ObjectKey, conditions, is_true, parse_time
from config.names import KUEUE_GROUP
from engine.objects.boost import PREEMPTION_COST_ANNOTATION, parse_int32

QUEUE_LABEL: Final = f"{KUEUE_GROUP}/queue-name"
PREEMPTED: Final = "Preempted"

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole object once more; no model needs it."""


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A batch/v1 Job."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    completions: int | None = None
    parallelism: int = 1
    succeeded: int = 0
    is_finished: bool = False
    is_deleted: bool = False

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def cost_text(self) -> str | None:
        """Return the annotation unchanged, None if there is none."""
        return self.annotations.get(PREEMPTION_COST_ANNOTATION)

    @property
    def cost(self) -> int | None:
        """Return what the annotation says, None if it says nothing that counts."""
        return parse_int32(self.cost_text)


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """The Workload that stands for a Job."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    created_ns: int = 0
    owner: str = ""
    """The name of the Job that controls it, empty if none does."""
    owner_uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: int = 0
    pods: int = 0
    evictions: Mapping[str, int] = field(default_factory=dict)
    """How often it was evicted, by reason."""
    admitted_ns: int | None = None
    """Since when it may run, None if it may not."""
    has_pods_ready: bool = False
    is_finished: bool = False
    is_deleted: bool = False

    @property
    def key(self) -> ObjectKey:
        """Return namespace and name."""
        return ObjectKey(self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class CostFacts:
    """What a cost model sees."""

    job: JobFacts
    workload: WorkloadFacts
    now_ns: int

    @property
    def preemptions(self) -> int:
        """Return how often the job lost its place to another one."""
        return self.workload.evictions.get(PREEMPTED, 0)

    def annotation(self, key: str) -> str | None:
        """Return an annotation of the Job, or else of its Workload."""
        return self.job.annotations.get(key, self.workload.annotations.get(key))


def job_facts(raw: Mapping[str, Any]) -> JobFacts:
    """Read a raw Job."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    found = conditions(raw)
    completions = spec.get("completions")
    return JobFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        generation=_count(metadata.get("generation", 0), "metadata.generation"),
        labels=_texts(metadata.get("labels"), "metadata.labels"),
        annotations=_texts(metadata.get("annotations"), "metadata.annotations"),
        completions=None if completions is None else _count(completions, "spec.completions"),
        parallelism=_count(spec.get("parallelism", 1), "spec.parallelism"),
        succeeded=_count(status.get("succeeded", 0), "status.succeeded"),
        is_finished=is_true(found, "Complete") or is_true(found, "Failed"),
        is_deleted="deletionTimestamp" in metadata,
    )


def workload_facts(raw: Mapping[str, Any]) -> WorkloadFacts:
    """Read a raw Workload."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    found = conditions(raw)
    owner = _controlling_job(metadata)
    admitted = found.get("Admitted")
    return WorkloadFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        created_ns=parse_time(metadata["creationTimestamp"]),
        owner=owner.get("name", ""),
        owner_uid=owner.get("uid", ""),
        labels=_texts(metadata.get("labels"), "metadata.labels"),
        annotations=_texts(metadata.get("annotations"), "metadata.annotations"),
        priority=spec.get("priority") or 0,
        pods=sum(_count(pods.get("count", 0), "spec.podSets[].count") for pods in spec.get("podSets") or ()),
        evictions=_evictions(status),
        admitted_ns=admitted.last_transition_ns if admitted is not None and admitted.is_true else None,
        has_pods_ready=is_true(found, "PodsReady"),
        is_finished=is_true(found, "Finished"),
        is_deleted="deletionTimestamp" in metadata,
    )


def _controlling_job(metadata: Mapping[str, Any]) -> Mapping[str, str]:
    for reference in metadata.get("ownerReferences") or ():
        if reference.get("controller") and (reference["apiVersion"], reference["kind"]) == ("batch/v1", "Job"):
            found: Mapping[str, str] = reference
            return found
    return {}


def _evictions(status: Mapping[str, Any]) -> Mapping[str, int]:
    """Add up the counts of one reason: Kueue keeps one entry per underlying cause."""
    counts: dict[str, int] = {}
    for entry in (status.get("schedulingStats") or {}).get("evictions") or ():
        count = _count(entry.get("count", 0), "status.schedulingStats.evictions[].count")
        counts[entry["reason"]] = counts.get(entry["reason"], 0) + count
    return counts


def _texts(value: object, field_name: str) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for text in value.values()):
        raise ValueError(f"{field_name} must be a mapping of strings")
    return {key: text for key, text in value.items() if key != _LAST_APPLIED}


def _count(value: object, field_name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{field_name}: {value!r} is not allowed: must be a whole number, not negative")
    return value
