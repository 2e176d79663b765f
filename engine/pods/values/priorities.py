"""PriorityClasses: which number a class name stands for, and whether its pods preempt.

Objects of a live cluster carry the number already; manifests often carry only the name. Invariant: a number that is
written wins over a name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from engine.objects.field_checks import INT32, require_integer
from engine.vocabulary.errors import FieldError

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
NEVER: Final = "Never"
POLICIES: Final = (NEVER, "PreemptLowerPriority")
_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class ResolvedPriority(NamedTuple):
    """A priority and the policy of its class, None when no class speaks of it."""

    value: int
    never_preempts: bool | None


@dataclass(frozen=True, slots=True)
class PriorityClass:
    """A named priority."""

    name: str
    value: int
    never_preempts: bool
    is_default: bool

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a raw PriorityClass."""
        for error in require_integer(raw, "value", ""):
            raise FieldError("value", error.detail)
        return cls(
            name=raw["metadata"]["name"],
            value=raw["value"],
            never_preempts=reads_never(raw, "preemptionPolicy", "preemptionPolicy") is True,
            is_default=raw.get("globalDefault") is True,
        )


class PriorityClasses:
    """The classes of a cluster; the system's own are always there."""

    __slots__ = ("_by_name",)

    def __init__(self) -> None:
        """Know the system's classes."""
        self._by_name = {
            name: PriorityClass(name, value, never_preempts=False, is_default=False) for name, value in _SYSTEM.items()
        }

    def copy(self) -> "PriorityClasses":
        """Return the same classes, to which others may be added."""
        twin = PriorityClasses()
        twin._by_name = self._by_name.copy()
        return twin

    def add(self, priority_class: PriorityClass) -> None:
        """Add or replace a class."""
        self._by_name[priority_class.name] = priority_class

    def remove(self, name: str) -> None:
        """Forget a class; what its name stood for is not asked again for objects that carry the number."""
        if name not in _SYSTEM:
            self._by_name.pop(name, None)

    def find(self, name: str) -> PriorityClass | None:
        """Return the class of this name; without a name the default class, if there is one."""
        if name:
            return self._by_name.get(name)
        defaults = [found for found in self._by_name.values() if found.is_default]
        return min(defaults, key=lambda found: (found.value, found.name), default=None)

    def resolve(self, spec: Mapping[str, Any], path: str = "spec") -> ResolvedPriority:
        """Return the priority of a pod's or a group's spec; an unknown class is an error unless the number is there."""
        name = spec.get("priorityClassName") or ""
        found = self.find(name)
        written = spec.get("priority")
        if written is not None:
            for error in require_integer(spec, "priority", path, INT32):
                raise error
            return ResolvedPriority(written, found.never_preempts if found else None)
        if found is None:
            if name:
                raise FieldError(f"{path}.priorityClassName", f'no PriorityClass with name "{name}" was found')
            return ResolvedPriority(0, None)
        return ResolvedPriority(found.value, found.never_preempts)


def reads_never(block: Mapping[str, Any], key: str, field: str) -> bool | None:
    """Read a preemption policy: True for Never, None when absent."""
    value = block.get(key)
    if value is None:
        return None
    if value not in POLICIES:
        raise FieldError.not_allowed(field, value, POLICIES)
    return bool(value == NEVER)
