"""What we know of one kind on one cluster: by name, by index, and never older than what we wrote ourselves.

Three sources feed it: lists, watch events, and the answers to our own writes. Versions of one object are ordered by
their resourceVersion where both are decimal, as Kubernetes promises; where they are not, the watch is believed.
Invariants: an entry never goes back to a version before one that it has shown, unless a list proves that the cluster's
history was rewritten; an object that we deleted does not come back until the cluster itself says so in a list that
began later; an object that cannot be read is there as `Unreadable`, so that it is never mistaken for an absent one.
While `synced` is false, absence means nothing.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from config.api.meta import ObjectKey
from workerclient.wire.codec import Identity

Value = TypeVar("Value")
Index = Callable[[Value], Iterable[Hashable]]
"""Which places of an index a value belongs to."""

_MAX_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that exists but whose content cannot be read."""

    identity: Identity
    problem: str


@dataclass(frozen=True, slots=True)
class _Entry(Generic[Value]):
    identity: Identity
    version: int | None
    value: Value | Unreadable


@dataclass(frozen=True, slots=True)
class _Tombstone:
    """The last incarnation of a name that we deleted ourselves, and the version in which we knew it."""

    uid: str
    version: int | None

    def covers(self, identity: Identity, version: int | None) -> bool:
        """Return whether this is old news: of that incarnation, or of one before it."""
        return identity.uid == self.uid or not _is_newer(version, self.version)


class Cache(Generic[Value]):
    """The indexed store of one kind."""

    def __init__(self, indexes: Mapping[str, Index[Value]] | None = None) -> None:
        self._entries: dict[ObjectKey, _Entry[Value]] = {}
        self._indexers = dict(indexes or {})
        self._indexed: dict[str, dict[Hashable, dict[ObjectKey, None]]] = {name: {} for name in self._indexers}
        self._deleted: dict[ObjectKey, _Tombstone] = {}
        self._progress: int | None = None
        self._answered: int | None = None
        """The newest version that the cluster gave to a write of ours."""
        self.synced = False
        """Whether the content is complete; only then does absence mean anything."""

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._entries)

    def get(self, key: ObjectKey) -> Value | Unreadable | None:
        """Return the object of that name, None if there is none (which means something only while `synced`)."""
        entry = self._entries.get(key)
        return entry.value if entry else None

    def identity(self, key: ObjectKey) -> Identity | None:
        """Return which incarnation and version of the object is known: the precondition for writing to it."""
        entry = self._entries.get(key)
        return entry.identity if entry else None

    def holds(self, identity: Identity) -> bool:
        """Return whether exactly this version is known, so that reading it once more would show nothing new."""
        entry = self._entries.get(identity.key)
        return entry is not None and entry.version is not None and entry.identity == identity

    def keys_in(self, index: str, place: Hashable) -> Collection[ObjectKey]:
        """Return the names of the objects in one place of an index."""
        found = self._indexed[index].get(place)
        return dict(found).keys() if found else ()

    def unreadable(self) -> list[Unreadable]:
        """Return the objects that exist but cannot be read."""
        return [entry.value for entry in self._entries.values() if isinstance(entry.value, Unreadable)]

    # --- what a watch says

    def observe(self, identity: Identity, value: Value | Unreadable) -> bool:
        """Take a version that the cluster reported and return whether that was news."""
        version = version_number(identity.resource_version)
        self._advance(version)
        return self._accept(identity, version, value)

    def observe_deletion(self, identity: Identity) -> bool:
        """Take the end of an object that the cluster reported and return whether that was news."""
        version = version_number(identity.resource_version)
        self._advance(version)
        tombstone = self._deleted.get(identity.key)
        if tombstone is not None and tombstone.uid == identity.uid:
            del self._deleted[identity.key]
        entry = self._entries.get(identity.key)
        if entry is None or entry.identity.uid != identity.uid:
            return False  # another incarnation of that name lives
        if _is_after(entry.version, version):
            return False  # it left the selector for a while, and our own newer write brought it back
        self._remove(identity.key)
        return True

    def observe_progress(self, resource_version: str) -> None:
        """Take the news that everything up to this version was reported."""
        self._advance(version_number(resource_version))

    # --- what our own requests returned

    def wrote(self, identity: Identity, value: Value | Unreadable) -> None:
        """Take the answer to our own write, unless the watch is past it and so reported all, even a deletion since."""
        version = version_number(identity.resource_version)
        if _is_newer(version, self._progress):
            self._accept(identity, version, value)
        if version is not None and _is_newer(version, self._answered):
            self._answered = version

    def deleted(self, key: ObjectKey, uid: str) -> None:
        """Take the news that our own delete ended that incarnation of the object."""
        entry = self._entries.get(key)
        if entry is None or entry.identity.uid != uid:
            return
        self._deleted[key] = _Tombstone(uid, entry.version)
        self._remove(key)

    # --- what a list says

    def begin_list(self) -> "CacheRefill[Value]":
        """Start a list; what is written or deleted from now on may or may not be in it."""
        return CacheRefill(self, dict(self._deleted))

    @property
    def newest(self) -> int:
        """Return the newest version that the cluster told us of: a list that is asked for now must show it."""
        return max(self._progress or 0, self._answered or 0)

    def is_behind(self, resource_version: str) -> bool:
        """Return whether that version lies before what the cluster has reported already."""
        version = version_number(resource_version)
        return version is not None and self._progress is not None and version < self._progress

    def start_new_history(self, up_to: int | None = None) -> None:
        """Let any version replace what is there: the cluster was restored or replaced, and its history is another.

        With `up_to`, only what is known up to that version is of the old history; what we wrote since stays.
        """
        self._progress = self._answered = None
        self._deleted.clear()
        self._entries = {
            key: entry if _is_after(entry.version, up_to) else _Entry(entry.identity, None, entry.value)
            for key, entry in self._entries.items()
        }

    def _is_contradicted(self, identity: Identity, version: int | None, list_version: int | None) -> bool:
        """Return whether a list shows an object as it was before a version that the list must know of."""
        entry = self._entries.get(identity.key)
        if entry is None or entry.version is None or version is None or list_version is None:
            return False
        is_older = version < entry.version or (version == entry.version and identity.uid != entry.identity.uid)
        return is_older and entry.version <= list_version

    def _finish_list(self, seen: Collection[ObjectKey], version: int | None) -> list[ObjectKey]:
        gone = [
            key for key, entry in self._entries.items() if key not in seen and not _is_after(entry.version, version)
        ]
        for key in gone:
            self._remove(key)
        self._advance(version)
        self.synced = True
        return gone

    # --- the store itself

    def _advance(self, version: int | None) -> None:
        if version is not None and _is_newer(version, self._progress):
            self._progress = version

    def _accept(self, identity: Identity, version: int | None, value: Value | Unreadable) -> bool:
        tombstone = self._deleted.get(identity.key)
        if tombstone is not None:
            if tombstone.covers(identity, version):
                return False
            del self._deleted[identity.key]
        entry = self._entries.get(identity.key)
        if entry is not None and not _is_newer(version, entry.version):
            return False
        self._store(_Entry(identity, version, value))
        return True

    def _store(self, entry: _Entry[Value]) -> None:
        key = entry.identity.key
        self._unindex(key)
        self._entries[key] = entry
        if isinstance(entry.value, Unreadable):
            return
        for name, indexer in self._indexers.items():
            places = self._indexed[name]
            for place in indexer(entry.value):
                places.setdefault(place, {})[key] = None

    def _remove(self, key: ObjectKey) -> None:
        self._unindex(key)
        del self._entries[key]

    def _unindex(self, key: ObjectKey) -> None:
        entry = self._entries.get(key)
        if entry is None or isinstance(entry.value, Unreadable):
            return
        for name, indexer in self._indexers.items():
            places = self._indexed[name]
            for place in indexer(entry.value):
                keys = places[place]
                keys.pop(key, None)
                if not keys:
                    del places[place]


