"""The objects of one cluster, with the semantics of the API server: versions, conflicts, finalizers, ownership.

Synchronous and complete in itself: the HTTP server is one user, a simulated controller in the same process another.
Objects passed in become the store's; objects handed out are shared and must be copied before they are changed.
"""

from collections.abc import Callable, Iterable

import orjson

from config.api.meta import Obj
from localcluster.kinds.api_errors import (
    ApiError,
    already_exists,
    bad_request,
    forbidden,
    invalid,
    not_found,
    qualified,
)
from localcluster.kinds.clock import ServerClock, rfc3339
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.structural import errors
from localcluster.kinds.traits import has_generation, is_created_by_put, needs_version_on_put
from localcluster.store import admission, namespaces, pods
from localcluster.store.apply import apply_configuration
from localcluster.store.creation import ManagedFields, complete, random_uid
from localcluster.store.deletion import DeleteOptions, Deletion, plan_deletion
from localcluster.store.ledger import Collection, Key, Listener, RevisionLedger, Version, collection_id
from localcluster.store.object_meta import (
    drop_empty_metadata,
    keep_system_fields,
    metadata_of,
    settle_namespace,
    wipe_system_fields,
)
from localcluster.store.ownership import Manager, after_update
from localcluster.store.selectors import EVERYTHING, Selector
from localcluster.store.write_options import WriteOptions, Written
from localcluster.store.write_rules import (
    confined,
    generated_name,
    hidden_from_apply,
    is_finished,
    is_respecified,
    is_unchanged,
    refuse_other_name,
    refuse_other_uid,
    refuse_stale,
    unstored,
    with_head,
)

Warnings = list[str]

HISTORY = 4096


_DEFAULT = WriteOptions()


