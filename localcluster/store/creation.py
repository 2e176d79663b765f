"""What the server adds to a new object."""

import uuid
from collections.abc import Callable

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.traits import has_generation
from localcluster.store import admission, namespaces
from localcluster.store.object_meta import drop_empty_metadata

ManagedFields = list[Obj]


def random_uid() -> str:
    """Return a UID that no other object has."""
    return str(uuid.uuid4())


def complete(kind: ServedKind, new: Obj, uid: str, managed_fields: Callable[[Obj], ManagedFields], time: str) -> None:
    """Complete a new object. What the server adds after the defaults has no owner."""
    meta = new["metadata"]
    meta["uid"] = uid
    meta["creationTimestamp"] = time
    if has_generation(kind):
        meta["generation"] = 1
    if namespaces.is_namespace(kind):
        namespaces.label_namespace(new)
    admission.fill_defaults(kind, new)
    drop_empty_metadata(meta)
    if owners := managed_fields(new):
        meta["managedFields"] = owners
    if namespaces.is_namespace(kind):
        namespaces.open_namespace(new)
    if meta.get("name"):
        kind.prepare_create(new)
