"""Raw Node objects as values."""

from collections.abc import Mapping
from sys import intern
from typing import Any, Final

from engine.placement.taints import Taint, read_hard_taints
from engine.pods.values.resources import ResourceNames, read_allocatable
from engine.pods.values.values import Node
from engine.vocabulary.errors import FieldError

_EFFECTS: Final = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_SOFT: Final = "PreferNoSchedule"


def read_node(raw: Mapping[str, Any], names: ResourceNames) -> Node:
    """Read a raw node; a quantity that cannot be counted is an error."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    allocatable, pod_limit = read_allocatable(status, names)
    taints = spec.get("taints") or ()
    for index, taint in enumerate(taints):
        if taint.get("effect") not in _EFFECTS:
            raise FieldError.not_allowed(f"spec.taints[{index}].effect", taint.get("effect") or "", _EFFECTS)
    return Node(
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        allocatable=allocatable,
        pod_limit=pod_limit,
        hard_taints=read_hard_taints(taints),
        soft_taints=tuple(taint for taint in map(Taint.from_raw, taints) if taint.effect == _SOFT),
        is_cordoned=spec.get("unschedulable") is True,
        images=frozenset(intern(name) for image in status.get("images") or () for name in image.get("names") or ()),
    )
