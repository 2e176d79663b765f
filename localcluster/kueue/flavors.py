"""Kueue's controller of ResourceFlavors: a deleted one goes when no ClusterQueue uses it any more."""

from typing import Final

from config.names import KUEUE_GROUP
from engine.objects.activity import flavor_names
from localcluster.kueue.following import ObjectChange
from localcluster.kueue.owners import without_finalizer
from localcluster.kueue.writing import Writer
from localcluster.store.store import Store


class Flavors:
    """Lets flavors go."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._kind: Final = store.kind("resourceflavors", KUEUE_GROUP)
        self._flavors: Final = store.collection(self._kind)
        self._cluster_queues: Final = store.collection(store.kind("clusterqueues", KUEUE_GROUP))
        self._writer = writer
        self._leaving: set[str] = set()
        self._is_due = False

    def observe(self, change: ObjectChange) -> None:
        """Note which flavors are to go, and when one may no longer be used."""
        if change.kind == "ResourceFlavor":
            if change.new is not None and "deletionTimestamp" in change.new["metadata"]:
                self._leaving.add(change.key.name)
            else:
                self._leaving.discard(change.key.name)
            self._is_due = bool(self._leaving)
        elif change.kind == "ClusterQueue" and change.respecifies:
            self._is_due = bool(self._leaving)

    def work(self, _now_ns: int) -> bool:
        """Release the flavors that are not used; return whether there were any."""
        if not self._is_due:
            return False
        self._is_due = False
        used = {name for queue in self._cluster_queues.scan() for name in flavor_names(queue.obj["spec"])}
        return sum(self._let_go(name) for name in sorted(self._leaving - used)) > 0

    def _let_go(self, name: str) -> bool:
        found = self._flavors.get(("", name))
        patch = None if found is None else without_finalizer(found.obj)
        return found is not None and patch is not None and self._writer.patch(self._kind, found.obj, patch)
