"""Server-side apply: merges an applied configuration into an object and settles who owns what.

A conflict is a field that the configuration would change although another manager owns it. What a manager applied
before and no longer applies is removed, unless another manager owns it.
"""

from dataclasses import dataclass
from typing import Any

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, quoted
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.store.fieldsets import (
    FieldSet,
    child_schema,
    compare,
    difference,
    intersection,
    is_associative,
    is_member,
    item_key,
    join,
    member_key,
    path_names,
    paths_of,
    without_fields,
)
from localcluster.store.ownership import Manager, in_order, owned_view, root_schema

_ANY = Schema("any")


@dataclass(frozen=True, slots=True)
class Applied:
    """The merged object, without `managedFields`, and the new owners."""

    obj: Obj
    managed_fields: list[Obj]


def apply_configuration(
    kind: ServedKind,
    live: Obj,
    configuration: Obj,
    manager: Manager,
    *,
    force: bool,
    time: str,
    hidden: tuple[str, ...],
) -> Applied:
    """Merge the configuration into the live object; `hidden` fields belong to another endpoint and are ignored."""
    schema = root_schema(kind)
    wanted = {key: value for key, value in owned_view(configuration).items() if key not in hidden}
    before = owned_view(live)
    fields = without_fields(paths_of(schema, wanted, containers=False), _bare(wanted))
    entries = live.get("metadata", {}).get("managedFields", [])
    last = next((entry["fieldsV1"] for entry in entries if Manager.of(entry) == manager), None)
    others = [entry for entry in entries if Manager.of(entry) != manager]

    after = merge(schema, before, wanted)
    if last is not None:
        owned = fields
        for entry in others:
            owned = join(owned, entry["fieldsV1"])
        abandoned = difference(last, owned)
        if abandoned is not None:
            after = remove(schema, after, abandoned, owned or {})
    kept = _settle(others, compare(schema, before, after), force=force)
    if fields is not None:
        same = last == fields
        own = next((entry for entry in entries if Manager.of(entry) == manager), None)
        kept.append(own if same and own is not None else manager.entry(fields, time))
    return Applied(_with_owned(live, after), in_order(kept))


def _bare(wanted: Obj) -> tuple[str, ...]:
    return tuple(f"f:{key}" for key, value in wanted.items() if key == "metadata" and not value)


def _with_owned(live: Obj, after: Obj) -> Obj:
    merged = {key: value for key, value in live.items() if key in ("apiVersion", "kind")}
    meta = {**live.get("metadata", {})}
    for field in ("labels", "annotations", "finalizers", "ownerReferences", "generateName"):
        meta.pop(field, None)
    merged["metadata"] = {**meta, **after.get("metadata", {})}
    merged.update({key: value for key, value in after.items() if key != "metadata"})
    return merged


def _settle(others: list[Obj], changes: tuple[FieldSet | None, FieldSet | None], *, force: bool) -> list[Obj]:
    changed, removed = changes
    conflicts = [
        (Manager.of(entry), entry, clash)
        for entry in others
        if changed is not None and (clash := intersection(entry["fieldsV1"], changed)) is not None
    ]
    if conflicts and not force:
        raise _conflict([(manager, entry, path) for manager, entry, clash in conflicts for path in path_names(clash)])
    lost = join(changed, removed)
    kept: list[Obj] = []
    for entry in others:
        left = difference(entry["fieldsV1"], lost)
        if left is not None:
            kept.append(entry if left == entry["fieldsV1"] else {**entry, "fieldsV1": left})
    return kept


def _conflict(clashes: list[tuple[Manager, Obj, str]]) -> ApiError:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {_describe(entry)}", "field": path}
        for _, entry, path in clashes
    ]
    if len(clashes) == 1:
        message = f"Apply failed with 1 conflict: {causes[0]['message']}: {clashes[0][2]}"
    else:
        by_manager: dict[str, list[str]] = {}
        for _, entry, path in clashes:
            by_manager.setdefault(_describe(entry), []).append(path)
        lines = [
            line
            for described in sorted(by_manager)
            for line in (f"conflicts with {described}:", *(f"- {path}" for path in by_manager[described]))
        ]
        message = f"Apply failed with {len(clashes)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", message, details={"causes": causes})


def _describe(entry: Obj) -> str:
    described = quoted(entry.get("manager", ""))
    if entry.get("subresource"):
        described += f" with subresource {quoted(entry['subresource'])}"
    if entry.get("operation") == "Update":
        described += f" using {entry.get('apiVersion', '')}"
    return described


def merge(schema: Schema, live: Any, wanted: Any) -> Any:
    """Return the live value with the wanted one laid over it, lists by their type."""
    if isinstance(live, dict) and isinstance(wanted, dict) and not schema.is_atomic:
        merged = dict(live)
        for key, value in wanted.items():
            merged[key] = merge(child_schema(schema, key), live[key], value) if key in live else value
        return merged
    if isinstance(live, list) and isinstance(wanted, list):
        if is_associative(schema):
            return _merge_items(schema, live, wanted)
        if schema.list_type == "set":
            present = {member_key(each) for each in live}
            return live + [each for each in wanted if member_key(each) not in present]
    return wanted


def _merge_items(schema: Schema, live: list[Any], wanted: list[Any]) -> list[Any]:
    items = schema.items or _ANY
    overlay = {item_key(schema, each): each for each in wanted}
    merged = []
    for each in live:
        key = item_key(schema, each)
        merged.append(merge(items, each, overlay.pop(key)) if key in overlay else each)
    return merged + list(overlay.values())


def remove(schema: Schema, value: Any, gone: FieldSet, owned: FieldSet) -> Any:
    """Return the value without the abandoned paths; a container goes when nothing of it is left or owned."""
    if isinstance(value, dict):
        kept: Obj = {}
        for key, each in value.items():
            left = _remove_child(child_schema(schema, key), each, gone.get("f:" + key), owned.get("f:" + key))
            if left is not _GONE:
                kept[key] = left
        return kept
    if isinstance(value, list):
        items = schema.items or _ANY
        keys = [item_key(schema, each) if is_associative(schema) else member_key(each) for each in value]
        pairs = zip(keys, value, strict=True)
        lefts = (_remove_child(items, each, gone.get(key), owned.get(key)) for key, each in pairs)
        return [left for left in lefts if left is not _GONE]
    return value


_GONE = object()


def _remove_child(schema: Schema, value: Any, gone: FieldSet | None, owned: FieldSet | None) -> Any:
    if gone is None:
        return value
    is_container = (isinstance(value, dict) and not schema.is_atomic) or (
        isinstance(value, list) and (is_associative(schema) or schema.list_type == "set")
    )
    if is_member(gone) and owned is None:
        return _GONE
    if not is_container or not gone:
        return value
    left = remove(schema, value, gone, owned or {})
    return _GONE if not left and owned is None else left
