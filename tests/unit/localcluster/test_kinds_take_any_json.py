"""Whatever JSON is in whatever field, a kind answers with errors, never with an exception."""

from collections.abc import Iterator
from typing import Any

import pytest

from config.api.meta import Obj
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema, apply_defaults, prune
from tests.unit.localcluster.writing import as_received, find_kind, write

SHAPES: tuple[object, ...] = ("text", 1, [], ["text"], {"key": 1}, None)
EVERY_KIND = pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: f"{kind.kind}.{kind.group}/{kind.version}")
Place = tuple[str | int, ...]


def sample(schema: Schema, *, flag: bool) -> Any:
    """Build a value that has every field of its schema."""
    if schema.type == "object":
        if schema.values is not None:
            return {"key": sample(schema.values, flag=flag)}
        return {key: sample(child, flag=flag) for key, child in schema.properties.items()}
    if schema.type == "array":
        return [] if schema.items is None else [sample(schema.items, flag=flag)]
    if schema.type == "string":
        return schema.enum[0] if schema.enum else "2026-01-01T00:00:00Z" if schema.format else "abc"
    return {"boolean": flag, "quantity": "1", "int-or-string": 1, "any": {}}.get(schema.type, 1)


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Return the paths of everything inside a value."""
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def with_everything(kind: ServedKind, *, flag: bool = False) -> Obj:
    body: Obj = {key: sample(child, flag=flag) for key, child in kind.schema.properties.items() if key != "metadata"}
    metadata = {"name": "a", "namespace": "default"} if kind.namespaced else {"name": "a"}
    return {**body, "apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def spoiled(obj: Obj) -> Iterator[Obj]:
    """Return copies of the object, each with one field of another shape."""
    for *parents, last in places(obj):
        if [*parents, last][0] in ("metadata", "apiVersion", "kind"):
            continue
        for shape in SHAPES:
            copy = as_received(obj)
            part: Any = copy
            for step in parents:
                part = part[step]
            part[last] = shape
            yield as_received(copy)


@EVERY_KIND
def test_any_shape_is_answered(kind: ServedKind) -> None:
    answer_every_shape(kind, with_everything(kind))


def test_a_job_with_its_switches_on() -> None:
    """`suspend` and `manualSelector` lead to other rules."""
    kind = find_kind("Job")
    answer_every_shape(kind, with_everything(kind, flag=True))


def answer_every_shape(kind: ServedKind, stored: Obj) -> None:
    for obj in spoiled(stored):
        write(kind, obj)
        write(kind, obj, stored)
        if kind.has_status:
            write(kind, obj, stored, status=True)


@EVERY_KIND
def test_pruning_and_defaulting_twice_changes_nothing_more(kind: ServedKind) -> None:
    for obj in spoiled(with_everything(kind)):
        prune(kind.schema, obj)
        apply_defaults(kind.schema, obj)
        once = as_received(obj)

        assert prune(kind.schema, obj) == []
        apply_defaults(kind.schema, obj)
        assert obj == once
