"""Who owns which field: keeps `metadata.managedFields` through creates, updates and patches.

Every write but an apply takes ownership of what it changed, from all managers; what it removed has no owner.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.kinds.traits import is_builtin
from localcluster.store.fieldsets import FieldSet, compare, difference, join
from localcluster.store.object_meta import METADATA

_OWNED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "generateName")
_UNOWNED = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, slots=True)
class Manager:
    """One writer: its name, how it writes, in which version, and to which subresource."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @classmethod
    def of(cls, entry: Obj) -> "Manager":
        """Return the writer of a `managedFields` entry."""
        return cls(
            entry.get("manager", ""),
            entry.get("operation", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        )

    def entry(self, fields: FieldSet, time: str) -> Obj:
        """Return the `managedFields` entry of this writer."""
        entry: Obj = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
        if self.subresource:
            entry["subresource"] = self.subresource
        return entry


def owned_view(obj: Obj) -> Obj:
    """Return the part of an object whose fields have owners."""
    meta = obj.get("metadata", {})
    view: Obj = {key: value for key, value in obj.items() if key not in _UNOWNED}
    view["metadata"] = {field: meta[field] for field in _OWNED_METADATA if field in meta}
    return view


@cache
def _root_schema(schema: Schema) -> Schema:
    properties = {**schema.properties, "metadata": METADATA}
    return Schema("object", properties=properties, preserve_unknown=schema.preserve_unknown)


def root_schema(kind: ServedKind) -> Schema:
    """Return the schema of the owned view of a kind's objects."""
    return _root_schema(kind.schema)


def differences(kind: ServedKind, old: Obj | None, new: Obj) -> tuple[FieldSet | None, FieldSet | None]:
    """Return the owned paths that a write changed and removed."""
    if old is not None:
        before = owned_view(old)
    else:
        # Go's structs always carry spec and status, so these containers of built-in kinds have no owner.
        before = {"metadata": {}, "spec": {}, "status": {}} if is_builtin(kind) else {"metadata": {}}
    after = owned_view(new)
    if old is None:
        before = {key: value for key, value in before.items() if key in after}
    return compare(root_schema(kind), before, after)


def after_update(kind: ServedKind, old: Obj | None, new: Obj, manager: Manager, time: str) -> list[Obj]:
    """Return `managedFields` after a write that is not an apply; entries that did not change keep their time."""
    changed, removed = differences(kind, old, new)
    entries = _claimed_entries(old, new)
    kept: list[Obj] = []
    own: FieldSet | None = None
    own_entry: Obj | None = None
    lost = join(changed, removed)
    for entry in entries:
        if Manager.of(entry) == manager:
            own, own_entry = difference(entry["fieldsV1"], removed), entry
        elif lost is None:
            kept.append(entry)
        elif (left := difference(entry["fieldsV1"], lost)) is not None:
            kept.append(entry if left == entry["fieldsV1"] else {**entry, "fieldsV1": left})
    own = join(own, changed)
    if own is not None:
        unchanged = own_entry is not None and own == own_entry["fieldsV1"]
        kept.append(own_entry if own_entry is not None and unchanged else manager.entry(own, time))
    return in_order(kept)


def _claimed_entries(old: Obj | None, new: Obj) -> list[Obj]:
    """Return the entries to start from: a client may rewrite them, and an empty first entry clears them all."""
    if old is None:
        return []
    claimed = new["metadata"].get("managedFields")
    entries = claimed if claimed is not None else old["metadata"].get("managedFields", [])
    return [entry for entry in entries if isinstance(entry.get("fieldsV1"), dict)]


def in_order(entries: Iterable[Obj]) -> list[Obj]:
    """Return entries in the server's order: applies first, then by time and name."""
    return sorted(
        entries,
        key=lambda entry: (
            entry.get("operation", ""),
            entry.get("time", ""),
            entry.get("manager", ""),
            entry.get("apiVersion", ""),
            entry.get("subresource", ""),
        ),
    )


def are_same_but_times(left: list[Obj], right: list[Obj]) -> bool:
    """Return whether two `managedFields` differ at most in their times."""
    return [_timeless(entry) for entry in left] == [_timeless(entry) for entry in right]


def _timeless(entry: Obj) -> Obj:
    return {key: value for key, value in entry.items() if key != "time"}
