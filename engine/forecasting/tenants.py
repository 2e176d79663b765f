"""What is kept of a Workload on a worker: its value for the engine, and the few facts that people ask of a victim."""

import re
from dataclasses import dataclass, replace
from sys import intern
from typing import Final

from config.api.meta import Raw, parse_time
from engine.forecasting.essentials import PackedWorkload
from engine.objects.boost import PREEMPTION_COST_ANNOTATION, parse_int32
from engine.objects.workloads import PendingWorkload, Workload
from engine.vocabulary.messages import preemption_reason

_PREEMPTOR: Final = re.compile(r"\(UID: ([^,)\s]+)")


@dataclass(frozen=True, slots=True)
class RecordedPreemption:
    """Who preempted a workload, and why; read from its condition, whether or not it has been admitted since."""

    preemptor_uid: str
    reason: str
    at_ns: int
    """When it was preempted; for one that has quota again, when it got it."""
    is_current: bool = True
    """False once the workload has quota again."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """One Workload on a worker."""

    workload: Workload
    uid: str
    owner: str = ""
    """The job, such as `Job render-2`."""
    pods: int = 0
    running_since_ns: int | None = None
    preemption_cost: int = 0
    preempted: RecordedPreemption | None = None


def tenant_of(raw: Raw, workload: Workload) -> Tenant:
    """Reduce a raw Workload, of which `workload` is the engine's value, to what is kept."""
    metadata, status = raw["metadata"], raw.get("status") or {}
    conditions = {entry["type"]: entry for entry in status.get("conditions") or ()}
    annotations = metadata.get("annotations") or {}
    admitted = conditions.get("Admitted") or {}
    since = admitted.get("lastTransitionTime") if admitted.get("status") == "True" else None
    if isinstance(workload, PendingWorkload):
        workload = replace(workload, raw=PackedWorkload(workload.raw))
    return Tenant(
        workload=workload,
        uid=metadata.get("uid") or "",
        owner=_owner(metadata),
        pods=_pods(raw.get("spec") or {}, status),
        running_since_ns=parse_time(since) if since else None,
        preemption_cost=parse_int32(annotations.get(PREEMPTION_COST_ANNOTATION)) or 0,
        preempted=_preemption(conditions.get("Preempted")),
    )


def _owner(metadata: Raw) -> str:
    owners = metadata.get("ownerReferences") or ()
    chosen = next((owner for owner in owners if owner.get("controller")), owners[0] if owners else None)
    return f"{chosen.get('kind')} {chosen.get('name')}" if chosen is not None else ""


def _pods(spec: Raw, status: Raw) -> int:
    """Count the pods that were admitted; of a workload that waits, those that it asks for."""
    assigned = (status.get("admission") or {}).get("podSetAssignments")
    counted = assigned if assigned is not None else spec.get("podSets") or ()
    return sum(int(entry.get("count", 1)) for entry in counted)


def _preemption(condition: Raw | None) -> RecordedPreemption | None:
    found = _PREEMPTOR.search(condition.get("message") or "") if condition is not None else None
    if condition is None or found is None:
        return None
    at = condition.get("lastTransitionTime")
    is_current = condition.get("status") == "True"
    reason = condition.get("reason") if is_current else preemption_reason(condition["message"])
    return RecordedPreemption(found.group(1), intern(str(reason or "")), parse_time(at) if at else 0, is_current)
