"""Columns of `kubectl get`, and the reading of nested fields that columns and selectors need."""

from collections.abc import Callable
from functools import cache
from typing import Any

from config.api.meta import Obj
from localcluster.kinds.kinds import PrinterColumn


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def read(obj: Obj, path: str) -> Any:
    """Return the value at a dotted path, None where there is none."""
    value: Any = obj
    for key in _steps(path):
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def find_condition(obj: Obj, condition_type: str) -> Obj | None:
    """Return the status condition of this type, None where there is none."""
    conditions: list[Obj] = read(obj, "status.conditions") or []
    return next((condition for condition in conditions if condition.get("type") == condition_type), None)


def has_condition(obj: Obj, condition_type: str) -> bool:
    """Return whether the condition of this type is true."""
    condition = find_condition(obj, condition_type)
    return condition is not None and condition.get("status") == "True"


def field_column(name: str, path: str, *, of: str = "string", wide: bool = False, says: str = "") -> PrinterColumn:
    """Show the field at a dotted path."""
    return PrinterColumn(name, of, lambda obj: read(obj, path), priority=int(wide), description=says)


def condition_column(name: str, condition_type: str, *, says: str = "") -> PrinterColumn:
    """Show the status of one condition."""

    def show(obj: Obj) -> object:
        condition = find_condition(obj, condition_type)
        return None if condition is None else condition.get("status")

    return PrinterColumn(name, "string", show, description=says)


def computed_column(
    name: str, value: Callable[[Obj], object], *, of: str = "string", wide: bool = False
) -> PrinterColumn:
    """Show what a function makes of the object."""
    return PrinterColumn(name, of, value, priority=int(wide))


def age_column(says: str = "") -> PrinterColumn:
    """Show how long ago the object was created."""
    return field_column("Age", "metadata.creationTimestamp", of="date", says=says)


def text_field(path: str, default: str = "") -> Callable[[Obj], str]:
    """Return the reader of a selectable field: its value as text, as field selectors compare it."""

    def read_text(obj: Obj) -> str:
        value = read(obj, path)
        if value is None:
            return default
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read_text
