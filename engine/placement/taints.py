"""Taints of a flavor and the tolerations that answer them, with the verdicts of Kubernetes v1.36.

Only NoSchedule and NoExecute keep a pod away; PreferNoSchedule is a wish.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from config.api.meta import NANOSECONDS, format_time, parse_time

_HARD_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
_DECIMAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_INT64: Final = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint; as text it is what Kueue prints in messages."""

    key: str
    value: str
    effect: str
    time_added: str = ""

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a raw taint."""
        return cls(raw.get("key") or "", raw.get("value") or "", raw.get("effect") or "", raw.get("timeAdded") or "")

    def __str__(self) -> str:
        """Write the taint as Go prints the struct."""
        added = "<nil>"
        if self.time_added:
            utc = format_time(parse_time(self.time_added) // NANOSECONDS * NANOSECONDS)
            added = f"{utc[:10]} {utc[11:19]} +0000 UTC"
        return f"{{{self.key} {self.value} {self.effect} {added}}}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration; an empty key or effect matches every key or effect."""

    key: str
    operator: str
    value: str
    effect: str

    @classmethod
    def from_raw(cls, raw: Mapping[str, Any]) -> Self:
        """Read a raw toleration."""
        return cls(*(raw.get(name) or "" for name in ("key", "operator", "value", "effect")))

    def tolerates(self, taint: Taint) -> bool:
        """Return whether the taint is answered; an unknown operator answers nothing."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
            case "Lt" | "Gt":
                return _compares(taint.value, self.operator, self.value)
            case _:
                return False


def read_hard_taints(raw: Iterable[Mapping[str, Any]] | None) -> tuple[Taint, ...]:
    """Return the taints that keep pods away, in their order."""
    return tuple(taint for taint in map(Taint.from_raw, raw or ()) if taint.effect in _HARD_EFFECTS)


def read_tolerations(raw: Iterable[Mapping[str, Any]] | None) -> tuple[Toleration, ...]:
    """Return tolerations in their order."""
    return tuple(map(Toleration.from_raw, raw or ()))


def first_untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """Return the first taint that no toleration answers."""
    answers = tuple(tolerations)
    return next((taint for taint in taints if not any(answer.tolerates(taint) for answer in answers)), None)


def _compares(taint_value: str, operator: str, bound: str) -> bool:
    if not (_DECIMAL_INTEGER.fullmatch(taint_value) and _DECIMAL_INTEGER.fullmatch(bound)):
        return False
    actual, wanted = int(taint_value), int(bound)
    if actual not in _INT64 or wanted not in _INT64:
        return False
    return actual < wanted if operator == "Lt" else actual > wanted