class Store:
    """All kinds of one cluster."""

    def __init__(
        self,
        kinds: Iterable[ServedKind],
        clock: ServerClock,
        *,
        history: int = HISTORY,
        ids: Callable[[], str] = random_uid,
    ) -> None:
        self.clock = clock
        self._ids = ids
        self.ledger = RevisionLedger(tuple(kinds), history)
        self._namespaces = self.ledger.collections.get(namespaces.COLLECTION)

    # Reading

    def collection(self, kind: ServedKind) -> Collection:
        """Return all objects of a kind."""
        return self.ledger.collections[collection_id(kind)]

    def kind(self, plural: str, group: str = "") -> ServedKind:
        """Return a served kind by its resource name, in its preferred version, or raise KeyError."""
        for collection in self.ledger.collections.values():
            if (collection.kind.plural, collection.kind.group) == (plural, group):
                return collection.kind
        raise KeyError(qualified(plural, group))

    def get(self, kind: ServedKind, name: str, namespace: str = "") -> Obj:
        """Return an object, or raise the 404."""
        return self.version(kind, (namespace, name)).obj

    def version(self, kind: ServedKind, key: Key) -> Version:
        """Return the current version of an object, or raise the 404."""
        found = self.collection(kind).get(key)
        if found is None:
            raise not_found(kind, key[1])
        return found

    def list(self, kind: ServedKind, namespace: str | None = None, selector: Selector = EVERYTHING) -> list[Obj]:
        """Return the objects of a kind in key order."""
        found = (version.obj for version in self.collection(kind).scan(namespace))
        return [obj for obj in found if selector.matches(obj)] if selector else list(found)

    def subscribe(self, kind: ServedKind, listener: Listener) -> Callable[[], None]:
        """Call back on every change of a kind, in order; return how to stop."""
        return self.collection(kind).listen(listener)

    # Creating

    def create(self, kind: ServedKind, obj: Obj, namespace: str = "", options: WriteOptions = _DEFAULT) -> Written:
        """Create an object, giving it a name if it only has a prefix."""
        meta = metadata_of(kind, obj)
        if meta.get("resourceVersion"):
            raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
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
        kind: ServedKind,
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
            meta["name"] = generated_name(meta["generateName"])
        new = with_head(kind, obj)
        complete(kind, new, self._ids(), managed_fields, self._time())
        self._admit(kind, new, None)
        admission.check(kind, new, None)
        collection = self.collection(kind)
        key = (meta.get("namespace", ""), meta["name"])
        if (present := collection.get(key)) is not None:
            raise already_exists(kind, key[1], is_terminating="deletionTimestamp" in present.obj["metadata"])
        warnings = (*unknown, *admission.warnings_about(new, None))
        return Written(self._put(collection, key, new, options), created=True, warnings=warnings)

    def _admit(self, kind: ServedKind, new: Obj, old: Obj | None) -> None:
        """Refuse what the kind forbids because of other objects."""
        why = kind.admit(new, old, self._lookup)
        if why is not None:
            raise forbidden(kind, new["metadata"].get("name", ""), why)

    def _lookup(self, group: str, plural: str) -> Iterable[Obj]:
        return self.list(self.kind(plural, group))

    # Changing

    def update(
        self,
        kind: ServedKind,
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
        refuse_other_name(meta["name"], name)
        old = self.collection(kind).get((namespace, name))
        if old is None:
            if subresource or not is_created_by_put(kind):
                raise not_found(kind, name)
            return self.create(kind, obj, namespace, options)
        refuse_other_uid(kind, old, meta)
        if not meta.get("resourceVersion") and needs_version_on_put(kind):
            problem = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(kind.plural, kind.group, name, [problem])
        unknown = admission.prune_unknown(kind, obj, options.field_validation, subresource)
        return self._replace(kind, old, obj, subresource, options, unknown)

    def patch(
        self,
        kind: ServedKind,
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
        refuse_other_name(meta.get("name", name), name)
        settle_namespace(kind, meta, namespace)
        meta["name"] = name
        unknown = admission.prune_unknown(kind, obj, options.field_validation, subresource, patch=text or "")
        return self._replace(kind, old, obj, subresource, options, unknown)

    def apply(
        self,
        kind: ServedKind,
        configuration: Obj,
        name: str,
        namespace: str = "",
        *,
        subresource: str = "",
        options: WriteOptions = _DEFAULT,
    ) -> Written:
        """Merge an applied configuration, as server-side apply does; create the object if there is none."""
        meta = metadata_of(kind, configuration)
        refuse_other_name(meta.get("name", name), name)
        settle_namespace(kind, meta, namespace)
        meta["name"] = name
        if "managedFields" in meta:
            raise bad_request("metadata.managedFields must be nil")
        admission.refuse_undeclared(kind, configuration)
        manager = Manager(options.manager, "Apply", kind.api_version, subresource)
        hidden = hidden_from_apply(kind, subresource)
        old = self.collection(kind).get((namespace, name))
        if old is None:
            if subresource or meta.get("uid"):
                raise not_found(kind, name)
            return self._create_applied(kind, configuration, manager, hidden, options)
        applied = apply_configuration(
            kind, old.obj, configuration, manager, force=options.force, time=self._time(), hidden=hidden
        )
        obj: Obj = orjson.loads(orjson.dumps(applied.obj))
        if meta.get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = meta["resourceVersion"]
        if meta.get("uid"):
            obj["metadata"]["uid"] = meta["uid"]
        return self._replace(kind, old, obj, subresource, options, [], managed_fields=applied.managed_fields)

    def _create_applied(
        self,
        kind: ServedKind,
        configuration: Obj,
        manager: Manager,
        hidden: tuple[str, ...],
        options: WriteOptions,
    ) -> Written:
        meta = configuration["metadata"]
        wipe_system_fields(meta)
        bare = {"metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}
        applied = apply_configuration(kind, bare, configuration, manager, force=True, time=self._time(), hidden=hidden)
        obj: Obj = orjson.loads(orjson.dumps(applied.obj))
        return self._insert(kind, obj, options, [], lambda _: applied.managed_fields)

    def _replace(
        self,
        kind: ServedKind,
        old: Version,
        obj: Obj,
        subresource: str,
        options: WriteOptions,
        unknown: Warnings,
        managed_fields: ManagedFields | None = None,
    ) -> Written:
        refuse_stale(kind, old, obj["metadata"].get("resourceVersion", ""))
        new = confined(kind, old.obj, obj, subresource)
        meta = new["metadata"]
        keep_system_fields(meta, old.obj["metadata"])
        drop_empty_metadata(meta)
        admission.fill_defaults(kind, new, subresource)
        if not subresource:
            self._admit(kind, new, old.obj)
        admission.check(kind, new, old.obj, subresource)
        if not subresource and has_generation(kind) and is_respecified(new, old.obj):
            meta["generation"] = old.obj["metadata"].get("generation", 0) + 1
        if managed_fields is None:
            manager = Manager(options.manager, "Update", kind.api_version, subresource)
            managed_fields = after_update(kind, old.obj, new, manager, self._time())
        warnings = (*unknown, *admission.warnings_about(new, old.obj))
        if managed_fields:
            meta["managedFields"] = managed_fields
        else:
            meta.pop("managedFields", None)
        meta["resourceVersion"] = old.obj["metadata"]["resourceVersion"]
        if is_unchanged(new, old.obj):
            return Written(old, warnings=warnings)
        if is_finished(kind, new):
            return Written(self._finish(kind, old, new, options), warnings=warnings)
        return Written(self._put(self.collection(kind), old.key, new, options), warnings=warnings)

    # Pods

    def bind(
        self, kind: ServedKind, name: str, namespace: str, binding: Obj, options: WriteOptions = _DEFAULT
    ) -> Written:
        """Assign a pod to a node, as the scheduler does."""
        old = self.version(kind, (namespace, name))
        obj = pods.bound(kind, old.obj, binding, self._time())
        fresh: Obj = orjson.loads(orjson.dumps(obj))
        return self._replace(kind, old, fresh, "binding", options, [])

    # Deleting

    def delete(
        self, kind: ServedKind, name: str, namespace: str = "", options: DeleteOptions | None = None
    ) -> Deletion:
        """Delete an object, or mark it as being deleted while finalizers or its grace period hold it."""
        options = options or DeleteOptions()
        old = self.version(kind, (namespace, name))
        marked = plan_deletion(kind, old, options, self.clock.now())
        if marked is None:
            if options.dry_run:
                return Deletion(old, is_gone=True)
            last = {**old.obj, "metadata": {**old.obj["metadata"]}}
            if pods.is_pod(kind):
                last["metadata"] |= {"deletionTimestamp": self._time(), "deletionGracePeriodSeconds": 0}
            return Deletion(self.ledger.remove(self.collection(kind), old.key, last), is_gone=True)
        if marked is old.obj or options.dry_run:
            return Deletion(old if marked is old.obj else unstored(old, marked), is_gone=False)
        return Deletion(self.ledger.put(self.collection(kind), old.key, marked), is_gone=False)

    def _finish(self, kind: ServedKind, old: Version, last: Obj, options: WriteOptions) -> Version:
        shown = unstored(old, last)
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
