"""What a Workload's object says about whether Kueue may admit it: `spec.active`, and the time of `requeueState`."""

from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj
from gates.model.fields import block, flag, items, text, time_ns


@dataclass(frozen=True, slots=True)
class QueueEligibility:
    """Whether Kueue may admit a Workload, and from when."""

    active: bool = True
    deactivated_by: str = ""
    """The field manager that set `spec.active` to false, as the API server noted it; empty if it did not."""
    requeue_at_ns: int | None = None
    """Until when Kueue keeps it out of the queue after an eviction."""


ELIGIBLE: Final = QueueEligibility()
"""What nearly all Workloads share."""


def queue_eligibility(metadata: Obj, spec: Obj, status: Obj) -> QueueEligibility:
    """Read it from the parts of a Workload; raises ValueError for invalid ones."""
    active = spec.get("active") is None or flag(spec, "active", "spec")
    requeue_at_ns = time_ns(block(status, "requeueState", "status"), "requeueAt", "status.requeueState")
    if active and requeue_at_ns is None:
        return ELIGIBLE
    return QueueEligibility(active, "" if active else _owner_of_active(metadata), requeue_at_ns)


def _owner_of_active(metadata: Obj) -> str:
    """Return the last field manager that owns `spec.active`."""
    owners = [
        (text(entry, "time", place), text(entry, "manager", place))
        for place, entry in items(metadata, "managedFields", "metadata")
        if "f:active" in block(block(entry, "fieldsV1", place), "f:spec", f"{place}.fieldsV1")
    ]
    return max(owners, default=("", ""))[1]
