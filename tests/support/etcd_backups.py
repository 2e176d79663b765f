"""Backups of a local cluster's store, restored as etcd restores them: objects go back, with the versions they had.

The revision counter goes back with them, or with a bump goes on far beyond everything that was ever handed out, as
etcd's documentation advises. Watches break, and what happened before the restart can no longer be told.
"""

from copy import deepcopy
from dataclasses import dataclass, replace

from localcluster.cluster import LocalCluster
from localcluster.store.ledger import Version

BUMP = 1_000_000


@dataclass(frozen=True)
class Backup:
    """The objects of every kind at one moment."""

    revision: int
    versions: dict[str, list[Version]]


def take_backup(cluster: LocalCluster, *plurals: str) -> Backup:
    """Keep some kinds of objects as they are now."""
    collections = cluster.store.ledger.collections
    kept = {name: list(each.scan()) for name, each in collections.items() if each.kind.plural in plurals}
    return Backup(cluster.store.ledger.revision, deepcopy(kept))


def restore(cluster: LocalCluster, backup: Backup, *, bump: bool) -> None:
    """Put the objects back, without a word to anybody who watches."""
    ledger = cluster.store.ledger
    for name, versions in backup.versions.items():
        collection = ledger.collections[name]
        for key in [version.key for version in collection.scan()]:
            collection.remove(*key)
        for version in deepcopy(versions):
            collection.place(*version.key, version)
    ledger.revision = ledger.revision + BUMP if bump else backup.revision
    ledger.forget_history()
    cluster.drop_watches()


def become_another(cluster: LocalCluster, backup: Backup, uid: str) -> None:
    """Put another cluster behind the address: it holds what the backup held, and kube-system has another UID."""
    restore(cluster, backup, bump=True)
    change_uid(cluster, uid)


def change_uid(cluster: LocalCluster, uid: str) -> None:
    """Give kube-system another UID, while watches stay open."""
    collection = cluster.store.collection(cluster.store.kind("namespaces"))
    found = collection.get(("", "kube-system"))
    assert found is not None
    before = str(found.obj["metadata"]["uid"])
    obj = deepcopy(found.obj)
    obj["metadata"]["uid"] = uid
    encoded = found.encoded.replace(before.encode(), uid.encode())
    collection.remove(*found.key)
    collection.place(*found.key, replace(found, obj=obj, encoded=encoded))
