"""What every write has to respect: names, uids and versions that fit, and when an object has changed or is finished."""

import secrets

import orjson

from config.api.meta import Obj
from localcluster.kinds.api_errors import MODIFIED, ApiError, bad_request, conflict
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.traits import is_builtin
from localcluster.store import namespaces
from localcluster.store.ledger import Version
from localcluster.store.ownership import are_same_but_times

_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_MAX_GENERATED_PREFIX = 58


def unstored(old: Version, obj: Obj) -> Version:
    """Return a version that only the caller will see."""
    return Version(old.key, obj, old.revision, orjson.dumps(obj))


def with_head(kind: ServedKind, obj: Obj) -> Obj:
    """Return the object with its kind and version first, as everyone expects to read them."""
    head = {"apiVersion": kind.api_version, "kind": kind.kind}
    return {**head, **{key: value for key, value in obj.items() if key not in head}}


def generated_name(prefix: str) -> str:
    """Return a name that begins with the prefix and ends with five random letters."""
    return prefix[:_MAX_GENERATED_PREFIX] + "".join(secrets.choice(_NAME_ALPHABET) for _ in range(5))


def hidden_from_apply(kind: ServedKind, subresource: str) -> tuple[str, ...]:
    """Return the top-level fields that an applied configuration cannot own at this endpoint."""
    if subresource == "status":
        return ("spec",) if is_builtin(kind) else ("spec", "metadata")
    return ("status",) if kind.has_status else ()


def refuse_other_name(found: str, name: str) -> None:
    """Refuse an object whose name is not the one in the path."""
    if found != name:
        raise bad_request(f"the name of the object ({found}) does not match the name on the URL ({name})")


def refuse_other_uid(kind: ServedKind, old: Version, meta: Obj) -> None:
    """Refuse to replace an object that is no longer the one the client knew."""
    uid, stored = meta.get("uid"), old.obj["metadata"]["uid"]
    if uid and uid != stored:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored}"
        raise conflict(kind, old.key[1], why)


def refuse_stale(kind: ServedKind, old: Version, asked: str) -> None:
    """Refuse a write that was decided on another version."""
    if not asked or asked == "0":
        return
    if not asked.isdecimal():
        raise ApiError(500, "", f'strconv.ParseUint: parsing "{asked}": invalid syntax')
    if int(asked) != old.revision:
        raise conflict(kind, old.key[1], MODIFIED)


_UNSPECIFIED = ("metadata", "status", "apiVersion", "kind")


def is_respecified(new: Obj, old: Obj) -> bool:
    """Return whether anything but metadata and status changed, which is what a generation counts."""
    keys = (new.keys() | old.keys()) - set(_UNSPECIFIED)
    return any(new.get(key) != old.get(key) for key in keys)


def is_unchanged(new: Obj, old: Obj) -> bool:
    """Return whether a write would change nothing but times of ownership."""
    if any(new.get(key) != old.get(key) for key in new.keys() | old.keys() if key != "metadata"):
        return False
    left, right = new["metadata"], old["metadata"]
    if any(left.get(key) != right.get(key) for key in left.keys() | right.keys() if key != "managedFields"):
        return False
    return are_same_but_times(left.get("managedFields", []), right.get("managedFields", []))


def is_finished(kind: ServedKind, obj: Obj) -> bool:
    """Return whether nothing holds a deleted object any more."""
    meta = obj["metadata"]
    if not meta.get("deletionTimestamp") or meta.get("finalizers"):
        return False
    if namespaces.is_namespace(kind):
        return not obj.get("spec", {}).get("finalizers")
    return not meta.get("deletionGracePeriodSeconds")


def confined(kind: ServedKind, old: Obj, obj: Obj, subresource: str) -> Obj:
    """Return the object with everything that this endpoint may not write taken from the stored one."""
    if subresource == "status":
        if not is_builtin(kind):
            kept = {**old, "metadata": {**old["metadata"]}}
            if "managedFields" in obj["metadata"]:
                kept["metadata"]["managedFields"] = obj["metadata"]["managedFields"]
        else:
            kept = {**old, "metadata": obj["metadata"]}
        kept.pop("status", None)
        return with_head(kind, {**kept, "status": obj["status"]} if "status" in obj else kept)
    if subresource == "finalize":
        return with_head(kind, {**old, "metadata": {**old["metadata"]}, "spec": obj.get("spec") or {}})
    if kind.has_status and subresource != "binding":
        obj.pop("status", None)
        if "status" in old:
            obj["status"] = old["status"]
    if namespaces.is_namespace(kind):
        namespaces.keep_open(obj, old)
    return with_head(kind, obj)
