"""The garbage collector: deletes what deleted owners leave behind, and empties namespaces that are going away.

Level-triggered: a change only says which object to check again, the decision is made from the store as it is then.
Work waits until `run`, so that a client gets the answer to its deletion first, as from a real control plane.
"""

from collections.abc import Callable
from typing import Any

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.store import namespaces
from localcluster.store.deletion import FOREGROUND_FINALIZER, ORPHAN_FINALIZER, DeleteOptions, DeletionPropagation
from localcluster.store.ledger import Change, ChangeType, Collection, Key, Version
from localcluster.store.store import Store
from localcluster.store.write_options import WriteOptions

_Place = tuple[str, Key]
"""Where an object lives: its collection and its key."""

_OPTIONS = WriteOptions(manager="kube-controller-manager")


class OwnerGarbageCollector:
    """Follows a store; `wake` is called whenever there is work for `run`."""

    def __init__(self, store: Store, wake: Callable[[], None]) -> None:
        self._store = store
        self._wake = wake
        self._owned_by: dict[str, dict[_Place, None]] = {}
        self._alive: dict[str, _Place] = {}
        self._pending: dict[_Place, None] = {}
        self._emptying: dict[str, None] = {}
        self._served = {
            (collection.kind.group, collection.kind.kind) for collection in store.ledger.collections.values()
        }
        store.ledger.listen(self._observe)

    def run(self) -> None:
        """Check everything that is queued, and what that leads to, until there is nothing left to do."""
        while self._pending or self._emptying:
            if self._pending:
                place = next(iter(self._pending))
                del self._pending[place]
                self._examine(place)
            else:
                namespace = next(iter(self._emptying))
                del self._emptying[namespace]
                self._empty(namespace)

    # Observing

    def _observe(self, collection: Collection, change: Change) -> None:
        place = (collection.id, change.new.key)
        meta = change.new.obj["metadata"]
        before = _owner_uids(change.old.obj) if change.old else []
        if change.type is ChangeType.DELETED:
            self._forget(place, meta["uid"], before)
        else:
            self._alive[meta["uid"]] = place
            owners = _owner_uids(change.new.obj)
            if owners != before:
                self._index(place, before, owners)
            if (owners and owners != before) or (meta.get("deletionTimestamp") and _gc_finalizers(meta)):
                self._pending[place] = None
        if namespaces.is_namespace(collection.kind):
            if meta.get("deletionTimestamp") and change.type is not ChangeType.DELETED:
                self._emptying[meta["name"]] = None
        elif change.type is ChangeType.DELETED and self._is_terminating(change.new.key[0]):
            self._emptying[change.new.key[0]] = None
        if self._pending or self._emptying:
            self._wake()

    def _forget(self, place: _Place, uid: str, owners: list[str]) -> None:
        self._alive.pop(uid, None)
        self._index(place, owners, [])
        for dependent in self._owned_by.get(uid, ()):
            self._pending[dependent] = None
        for owner in owners:
            if owner in self._alive:
                self._pending[self._alive[owner]] = None

    def _index(self, place: _Place, before: list[str], after: list[str]) -> None:
        for uid in before:
            dependents = self._owned_by.get(uid)
            if dependents is not None:
                dependents.pop(place, None)
                if not dependents:
                    del self._owned_by[uid]
        for uid in after:
            self._owned_by.setdefault(uid, {})[place] = None

    def _is_terminating(self, namespace: str) -> bool:
        collection = self._store.ledger.collections.get(namespaces.COLLECTION)
        found = collection.get(("", namespace)) if collection else None
        return found is not None and bool(found.obj["metadata"].get("deletionTimestamp"))

    # Deciding

    def _examine(self, place: _Place) -> None:
        version = self._find(place)
        if version is None:
            return
        meta = version.obj["metadata"]
        finalizers = meta.get("finalizers", ()) if meta.get("deletionTimestamp") else ()
        if ORPHAN_FINALIZER in finalizers:
            self._orphan_dependents(place, meta["uid"])
        elif FOREGROUND_FINALIZER in finalizers:
            self._delete_dependents_first(place, meta["uid"])
        elif meta.get("ownerReferences") and not meta.get("deletionTimestamp"):
            self._judge(place, version)

    def _judge(self, place: _Place, version: Version) -> None:
        """Delete an object none of whose owners is left; drop references to those that are gone or going."""
        namespace = version.key[0]
        solid, gone, going = [], [], []
        for reference in version.obj["metadata"]["ownerReferences"]:
            owner = self._owner(reference, namespace)
            if owner is None:
                gone.append(reference)
            elif isinstance(owner, Version) and _is_going_first(owner):
                going.append(reference)
            else:
                solid.append(reference)
        if solid and (gone or going):
            self._change_metadata(place, lambda meta: {**meta, "ownerReferences": solid})
        elif not solid and (gone or going):
            uid = version.obj["metadata"]["uid"]
            blocks = going and self._owned_by.get(uid)
            self._delete(place, uid, DeletionPropagation.FOREGROUND if blocks else DeletionPropagation.BACKGROUND)

    def _owner(self, reference: Obj, namespace: str) -> "Version | bool | None":
        """Return the owner, None if it is gone, True if its kind is not served and nothing can be said."""
        group = reference["apiVersion"].rpartition("/")[0]
        if (group, reference["kind"]) not in self._served:
            return True
        place = self._alive.get(reference["uid"])
        if place is None or place[1][0] not in ("", namespace):
            return None
        return self._find(place)

    def _orphan_dependents(self, place: _Place, uid: str) -> None:
        for dependent in list(self._owned_by.get(uid, ())):
            self._change_metadata(dependent, lambda meta: _without_owner(meta, uid))
        self._drop_finalizer(place, ORPHAN_FINALIZER)

    def _delete_dependents_first(self, place: _Place, uid: str) -> None:
        blocking = False
        for dependent in list(self._owned_by.get(uid, ())):
            version = self._find(dependent)
            if version is None:
                continue
            if not version.obj["metadata"].get("deletionTimestamp"):
                self._judge(dependent, version)
            version = self._find(dependent)
            blocking = blocking or (version is not None and _blocks(version.obj, uid))
        if not blocking:
            self._drop_finalizer(place, FOREGROUND_FINALIZER)

    def _empty(self, namespace: str) -> None:
        if not self._is_terminating(namespace):
            return
        remaining = False
        for collection in self._store.ledger.collections.values():
            if not collection.kind.namespaced:
                continue
            for version in list(collection.scan(namespace)):
                meta = version.obj["metadata"]
                if not meta.get("deletionTimestamp"):
                    self._delete((collection.id, version.key), meta["uid"], DeletionPropagation.BACKGROUND)
            remaining = remaining or collection.count(namespace) > 0
        if not remaining:
            kind = self._store.kind(namespaces.NAMESPACES)
            self._store.patch(kind, namespace, _without_namespace_finalizer, subresource="finalize", options=_OPTIONS)

    # Acting

    def _find(self, place: _Place) -> Version | None:
        return self._store.ledger.collections[place[0]].get(place[1])

    def _kind(self, place: _Place) -> ServedKind:
        return self._store.ledger.collections[place[0]].kind

    def _delete(self, place: _Place, uid: str, propagation: DeletionPropagation) -> None:
        namespace, name = place[1]
        self._store.delete(self._kind(place), name, namespace, DeleteOptions(propagation, uid=uid))

    def _drop_finalizer(self, place: _Place, finalizer: str) -> None:
        self._change_metadata(
            place,
            lambda meta: {**meta, "finalizers": [each for each in meta.get("finalizers", []) if each != finalizer]},
        )

    def _change_metadata(self, place: _Place, change: Callable[[Obj], Obj]) -> None:
        namespace, name = place[1]

        def patched(obj: Obj) -> Any:
            return {**obj, "metadata": change(obj["metadata"])}

        self._store.patch(self._kind(place), name, patched, namespace, options=_OPTIONS)


def _owner_uids(obj: Obj) -> list[str]:
    return [reference.get("uid", "") for reference in obj["metadata"].get("ownerReferences", ())]


def _gc_finalizers(meta: Obj) -> bool:
    return any(each in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER) for each in meta.get("finalizers", ()))


def _is_going_first(owner: Version) -> bool:
    """Return whether the owner is in foreground deletion, which takes its dependents first."""
    meta = owner.obj["metadata"]
    return bool(meta.get("deletionTimestamp")) and FOREGROUND_FINALIZER in meta.get("finalizers", ())


def _blocks(obj: Obj, uid: str) -> bool:
    return any(
        reference.get("uid") == uid and reference.get("blockOwnerDeletion") is True
        for reference in obj["metadata"].get("ownerReferences", ())
    )


def _without_owner(meta: Obj, uid: str) -> Obj:
    kept = [reference for reference in meta.get("ownerReferences", []) if reference.get("uid") != uid]
    return {**meta, "ownerReferences": kept}


def _without_namespace_finalizer(obj: Obj) -> Obj:
    spec = obj.get("spec", {})
    kept = [each for each in spec.get("finalizers", []) if each != namespaces.FINALIZER]
    return {**obj, "spec": {**spec, "finalizers": kept}}