class CacheRefill(Generic[Value]):
    """A list on its way into a cache, chunk by chunk; what it does not hold is removed at the end."""

    def __init__(self, cache: Cache[Value], judged: Mapping[ObjectKey, _Tombstone]) -> None:
        self._cache = cache
        self._judged = judged
        """What we deleted before the list began. The list decides about it: it may still wait for a finalizer."""
        self._seen: set[ObjectKey] = set()
        self._version: int | None = None
        self.has_new_history = False
        """Whether the list proved that the cluster's history was rewritten, as restoring a backup does."""

    def date(self, resource_version: str) -> None:
        """Take the version of which the list shows everything; before the first item."""
        self._version = version_number(resource_version)

    def add(self, identity: Identity, value: Value | Unreadable) -> bool:
        """Take one item and return whether it was news."""
        self._seen.add(identity.key)
        self._forget_if_judged(identity.key)
        version = version_number(identity.resource_version)
        if self._cache._is_contradicted(identity, version, self._version):
            self._cache.start_new_history(self._version)
            self.has_new_history = True
        return self._cache._accept(identity, version, value)

    def finish(self, resource_version: str) -> list[ObjectKey]:
        """Remove what the list did not hold and return the names of that."""
        for key in self._judged:
            self._forget_if_judged(key)
        return self._cache._finish_list(self._seen, version_number(resource_version))

    def _forget_if_judged(self, key: ObjectKey) -> None:
        tombstone = self._cache._deleted.get(key)
        if tombstone is not None and tombstone is self._judged.get(key):
            del self._cache._deleted[key]


def version_number(resource_version: str) -> int | None:
    """Return a resourceVersion as a number that can be compared, or None when it is not decimal."""
    if len(resource_version) > _MAX_DIGITS or not (resource_version.isascii() and resource_version.isdigit()):
        return None
    return int(resource_version)


def _is_newer(version: int | None, known: int | None) -> bool:
    return version is None or known is None or version > known


def _is_after(version: int | None, list_version: int | None) -> bool:
    return version is not None and list_version is not None and version > list_version
