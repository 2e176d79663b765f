"""Priority admission: a priority class name becomes a number when a Pod or a PodGroup is created."""

from dataclasses import dataclass

from config.api.meta import Obj
from localcluster.kinds.kinds import Lookup

_PREEMPTS = "PreemptLowerPriority"
_GROUP = "scheduling.k8s.io"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def resolve_pod_priority(new: Obj, old: Obj | None, lookup: Lookup) -> str | None:
    """Fill in a new Pod's priority and preemption policy, or say why it is forbidden."""
    spec = new.get("spec")
    if old is not None or not isinstance(spec, dict):
        return None
    found = _find_class(spec, lookup)
    if isinstance(found, str):
        return found
    computed = "priority admission controller computed"
    source = "from the given PriorityClass name"
    if spec.get("priority", found.value) != found.value:
        return (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"{computed} {found.value} {source}"
        )
    if spec.get("preemptionPolicy", found.policy) != found.policy:
        return (
            f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
            f"{computed} {found.policy} {source}"
        )
    _write(spec, found)
    spec["preemptionPolicy"] = found.policy
    return None


def resolve_pod_group_priority(new: Obj, old: Obj | None, lookup: Lookup) -> str | None:
    """Fill in a new PodGroup's priority, or say why it is forbidden."""
    spec = new.get("spec")
    if old is not None or not isinstance(spec, dict):
        return None
    found = _find_class(spec, lookup)
    if isinstance(found, str):
        return found
    if spec.get("priority", found.value) != found.value:
        return (
            f"priority set in the pod group ({spec['priority']}) must match the priority computed ({found.value}) "
            "based on the priority class set in the spec"
        )
    _write(spec, found)
    return None


@dataclass(frozen=True, slots=True)
class _Priority:
    class_name: str
    value: int
    policy: str


def _write(spec: Obj, found: _Priority) -> None:
    spec["priority"] = found.value
    if found.class_name:
        spec["priorityClassName"] = found.class_name


def _find_class(spec: Obj, lookup: Lookup) -> _Priority | str:
    """Return the priority that the spec asks for, or the complaint that there is no such class."""
    classes = {stored["metadata"]["name"]: stored for stored in lookup(_GROUP, "priorityclasses")}
    name = spec.get("priorityClassName") or _default_class(classes)
    if not isinstance(name, str) or not name:
        return _Priority("", 0, _PREEMPTS)
    if name in classes:
        stored = classes[name]
        return _Priority(name, stored.get("value", 0), stored.get("preemptionPolicy") or _PREEMPTS)
    if name in SYSTEM_CLASSES:
        return _Priority(name, SYSTEM_CLASSES[name], _PREEMPTS)
    return f"no PriorityClass with name {name} was found"


def _default_class(classes: dict[str, Obj]) -> str | None:
    """Return the global default; of several the lowest counts."""
    defaults = [stored for stored in classes.values() if stored.get("globalDefault")]
    lowest = min(defaults, key=lambda stored: stored.get("value", 0), default=None)
    return None if lowest is None else str(lowest["metadata"]["name"])
