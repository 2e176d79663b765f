"""A Workload spec reduced to what shows whether a replica has drifted, without keeping its pod templates."""

import hashlib
from dataclasses import dataclass
from typing import Final

from config.api.meta import Obj
from gates.model.fields import compact_json, items, text, whole
from gates.model.view import Drift

DEFAULT_POD_SET: Final = "main"
"""The name of a pod set that has none."""
MOST_PODS: Final = (1 << 31) - 1
_PRIORITY = ("priority", "priorityClassRef")
_APART = ("preemptionGates", "podSets", "active", *_PRIORITY)


@dataclass(frozen=True, slots=True)
class SpecShape:
    """Digest of the parts that must agree, beside the parts that may be brought in line."""

    digest: str
    priority: str
    counts: tuple[tuple[str, int], ...]


def spec_shape(spec: Obj) -> SpecShape:
    """Reduce a spec. Gates differ between hub and replica by design; `active` is the worker's answer to an eviction.

    Raises `FieldError` for pod sets that no Kueue writes.
    """
    pod_sets = list(items(spec, "podSets", "spec"))
    rest = {key: value for key, value in spec.items() if key not in _APART}
    rest["podSets"] = [{k: v for k, v in pod_set.items() if k != "count"} for _, pod_set in pod_sets]
    digest = hashlib.sha256(compact_json(rest, "spec", is_sorted=True)).hexdigest()
    urgency = {key: spec.get(key) for key in _PRIORITY}
    priority = compact_json(urgency, "spec.priority", is_sorted=True).decode()
    counts = tuple(
        (text(pod_set, "name", place) or DEFAULT_POD_SET, whole(pod_set, "count", place, 1, MOST_PODS))
        for place, pod_set in pod_sets
    )
    return SpecShape(digest, priority, counts)


def drift_between(hub: SpecShape, replica: SpecShape, *, elastic: bool) -> Drift:
    """Compare a replica with the hub."""
    if hub == replica:
        return Drift.NONE
    if hub.digest != replica.digest:
        return Drift.OTHER
    if hub.counts == replica.counts:
        return Drift.PRIORITY
    if [name for name, _ in hub.counts] != [name for name, _ in replica.counts]:
        return Drift.OTHER
    shrunk = all(new <= old for (_, new), (_, old) in zip(hub.counts, replica.counts, strict=True))
    return Drift.SCALE_DOWN if elastic and shrunk else Drift.OTHER
