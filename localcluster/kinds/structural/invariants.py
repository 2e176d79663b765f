"""Evaluation of the invariants that schema nodes carry.

A transition rule needs the stored value of its node. Fields of objects have one; entries of lists do not, because a
list without keys cannot be compared entry by entry.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from localcluster.kinds.structural import errors
from localcluster.kinds.structural.paths import Path, render_path
from localcluster.kinds.structural.types import Schema, SchemaError

InvariantCheck = Callable[[Any, Any, Path, list[SchemaError]], None]


@cache
def compile_invariants(schema: Schema) -> InvariantCheck | None:
    """Return the check of this node and what is below it, None if there are no invariants.

    It takes a well-typed value, the stored value or None, the path of both, and the list of errors to extend.
    """
    below = _compile_below(schema)
    own = schema.invariants
    if not own:
        return below
    shows_value = schema.type not in {"object", "array"}

    def check_node(value: Any, old: Any, path: Path, found: list[SchemaError]) -> None:
        for invariant in own:
            if (invariant.is_transition and old is None) or invariant.holds(value, old):
                continue
            name = render_path(path)
            found.append(
                errors.invalid(name, value, invariant.message)
                if shows_value
                else errors.violated(name, invariant.message)
            )
        if below is not None:
            below(value, old, path, found)

    return check_node


def _compile_below(schema: Schema) -> InvariantCheck | None:
    if schema.type == "array" and schema.items is not None:
        return _each_item(compile_invariants(schema.items))
    if schema.type == "object" and schema.values is not None:
        return _each_value(compile_invariants(schema.values))
    if schema.type == "object":
        return _each_field(
            {key: check for key, child in schema.properties.items() if (check := compile_invariants(child))}
        )
    return None


def _each_field(checks: dict[str, InvariantCheck]) -> InvariantCheck | None:
    if not checks:
        return None

    def check_fields(value: Any, old: Any, path: Path, found: list[SchemaError]) -> None:
        for key, check in checks.items():
            if key in value:
                check(value[key], old.get(key) if old else None, (path, key), found)

    return check_fields


def _each_item(check: InvariantCheck | None) -> InvariantCheck | None:
    if check is None:
        return None

    def check_items(value: Any, _old: Any, path: Path, found: list[SchemaError]) -> None:
        for index, item in enumerate(value):
            check(item, None, (path, index), found)

    return check_items


def _each_value(check: InvariantCheck | None) -> InvariantCheck | None:
    if check is None:
        return None

    def check_values(value: Any, old: Any, path: Path, found: list[SchemaError]) -> None:
        for key, item in value.items():
            check(item, old.get(key) if old else None, (path, key), found)

    return check_values
