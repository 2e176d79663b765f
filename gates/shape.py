"""A Workload spec reduced to what tells whether a replica has drifted, without keeping its pod templates."""

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson

from gates.view import Drift

Obj = dict[str, Any]

_PRIORITY = ("priority", "priorityClassRef")
_APART = ("preemptionGates", "podSets", "active", *_PRIORITY)


@dataclass(frozen=True, slots=True)
class SpecShape:
    """Digest of the parts that must agree, beside the parts that may be brought in line."""

    digest: str
    priority: str
    counts: tuple[tuple[str, int], ...]


def spec_shape(spec: Obj) -> SpecShape:
    """Reduce a spec. Gates differ between hub and replica by design; `active` is the worker's answer to an eviction."""
    pod_sets = spec.get("podSets") or []
    rest = {key: value for key, value in spec.items() if key not in _APART}
    rest["podSets"] = [{k: v for k, v in pod_set.items() if k != "count"} for pod_set in pod_sets]
    digest = hashlib.sha256(_canonical(rest)).hexdigest()
    priority = _canonical({key: spec.get(key) for key in _PRIORITY}).decode()
    counts = tuple((str(pod_set.get("name", "main")), int(pod_set.get("count", 1))) for pod_set in pod_sets)
    return SpecShape(digest, priority, counts)


def drift_between(hub: SpecShape, replica: SpecShape, *, elastic: bool) -> Drift:
    """Compare a replica with the hub."""
    if hub == replica:
        return Drift.NONE
    if hub.digest != replica.digest:
        return Drift.OTHER
    if hub.counts == replica.counts:
        return Drift.PRIORITY
    shrunk = all(new <= old for (_, new), (_, old) in zip(hub.counts, replica.counts, strict=True))
    return Drift.SCALE_DOWN if elastic and shrunk else Drift.OTHER


def _canonical(value: Obj) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
