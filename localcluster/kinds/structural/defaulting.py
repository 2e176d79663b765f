"""Defaulting: absent fields get their default where the parent exists; a defaulted parent gets its own defaults too."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any

from localcluster.kinds.structural.types import Schema

Defaulter = Callable[[Any], None]


def apply_defaults(schema: Schema, obj: dict[str, Any]) -> None:
    """Fill in the schema's defaults in place."""
    defaulter = _compile(schema)
    if defaulter is not None:
        defaulter(obj)


@cache
def _compile(schema: Schema) -> Defaulter | None:
    """Return what fills defaults below this node, None if there are none."""
    if schema.type == "array" and schema.items is not None:
        return _each_item(_compile(schema.items))
    if schema.type == "object" and schema.values is not None:
        return _each_value(_compile(schema.values))
    if schema.type == "object":
        return _object_defaulter(schema)
    return None


def _object_defaulter(schema: Schema) -> Defaulter | None:
    own = {key: child for key, child in schema.properties.items() if child.default is not None}
    below = {key: nested for key, child in schema.properties.items() if (nested := _compile(child)) is not None}
    if not own and not below:
        return None

    def default_object(value: Any) -> None:
        if type(value) is not dict:
            return
        for key, child in own.items():
            # An explicit null of a field that has a default and does not allow null counts as absent.
            if value.get(key) is None and (key not in value or not child.nullable):
                value[key] = deepcopy(child.default)
        for key, nested in below.items():
            if key in value:
                nested(value[key])

    return default_object


def _each_item(item_defaulter: Defaulter | None) -> Defaulter | None:
    if item_defaulter is None:
        return None

    def default_items(value: Any) -> None:
        if type(value) is list:
            for item in value:
                item_defaulter(item)

    return default_items


def _each_value(value_defaulter: Defaulter | None) -> Defaulter | None:
    if value_defaulter is None:
        return None

    def default_values(value: Any) -> None:
        if type(value) is dict:
            for item in value.values():
                value_defaulter(item)

    return default_values
