"""Pruning: fields that a schema does not know are dropped, and named, so that the server can warn or refuse.

A null in a field that does not allow null means that the field was never set; it goes without being named.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from localcluster.kinds.structural.paths import Path, render_path
from localcluster.kinds.structural.types import Schema

Pruner = Callable[[Any, Path, list[Path]], None]

_EVERY_OBJECT_HAS = ("apiVersion", "kind", "metadata")


def prune(schema: Schema, obj: dict[str, Any]) -> list[str]:
    """Remove unknown fields in place; return the paths of what was removed."""
    dropped: list[Path] = []
    _compile_root(schema)(obj, None, dropped)
    return [render_path(path) for path in dropped]


@cache
def _compile_root(schema: Schema) -> Pruner:
    return _object_pruner(schema, frozenset((*schema.properties, *_EVERY_OBJECT_HAS)))


@cache
def _compile(schema: Schema) -> Pruner | None:
    """Return what prunes below this node, None if nothing there can be dropped."""
    if schema.type == "array" and schema.items is not None:
        return _list_pruner(_compile(schema.items))
    if schema.type == "object" and schema.values is not None:
        return _map_pruner(schema.values)
    if schema.type == "object" and (schema.properties or not schema.preserve_unknown):
        return _object_pruner(schema, frozenset(schema.properties))
    return None


def _object_pruner(schema: Schema, known: frozenset[str]) -> Pruner:
    pruners = {key: pruner for key, child in schema.properties.items() if (pruner := _compile(child)) is not None}
    nullable = frozenset(key for key, child in schema.properties.items() if child.nullable)
    keeps_unknown = schema.preserve_unknown

    def prune_object(value: Any, path: Path, dropped: list[Path]) -> None:
        if type(value) is not dict:
            return
        if not value.keys() <= known or None in value.values():
            drop(value, path, dropped)
        for key, child in value.items():
            if key in pruners:
                pruners[key](child, (path, key), dropped)

    def drop(value: dict[str, Any], path: Path, dropped: list[Path]) -> None:
        for key in [key for key, child in value.items() if key not in known or child is None]:
            if key in known and key not in nullable:
                del value[key]
            elif key not in known and not keeps_unknown:
                del value[key]
                dropped.append((path, key))

    return prune_object


def _list_pruner(prune_item: Pruner | None) -> Pruner | None:
    if prune_item is None:
        return None

    def prune_list(value: Any, path: Path, dropped: list[Path]) -> None:
        if type(value) is list:
            for index, item in enumerate(value):
                prune_item(item, (path, index), dropped)

    return prune_list


def _map_pruner(values: Schema) -> Pruner:
    prune_value = _compile(values)

    def prune_map(value: Any, path: Path, dropped: list[Path]) -> None:
        if type(value) is not dict:
            return
        if None in value.values() and not values.nullable:
            for key in [key for key, item in value.items() if item is None]:
                del value[key]
        if prune_value is not None:
            for key, item in value.items():
                prune_value(item, (path, key), dropped)

    return prune_map
