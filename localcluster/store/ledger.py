"""Versions of objects and the changes between them, for one cluster.

Pure and synchronous, and ignorant of what objects mean. Invariants: a revision is given out once and only grows; an
object is encoded once per version, and list and watch pass on those bytes; a stored object is never changed in place.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import orjson

from config.api.meta import Obj
from localcluster.kinds.api_errors import qualified
from localcluster.kinds.kinds import ServedKind

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name: unique within a kind, and the order of lists."""


class ChangeType(StrEnum):
    """What happened to an object, in the words of a watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one object, with its encoding. The object is shared: copy before changing."""

    key: Key
    obj: Obj
    revision: int
    encoded: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a kind's history. For a deletion `new` is the last state, stamped with the deletion's revision."""

    type: ChangeType
    new: Version
    old: Version | None

    @property
    def revision(self) -> int:
        """Return the revision that the change created."""
        return self.new.revision


def collection_id(kind: ServedKind) -> str:
    """Return the key of a kind's collection; versions of one resource are kept apart."""
    return f"{qualified(kind.plural, kind.group)}/{kind.version}"


Listener = Callable[[Change], None]


class Collection:
    """All objects of one kind, their order, and the most recent changes."""

    def __init__(self, kind: ServedKind, history: int) -> None:
        self.kind = kind
        self.id = collection_id(kind)
        self.forgotten = 0
        """Changes up to this revision can no longer be watched."""
        self._objects: dict[str, dict[str, Version]] = {}
        self._order: dict[str, list[str]] = {}
        self._namespaces: list[str] = []
        self._history: deque[Change] = deque()
        self._history_limit = history
        self._listeners: list[Listener] = []
        self.mirrors: list[Collection] = []
        """Collections that show these objects in another spelling."""

    def get(self, key: Key) -> Version | None:
        """Return the current version, if the object exists."""
        return self._objects.get(key[0], {}).get(key[1])

    def __getitem__(self, key: Key) -> Version:
        """Return the current version of an object that is known to exist."""
        return self._objects[key[0]][key[1]]

    def count(self, namespace: str | None = None) -> int:
        """Return how many objects there are, in one namespace or in all."""
        if namespace is not None:
            return len(self._objects.get(namespace, ()))
        return sum(map(len, self._objects.values()))

    def scan(self, namespace: str | None = None, after: Key | None = None) -> Iterator[Version]:
        """Yield versions in key order, in one namespace or in all, beginning behind a key."""
        if namespace is not None:
            yield from self._scan_namespace(namespace, after[1] if after else "")
            return
        for each in list(self._namespaces):
            if after is None or each > after[0]:
                yield from self._scan_namespace(each, "")
            elif each == after[0]:
                yield from self._scan_namespace(each, after[1])

    def _scan_namespace(self, namespace: str, after: str) -> Iterator[Version]:
        order = self._order.get(namespace)
        if order is None:
            return
        objects = self._objects[namespace]
        for name in order[bisect_right(order, after) :] if after else list(order):
            yield objects[name]

    def changes_since(self, revision: int) -> list[Change]:
        """Return the remembered changes after a revision, oldest first."""
        found: list[Change] = []
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found

    def as_of(self, revision: int, namespace: str | None) -> list[Version]:
        """Return the state at an older revision that is still remembered, in key order."""
        state = {version.key: version for version in self.scan(namespace)}
        for change in reversed(self.changes_since(revision)):
            key = change.new.key
            if namespace is not None and key[0] != namespace:
                continue
            if change.old is None:
                state.pop(key, None)
            else:
                state[key] = change.old
        return [state[key] for key in sorted(state)]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call back on every change, in order and synchronously; return how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def forget_history(self, revision: int) -> None:
        """Lose the remembered changes, as a restarted server does."""
        self._history.clear()
        self.forgotten = revision

    def commit(self, change: Change) -> None:
        """Commit the change and notify all watchers."""
        namespace, name = change.new.key
        if change.type is ChangeType.DELETED:
            self.remove(namespace, name)
        else:
            self.place(namespace, name, change.new)
        self._history.append(change)
        if len(self._history) > self._history_limit:
            self.forgotten = self._history.popleft().revision
        for listener in tuple(self._listeners):
            listener(change)

    def place(self, namespace: str, name: str, version: Version) -> None:
        """Hold a version without notifying watchers, as a restored backup does."""
        objects = self._objects.get(namespace)
        if objects is None:
            objects = self._objects[namespace] = {}
            self._order[namespace] = []
            insort(self._namespaces, namespace)
        if name not in objects:
            insort(self._order[namespace], name)
        objects[name] = version

    def remove(self, namespace: str, name: str) -> None:
        """Hold an object no longer, without notifying watchers."""
        objects, order = self._objects[namespace], self._order[namespace]
        del objects[name]
        del order[bisect_right(order, name) - 1]
        if not objects:
            del self._objects[namespace], self._order[namespace]
            self._namespaces.remove(namespace)


class RevisionLedger:
    """The revision counter of a cluster and its collections."""

    def __init__(self, kinds: tuple[ServedKind, ...], history: int) -> None:
        self.revision = 0
        self.collections = {collection_id(kind): Collection(kind, history) for kind in kinds}
        self._listeners: list[Callable[[Collection, Change], None]] = []
        for collection in self.collections.values():
            stored = self._stored(collection)
            if stored is not collection:
                stored.mirrors.append(collection)

    def _stored(self, collection: Collection) -> Collection:
        """Return the collection that keeps the objects: another one when the kind is only a second spelling."""
        alias = collection.kind.alias
        if alias is None:
            return collection
        return self.collections[f"{qualified(alias.plural, alias.group)}/{alias.version}"]

    def listen(self, listener: Callable[[Collection, Change], None]) -> Callable[[], None]:
        """Call back on every change of every kind; return how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def put(self, collection: Collection, key: Key, obj: Obj) -> Version:
        """Store a new version; the object belongs to the ledger from now on."""
        if (alias := collection.kind.alias) is not None:
            self.put(self._stored(collection), key, alias.to_stored(obj))
            return collection[key]
        old = collection.get(key)
        change_type = ChangeType.ADDED if old is None else ChangeType.MODIFIED
        return self._commit(collection, change_type, key, obj, old)

    def remove(self, collection: Collection, key: Key, last: Obj) -> Version:
        """Remove an object; watchers see `last`, stamped with the revision of the deletion."""
        if (alias := collection.kind.alias) is not None:
            return self.remove(self._stored(collection), key, alias.to_stored(last))
        return self._commit(collection, ChangeType.DELETED, key, last, collection.get(key))

    def _commit(self, collection: Collection, type_: ChangeType, key: Key, obj: Obj, old: Version | None) -> Version:
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        version = Version(key, obj, self.revision, orjson.dumps(obj))
        change = Change(type_, version, old)
        collection.commit(change)
        for mirror in collection.mirrors:
            mirror.commit(_mirrored(mirror, change))
        for listener in tuple(self._listeners):
            listener(collection, change)
        return version

    def forget_history(self) -> None:
        """Lose all remembered changes."""
        for collection in self.collections.values():
            collection.forget_history(self.revision)


def _mirrored(mirror: Collection, change: Change) -> Change:
    alias = mirror.kind.alias
    obj = alias.from_stored(change.new.obj) if alias is not None else change.new.obj
    version = Version(change.new.key, obj, change.revision, orjson.dumps(obj))
    return Change(change.type, version, mirror.get(change.new.key))
