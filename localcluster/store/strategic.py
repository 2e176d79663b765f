"""Strategic merge patch: kubectl's default for built-in kinds, which merges lists by the keys their schema names.

Understands the directives that kubectl writes: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/…` and
`$setElementOrder/…`. Custom resources do not take this kind of patch.
"""

from typing import Any

from localcluster.kinds.api_errors import bad_request
from localcluster.kinds.schema import Schema
from localcluster.store.fieldsets import child_schema, is_associative

_ANY = Schema("any")
_DELETE_PREFIX = "$deleteFromPrimitiveList/"
_ORDER_PREFIX = "$setElementOrder/"


def strategic_merge_patch(schema: Schema, target: Any, patch: Any) -> Any:
    """Return the target with the patch laid over it."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"unknown patch type: {directive}")
    merged = dict(target) if isinstance(target, dict) else {}
    if isinstance(retained := patch.get("$retainKeys"), list):
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DELETE_PREFIX):
            _delete_members(merged, key.removeprefix(_DELETE_PREFIX), value)
        elif not key.startswith("$"):
            _merge_field(schema, merged, key, value)
    for key, value in patch.items():
        if key.startswith(_ORDER_PREFIX):
            _reorder(schema, merged, key.removeprefix(_ORDER_PREFIX), value)
    return merged


def _merge_field(schema: Schema, merged: dict[str, Any], key: str, value: Any) -> None:
    below = child_schema(schema, key)
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        if value.get("$patch") == "delete":
            merged.pop(key, None)
        else:
            merged[key] = strategic_merge_patch(below, merged.get(key), value)
    elif isinstance(value, list):
        merged[key] = _merge_list(below, merged.get(key), value)
    else:
        merged[key] = value


def _merge_list(schema: Schema, target: Any, patch: list[Any]) -> list[Any]:
    live = target if isinstance(target, list) else []
    if any(isinstance(item, dict) and item.get("$patch") == "replace" for item in patch):
        return [item for item in patch if not (isinstance(item, dict) and item.get("$patch") == "replace")]
    if schema.list_type == "set":
        return live + [item for item in patch if item not in live]
    if not is_associative(schema):
        return [item for item in patch if not (isinstance(item, dict) and item.get("$patch") == "delete")]
    key = schema.list_keys[0]
    items = schema.items or _ANY
    merged = list(live)
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        at = next((index for index, each in enumerate(merged) if each.get(key) == item[key]), None)
        if item.get("$patch") == "delete":
            merged = [each for each in merged if each.get(key) != item[key]]
        elif at is None:
            merged.append({name: value for name, value in item.items() if name != "$patch"})
        else:
            merged[at] = strategic_merge_patch(items, merged[at], item)
    return merged


def _delete_members(merged: dict[str, Any], key: str, members: Any) -> None:
    if isinstance(merged.get(key), list) and isinstance(members, list):
        merged[key] = [each for each in merged[key] if each not in members]


def _reorder(schema: Schema, merged: dict[str, Any], key: str, order: Any) -> None:
    live = merged.get(key)
    if not isinstance(live, list) or not isinstance(order, list):
        return
    below = child_schema(schema, key)
    if is_associative(below):
        name = below.list_keys[0]
        wanted = [each.get(name) for each in order if isinstance(each, dict)]
        ranks = {str(value): rank for rank, value in enumerate(wanted)}
        merged[key] = sorted(live, key=lambda each: ranks.get(str(each.get(name)), len(ranks)))
    else:
        ranks = {str(value): rank for rank, value in enumerate(order)}
        merged[key] = sorted(live, key=lambda each: ranks.get(str(each), len(ranks)))
