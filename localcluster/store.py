"""The objects of one cluster, with the manners of the API server: versions, conflicts, finalizers, ownership.

Synchronous and complete in itself: the HTTP server is one user, a simulated controller in the same process another.
Objects passed in become the store's; objects handed out are shared and must be copied before they are changed.
"""

import secrets
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import orjson

from localcluster import admission, namespaces, pods
from localcluster.admission import FieldValidation
from localcluster.apply import apply_configuration
from localcluster.clock import Clock, rfc3339
from localcluster.deletion import DeleteOptions, Deletion, plan_deletion
from localcluster.kinds import Kind, Obj
from localcluster.ledger import Collection, Key, Ledger, Listener, Version, collection_id
from localcluster.object_meta import (
    drop_empty_metadata,
    keep_system_fields,
    metadata_of,
    settle_namespace,
    wipe_system_fields,
)
from localcluster.ownership import Manager, after_update, are_same_but_times
from localcluster.selectors import EVERYTHING, Selector
from localcluster.status import MODIFIED, ApiError, already_exists, bad_request, conflict, invalid, not_found
from localcluster.structural import errors
from localcluster.traits import has_generation, is_builtin, is_created_by_put, needs_version_on_put

Warnings = list[str]
ManagedFields = list[Obj]

HISTORY = 4096
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_MAX_GENERATED_PREFIX = 58


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a client says about a write beside the object itself."""

    manager: str = "localcluster"
    dry_run: bool = False
    field_validation: FieldValidation = FieldValidation.WARN
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write; `version` of a dry run was never stored."""

    version: Version
    created: bool = False
    warnings: tuple[str, ...] = ()


_DEFAULT = WriteOptions()


