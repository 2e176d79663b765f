"""Validation by a schema: value types and limits, unique list entries, then the schema's own invariants.

Schemas are compiled once into closures, because every write of a busy server passes here. A valid object costs no
string: paths are linked tuples, rendered only for an error.
"""

from functools import cache
from typing import Any, Final

from localcluster.kinds.structural import errors
from localcluster.kinds.structural.invariants import compile_invariants
from localcluster.kinds.structural.paths import NO_PATH, Path, render_path
from localcluster.kinds.structural.scalars import Check, compile_scalar, report_type
from localcluster.kinds.structural.types import Cause, Schema, SchemaError

_BLOCKS_INVARIANTS: Final = frozenset(
    (Cause.NOT_SUPPORTED, Cause.REQUIRED, Cause.TOO_LONG, Cause.TOO_MANY, Cause.TYPE_INVALID)
)
RULES_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def validate(schema: Schema, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[SchemaError]:
    """Return every violation of the schema; `old` is the stored object, for rules about transitions.

    Invariants may rely on a well-typed object, so they wait until the fields themselves are right. Metadata is not
    checked: it has rules of its own, the same for all kinds.
    """
    found: list[SchemaError] = []
    _compile_root(schema)(obj, None, found)
    check_invariants = compile_invariants(schema)
    if check_invariants is None:
        return found
    if _is_blocking(found):
        found.append(errors.invalid(NO_PATH, None, RULES_NOT_CHECKED))
    else:
        check_invariants(obj, old, None, found)
    return found


def _is_blocking(found: list[SchemaError]) -> bool:
    """Return whether these errors keep the rules over whole objects from being evaluated."""
    return any(error.cause in _BLOCKS_INVARIANTS for error in found)


@cache
def _compile_root(schema: Schema) -> Check:
    return _object_check(schema, apart_from=("metadata",))


@cache
def _compile(schema: Schema) -> Check:
    if schema.type == "object":
        return _map_check(schema) if schema.values is not None else _object_check(schema)
    if schema.type == "array":
        return _list_check(schema)
    return compile_scalar(schema)


def _needs_no_check(schema: Schema) -> type | None:
    """Return the one Python type whose values are always valid here, to save a call per field."""
    if schema.type == "boolean":
        return bool
    is_bounded = schema.enum or schema.pattern or schema.format or schema.max_length or schema.min_length
    return str if schema.type == "string" and not is_bounded else None


def _object_check(schema: Schema, apart_from: tuple[str, ...] = ()) -> Check:
    children = {
        key: (_needs_no_check(child), _compile(child))
        for key, child in schema.properties.items()
        if key not in apart_from
    }
    required = frozenset(schema.required)

    def check_object(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is not dict:
            report_type(schema, value, path, found)
            return
        for key, child in value.items():
            if key in children:
                plain, check = children[key]
                if type(child) is not plain:
                    check(child, (path, key), found)
        if not required <= value.keys():
            found.extend(errors.required(render_path((path, key))) for key in schema.required if key not in value)

    return check_object


def _map_check(schema: Schema) -> Check:
    values = schema.values if schema.values is not None else schema
    plain, check_value = _needs_no_check(values), _compile(values)
    limit = schema.max_properties

    def check_map(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is not dict:
            report_type(schema, value, path, found)
            return
        if limit is not None and len(value) > limit:
            found.append(errors.too_many(render_path(path), len(value), limit))
        for key, item in value.items():
            if type(item) is not plain:
                check_value(item, (path, key), found)

    return check_map


def _list_check(schema: Schema) -> Check:
    check_item = _compile(schema.items) if schema.items is not None else _accept
    least, most = schema.min_items, schema.max_items
    check_unique = {"map": _report_duplicate_keys, "set": _report_duplicates}.get(schema.list_type)

    def check_list(value: Any, path: Path, found: list[SchemaError]) -> None:
        if type(value) is not list:
            report_type(schema, value, path, found)
            return
        for index, item in enumerate(value):
            check_item(item, (path, index), found)
        size = len(value)
        if least is not None and size < least:
            name = render_path(path)
            found.append(errors.invalid(name, size, f"{name} in body should have at least {least} items"))
        if most is not None and size > most:
            found.append(errors.too_many(render_path(path), size, most))
        if check_unique is not None and size:
            check_unique(schema, value, path, found)

    return check_list


def _accept(_value: Any, _path: Path, _found: list[SchemaError]) -> None:
    """Accept a value of which nothing is known."""


def _has_distinct_keys(value: list[Any], key: str) -> bool:
    """Recognize the usual case cheaply: entries are objects, each with a name of its own."""
    try:
        return len({item[key] for item in value}) == len(value)
    except (KeyError, TypeError):
        return False


def _report_duplicate_keys(schema: Schema, value: list[Any], path: Path, found: list[SchemaError]) -> None:
    if len(schema.list_keys) == 1 and _has_distinct_keys(value, schema.list_keys[0]):
        return
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            message = "must be an object for an array of list-type map"
            found.append(errors.invalid(render_path((path, index)), item, message))
            return
    if len(value) == 1:
        return
    keys = [{key: item[key] for key in schema.list_keys if key in item} if item else {} for item in value]
    _report_second_occurrences(keys, path, found)


def _report_duplicates(_schema: Schema, value: list[Any], path: Path, found: list[SchemaError]) -> None:
    _report_second_occurrences(value, path, found)


def _report_second_occurrences(values: list[Any], path: Path, found: list[SchemaError]) -> None:
    """Name the second of equal values; a third says nothing new."""
    seen: dict[str, int] = {}
    for index, value in enumerate(values):
        key = errors.render(value)
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 2:
            found.append(errors.duplicate(render_path((path, index)), value))
