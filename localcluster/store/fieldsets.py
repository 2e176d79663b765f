"""Sets of field paths in the FieldsV1 form, and the comparison of two objects into such sets.

A set is the nested JSON that `managedFields` shows: `f:` a field, `k:` an item of an associative list by its keys,
`v:` a member of a set; an empty node, or one with ".", is itself a member. Sets are never changed in place.
"""

from typing import Any

import orjson

from localcluster.kinds.schema import Schema

FieldSet = dict[str, Any]

MEMBER: FieldSet = {}
"""A leaf that is a member. Shared, because sets are never changed in place."""
_SELF = "."
_ANY = Schema("any")


def child_schema(schema: Schema, field: str) -> Schema:
    """Return the schema of a field; where the parent says nothing, anything goes."""
    return schema.properties.get(field) or schema.values or _ANY


def is_associative(schema: Schema) -> bool:
    """Return whether items of the list are owned one by one."""
    return schema.list_type == "map" and bool(schema.list_keys)


def item_key(schema: Schema, item: Any) -> str:
    """Return the path element of an item of an associative list."""
    if not isinstance(item, dict):
        return "v:" + orjson.dumps(item).decode()
    keys = {key: item[key] for key in sorted(schema.list_keys) if key in item}
    return "k:" + orjson.dumps(keys).decode()


def member_key(value: Any) -> str:
    """Return the path element of a member of a set."""
    return "v:" + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def paths_of(schema: Schema, value: Any, *, containers: bool) -> FieldSet:
    """Return every path in a value; with `containers`, objects and lists are members as well as their leaves.

    An update owns the containers that it created, an apply owns only what it spelled out.
    """
    if not isinstance(value, dict | list) or not value:
        return MEMBER
    if isinstance(value, dict):
        if schema.is_atomic:
            return MEMBER
        found = _field_paths(schema, value, containers=containers)
    elif is_associative(schema):
        items = schema.items or _ANY
        found = {
            item_key(schema, each): {_SELF: MEMBER, **paths_of(items, each, containers=containers)} for each in value
        }
    elif schema.list_type == "set":
        found = {member_key(each): MEMBER for each in value}
    else:
        return MEMBER
    if containers:
        found[_SELF] = MEMBER
    return found


def _field_paths(schema: Schema, value: dict[str, Any], *, containers: bool) -> FieldSet:
    properties, values = schema.properties, schema.values or _ANY
    found: FieldSet = {}
    for key, each in value.items():
        # Most fields are scalars; not calling for them halves the cost of a create.
        if isinstance(each, dict | list):
            found["f:" + key] = paths_of(properties.get(key, values), each, containers=containers)
        else:
            found["f:" + key] = MEMBER
    return found


def compare(schema: Schema, old: Any, new: Any) -> tuple[FieldSet | None, FieldSet | None]:
    """Return the paths that were added or modified, and those that were removed; None where there are none."""
    if isinstance(old, dict) and isinstance(new, dict) and not schema.is_atomic:
        return _compare_fields(schema, old, new)
    if isinstance(old, list) and isinstance(new, list):
        if is_associative(schema):
            items = schema.items or _ANY
            before = {item_key(schema, each): each for each in old}
            after = {item_key(schema, each): each for each in new}
            return _compare_items(items, before, after)
        if schema.list_type == "set":
            before = {member_key(each): None for each in old}
            after = {member_key(each): None for each in new}
            return _compare_items(_ANY, before, after)
    return (None, None) if old == new else (MEMBER, None)


def _compare_fields(
    schema: Schema, old: dict[str, Any], new: dict[str, Any]
) -> tuple[FieldSet | None, FieldSet | None]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        if key not in old:
            changed["f:" + key] = paths_of(child_schema(schema, key), value, containers=True)
        elif (before := old[key]) is not value and before != value:
            _note(changed, removed, "f:" + key, *compare(child_schema(schema, key), before, value))
    for key, value in old.items():
        if key not in new:
            removed["f:" + key] = paths_of(child_schema(schema, key), value, containers=True)
    return changed or None, removed or None


def _compare_items(items: Schema, old: dict[str, Any], new: dict[str, Any]) -> tuple[FieldSet | None, FieldSet | None]:
    changed: FieldSet = {}
    removed: FieldSet = {}
    for key, value in new.items():
        if key not in old:
            changed[key] = paths_of(items, value, containers=True)
        elif old[key] != value:
            _note(changed, removed, key, *compare(items, old[key], value))
    for key, value in old.items():
        if key not in new:
            removed[key] = paths_of(items, value, containers=True)
    return changed or None, removed or None


def _note(changed: FieldSet, removed: FieldSet, key: str, below: FieldSet | None, gone: FieldSet | None) -> None:
    if below is not None:
        changed[key] = below
    if gone is not None:
        removed[key] = gone


def is_member(node: FieldSet) -> bool:
    """Return whether the path that leads to this node is in the set."""
    return not node or _SELF in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the paths of either set."""
    if not left or not right:
        return _as_member(left or right)
    merged = dict(left)
    for key, node in right.items():
        merged[key] = node if key not in left else MEMBER if key == _SELF else union(left[key], node)
    return merged


def _as_member(node: FieldSet) -> FieldSet:
    return {**node, _SELF: MEMBER} if node and _SELF not in node else node


def join(left: FieldSet | None, right: FieldSet | None) -> FieldSet | None:
    """Return the union of two sets of which either may be absent."""
    if left is None or right is None:
        return right if left is None else left
    return {**left, **{key: union(left[key], node) if key in left else node for key, node in right.items()}}


def difference(left: FieldSet, right: FieldSet | None) -> FieldSet | None:
    """Return the paths of the left set that are not in the right one, None when nothing is left."""
    if right is None:
        return left or None
    kept: FieldSet = {}
    for key, node in left.items():
        if key == _SELF:
            continue
        other = right.get(key)
        if other is None:
            kept[key] = node
            continue
        below = difference(node, other) if node else None
        if is_member(node) and not is_member(other):
            kept[key] = {**(below or {}), _SELF: MEMBER} if below else MEMBER
        elif below:
            kept[key] = below
    return kept or None


def intersection(left: FieldSet, right: FieldSet) -> FieldSet | None:
    """Return the paths in both sets, None when there are none."""
    common: FieldSet = {}
    for key, node in left.items():
        other = right.get(key)
        if key == _SELF or other is None:
            continue
        below = intersection(node, other) if node and other else None
        if is_member(node) and is_member(other):
            common[key] = {**below, _SELF: MEMBER} if below else MEMBER
        elif below:
            common[key] = below
    return common or None


def without_fields(fields: FieldSet, hidden: tuple[str, ...]) -> FieldSet | None:
    """Return the set without some fields of the top level, None when nothing is left."""
    kept = {key: node for key, node in fields.items() if key not in hidden}
    return kept or None


def path_names(fields: FieldSet, prefix: str = "") -> list[str]:
    """Return the members as the server prints them: `.spec.conditions[type="Ready"].status`."""
    names: list[str] = []
    for key, node in fields.items():
        if key == _SELF:
            continue
        path = prefix + _element_name(key)
        if is_member(node):
            names.append(path)
        names.extend(path_names(node, path))
    return names


def _element_name(key: str) -> str:
    kind, _, rest = key.partition(":")
    match kind:
        case "f":
            return f".{rest}"
        case "k":
            pairs = orjson.loads(rest)
            return "[" + ",".join(f"{name}={orjson.dumps(value).decode()}" for name, value in pairs.items()) + "]"
        case _:
            return f"[={rest}]"