class Store:
    """All kinds of one cluster."""

    def __init__(self, kinds: Iterable[Kind], clock: Clock, *, history: int = HISTORY) -> None:
        self.clock = clock
        self.ledger = Ledger(tuple(kinds), history)
        self._namespaces = self.ledger.collections.get(namespaces.COLLECTION)

    # Reading

    def collection(self, kind: Kind) -> Collection:
        """Return all objects of a kind."""
        return self.ledger.collections[collection_id(kind)]

    def kind(self, plural: str, group: str = "") -> Kind:
        """Return a served kind by its resource name, in its preferred version."""
        kinds = (collection.kind for collection in self.ledger.collections.values())
        return next(kind for kind in kinds if (kind.plural, kind.group) == (plural, group))

    def get(self, kind: Kind, name: str, namespace: str = "") -> Obj:
        """Return an object, or raise the 404."""
        return self.version(kind, (namespace, name)).obj

    def version(self, kind: Kind, key: Key) -> Version:
        """Return the current version of an object, or raise the 404."""
        found = self.collection(kind).get(key)
        if found is None:
            raise not_found(kind, key[1])
        return found

    def list(self, kind: Kind, namespace: str | None = None, selector: Selector = EVERYTHING) -> list[Obj]:
        """Return the objects of a kind in key order."""
        found = (version.obj for version in self.collection(kind).scan(namespace))
        return [obj for obj in found if selector.matches(obj)] if selector else list(found)

    def subscribe(self, kind: Kind, listener: Listener) -> Callable[[], None]:
        """Call back on every change of a kind, in order; return how to stop."""
        return self.collection(kind).listen(listener)

    # Creating

    def create(self, kind: Kind, obj: Obj, namespace: str = "", options: WriteOptions = _DEFAULT) -> Written:
        """Create an object, giving it a name if it only has a prefix."""
        meta = metadata_of(kind, obj)
        wipe_system_fields(meta)
        settle_namespace(kind, meta, namespace)
        meta.pop("managedFields", None)
        unknown = admission.prune_unknown(kind, obj, options.field_validation)
        manager = Manager(options.manager, "Update", kind.api_version)
        return self._insert(
            kind, obj, options, unknown, lambda new: after_update(kind, None, new, manager, self._time())
        )

    def _insert(
        self,
        kind: Kind,
        obj: Obj,
        options: WriteOptions,
        unknown: Warnings,
        managed_fields: Callable[[Obj], ManagedFields],
    ) -> Written:
        meta = obj["metadata"]
        if kind.has_status:
            obj.pop("status", None)
        if kind.namespaced and self._namespaces is not None:
            namespaces.refuse_if_closed(self._namespaces, kind, meta["namespace"], meta.get("name", ""))
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = _generated_name(meta["generateName"])
        if namespaces.is_namespace(kind):
            namespaces.label_namespace(obj)
        admission.fill_defaults(kind, obj)
        drop_empty_metadata(meta)
        admission.check(kind, obj, None)
        collection = self.collection(kind)
        key = (meta.get("namespace", ""), meta["name"])
        if collection.get(key) is not None:
            raise already_exists(kind, key[1])
        warnings = (*unknown, *admission.warnings_about(obj, None))
        new = _with_head(kind, obj)
        meta = new["metadata"]
        meta["uid"] = str(uuid.uuid4())
        meta["creationTimestamp"] = self._time()
        if has_generation(kind):
            meta["generation"] = 1
        meta["managedFields"] = managed_fields(new)
        if namespaces.is_namespace(kind):
            namespaces.open_namespace(new)
        return Written(self._put(collection, key, new, options), created=True, warnings=warnings)

    # Changing

    def update(
        self,
        kind: Kind,
        obj: Obj,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        options: WriteOptions = _DEFAULT,
    ) -> Written:
        """Replace an object, as PUT does."""
        meta = metadata_of(kind, obj)
        settle_namespace(kind, meta, namespace)
        if not meta.get("name"):
            meta["name"] = name
        _refuse_other_name(meta["name"], name)
        old = self.collection(kind).get((namespace, name))
        if old is None:
            if subresource or not is_created_by_put(kind):
                raise not_found(kind, name)
            return self.create(kind, obj, namespace, options)
        _refuse_other_uid(kind, old, meta)
        if not meta.get("resourceVersion") and needs_version_on_put(kind):
            problem = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(kind.plural, kind.group, name, [problem])
        unknown = admission.prune_unknown(kind, obj, options.field_validation, subresource)
        return self._replace(kind, old, obj, subresource, options, unknown)

    def patch(
        self,
        kind: Kind,
        name: str,
        change: Callable[[Obj], object],
        namespace: str = "",
        *,
        subresource: str = "",
        options: WriteOptions = _DEFAULT,
        text: str | None = None,
    ) -> Written:
        """Replace an object by what `change` makes of it; `change` must not alter its argument."""
        old = self.version(kind, (namespace, name))
        patched = change(old.obj)
        if not isinstance(patched, dict):
            raise bad_request("the patched object is not an object")
        if subresource == "status":
            # Nothing else will be taken from it, and copying a whole object is not free.
            patched = {field: patched[field] for field in ("metadata", "status") if field in patched}
        obj: Obj = orjson.loads(orjson.dumps(patched))
        meta = metadata_of(kind, obj)
        _refuse_other_name(meta.get("name", name), name)
        settle_namespace(kind, meta, namespace)
        meta["name"] = name
        unknown = admission.prune_unknown(kind, obj, options.field_validation, subresource, patch=text or "")
        return self._replace(kind, old, obj, subresource, options, unknown)

    def patch_status(self, kind: Kind, name: str, change: Callable[[Obj], object], namespace: str = "") -> Written:
        """Replace an object's status by what `change` makes of the object."""
        return self.patch(kind, name, change, namespace, subresource="status")

    def apply(
        self,
        kind: Kind,
        configuration: Obj,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        options: WriteOptions = _DEFAULT,
    ) -> Written:
        """Merge an applied configuration, as server-side apply does; create the object if there is none."""
        meta = metadata_of(kind, configuration)
        _refuse_other_name(meta.get("name", name), name)
        settle_namespace(kind, meta, namespace)
        meta["name"] = name
        if "managedFields" in meta:
            raise bad_request("metadata.managedFields must be nil")
        unknown = admission.prune_unknown(kind, configuration, options.field_validation)
        manager = Manager(options.manager, "Apply", kind.api_version, subresource)
        hidden = _hidden_from_apply(kind, subresource)
        old = self.collection(kind).get((namespace, name))
        if old is None:
            if subresource or meta.get("uid"):
                raise not_found(kind, name)
            return self._create_applied(kind, configuration, manager, hidden, options, unknown)
        applied = apply_configuration(
            kind, old.obj, configuration, manager, force=options.force, time=self._time(), hidden=hidden
        )
        obj: Obj = orjson.loads(orjson.dumps(applied.obj))
        if meta.get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = meta["resourceVersion"]
        if meta.get("uid"):
            obj["metadata"]["uid"] = meta["uid"]
        return self._replace(kind, old, obj, subresource, options, unknown, managed_fields=applied.managed_fields)

    def _create_applied(
        self,
        kind: Kind,
        configuration: Obj,
        manager: Manager,
        hidden: tuple[str, ...],
        options: WriteOptions,
        unknown: Warnings,
    ) -> Written:
        meta = configuration["metadata"]
        wipe_system_fields(meta)
        bare = {"metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}
        applied = apply_configuration(kind, bare, configuration, manager, force=True, time=self._time(), hidden=hidden)
        obj: Obj = orjson.loads(orjson.dumps(applied.obj))
        return self._insert(kind, obj, options, unknown, lambda _: applied.managed_fields)

    def _replace(
        self,
        kind: Kind,
        old: Version,
        obj: Obj,
        subresource: str,
        options: WriteOptions,
        unknown: Warnings,
        managed_fields: ManagedFields | None = None,
    ) -> Written:
        _refuse_stale(kind, old, obj["metadata"].get("resourceVersion", ""))
        new = self._confined(kind, old.obj, obj, subresource)
        meta = new["metadata"]
        keep_system_fields(meta, old.obj["metadata"])
        drop_empty_metadata(meta)
        admission.fill_defaults(kind, new, subresource)
        admission.check(kind, new, old.obj, subresource)
        if not subresource and has_generation(kind) and _is_respecified(new, old.obj):
            meta["generation"] = old.obj["metadata"].get("generation", 0) + 1
        if managed_fields is None:
            manager = Manager(options.manager, "Update", kind.api_version, subresource)
            managed_fields = after_update(kind, old.obj, new, manager, self._time())
        warnings = (*unknown, *admission.warnings_about(new, old.obj))
        meta["managedFields"] = managed_fields
        meta["resourceVersion"] = old.obj["metadata"]["resourceVersion"]
        if _is_unchanged(new, old.obj):
            return Written(old, warnings=warnings)
        if _is_finished(kind, new):
            return Written(self._finish(kind, old, new, options), warnings=warnings)
        return Written(self._put(self.collection(kind), old.key, new, options), warnings=warnings)

    def _confined(self, kind: Kind, old: Obj, obj: Obj, subresource: str) -> Obj:
        """Return the object with everything that this endpoint may not write taken from the stored one."""
        if subresource == "status":
            if not is_builtin(kind):
                kept = {**old, "metadata": {**old["metadata"]}}
                if "managedFields" in obj["metadata"]:
                    kept["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
            else:
                kept = {**old, "metadata": obj["metadata"]}
            kept.pop("status", None)
            return _with_head(kind, {**kept, "status": obj["status"]} if "status" in obj else kept)
        if subresource == "finalize":
            return _with_head(kind, {**old, "metadata": {**old["metadata"]}, "spec": obj.get("spec") or {}})
        if kind.has_status and subresource != "binding":
            obj.pop("status", None)
            if "status" in old:
                obj["status"] = old["status"]
        if namespaces.is_namespace(kind):
            namespaces.keep_open(obj, old)
        return _with_head(kind, obj)

    # Pods

    def bind(self, kind: Kind, name: str, namespace: str, binding: Obj, options: WriteOptions = _DEFAULT) -> Written:
        """Assign a pod to a node, as the scheduler does."""
        old = self.version(kind, (namespace, name))
        obj = pods.bound(kind, old.obj, binding, self._time())
        fresh: Obj = orjson.loads(orjson.dumps(obj))
        return self._replace(kind, old, fresh, "binding", options, [])

    # Deleting

    def delete(self, kind: Kind, name: str, namespace: str = "", options: DeleteOptions | None = None) -> Deletion:
        """Delete an object, or mark it as being deleted while finalizers or its grace period hold it."""
        options = options or DeleteOptions()
        old = self.version(kind, (namespace, name))
        marked = plan_deletion(kind, old, options, self.clock.now())
        if marked is None:
            if options.dry_run:
                return Deletion(old, is_gone=True)
            last = {**old.obj, "metadata": {**old.obj["metadata"]}}
            return Deletion(self.ledger.remove(self.collection(kind), old.key, last), is_gone=True)
        if marked is old.obj or options.dry_run:
            return Deletion(old if marked is old.obj else _unstored(old, marked), is_gone=False)
        return Deletion(self.ledger.put(self.collection(kind), old.key, marked), is_gone=False)

    def _finish(self, kind: Kind, old: Version, last: Obj, options: WriteOptions) -> Version:
        shown = _unstored(old, last)
        if not options.dry_run:
            self.ledger.remove(self.collection(kind), old.key, {**last, "metadata": {**last["metadata"]}})
        return shown

    # Storing

    def _put(self, collection: Collection, key: Key, obj: Obj, options: WriteOptions) -> Version:
        if options.dry_run:
            return Version(key, obj, self.ledger.revision, orjson.dumps(obj))
        return self.ledger.put(collection, key, obj)

    def _time(self) -> str:
        return rfc3339(self.clock.now())


def _unstored(old: Version, obj: Obj) -> Version:
    return Version(old.key, obj, old.revision, orjson.dumps(obj))


def _with_head(kind: Kind, obj: Obj) -> Obj:
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return {**head, **{key: value for key, value in obj.items() if key not in head}}


def _generated_name(prefix: str) -> str:
    return prefix[:_MAX_GENERATED_PREFIX] + "".join(secrets.choice(_NAME_ALPHABET) for _ in range(5))


def _hidden_from_apply(kind: Kind, subresource: str) -> tuple[str, ...]:
    if subresource == "status":
        return ("spec",) if is_builtin(kind) else ("spec", "metadata")
    return ("status",) if kind.has_status else ()


def _refuse_other_name(found: str, name: str) -> None:
    if found != name:
        raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


def _refuse_other_uid(kind: Kind, old: Version, meta: Obj) -> None:
    uid, stored = meta.get("uid"), old.obj["metadata"]["uid"]
    if uid and uid != stored:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
        raise conflict(kind, old.key[1], why)


def _refuse_stale(kind: Kind, old: Version, asked: str) -> None:
    if not asked or asked == "0":
        return
    if not asked.isdecimal():
        raise ApiError(500, "", f'strconv.ParseUint: parsing "{asked}": invalid syntax')
    if int(asked) != old.revision:
        raise conflict(kind, old.key[1], MODIFIED)


_UNSPECIFIED = ("metadata", "status", "apiVersion", "kind")


def _is_respecified(new: Obj, old: Obj) -> bool:
    """Tell whether anything but metadata and status changed, which is what a generation counts."""
    keys = (new.keys() | old.keys()) - set(_UNSPECIFIED)
    return any(new.get(key) != old.get(key) for key in keys)


def _is_unchanged(new: Obj, old: Obj) -> bool:
    if any(new.get(key) != old.get(key) for key in new.keys() | old.keys() if key != "metadata"):
        return False
    left, right = new["metadata"], old["metadata"]
    if any(left.get(key) != right.get(key) for key in left.keys() | right.keys() if key != "managedFields"):
        return False
    return are_same_but_times(left.get("managedFields", []), right.get("managedFields", []))


def _is_finished(kind: Kind, obj: Obj) -> bool:
    """Tell whether nothing holds a deleted object any more."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        return False
    if namespaces.is_namespace(kind):
        return not obj.get("spec", {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")
