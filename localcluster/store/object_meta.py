"""Object metadata as the server handles it: shapes that can be decoded, and fields that only the server may set.

The same for every kind, so kinds do not describe it; METADATA is the schema that pruning and field ownership use.
"""

from collections.abc import Callable

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, bad_request, quoted
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.schema import Schema
from localcluster.kinds.traits import is_builtin

_STRING = Schema("string")
_STRINGS = Schema("object", values=_STRING)

METADATA = Schema(
    "object",
    properties={
        "name": _STRING,
        "generateName": _STRING,
        "namespace": _STRING,
        "selfLink": _STRING,
        "uid": _STRING,
        "resourceVersion": _STRING,
        "generation": Schema("integer"),
        "creationTimestamp": Schema("string", nullable=True),
        "deletionTimestamp": Schema("string", nullable=True),
        "deletionGracePeriodSeconds": Schema("integer", nullable=True),
        "labels": _STRINGS,
        "annotations": _STRINGS,
        "ownerReferences": Schema(
            "array",
            list_type="map",
            list_keys=("uid",),
            items=Schema(
                "object",
                properties={
                    "apiVersion": _STRING,
                    "kind": _STRING,
                    "name": _STRING,
                    "uid": _STRING,
                    "controller": Schema("boolean"),
                    "blockOwnerDeletion": Schema("boolean"),
                },
            ),
        ),
        "finalizers": Schema("array", list_type="set", items=_STRING),
        "managedFields": Schema("array", items=Schema("object", preserve_unknown=True)),
    },
)

_SYSTEM_FIELDS = ("uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "selfLink")
_KEPT_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")

BUILTIN_FINALIZERS = frozenset({"foregroundDeletion", "orphan", "kubernetes"})


def metadata_of(kind: ServedKind, obj: Obj) -> Obj:
    """Return the object's metadata, made if absent; refuse shapes that Go could not decode."""
    meta = obj.get("metadata")
    if meta is None:
        meta = obj["metadata"] = {}
    if not isinstance(meta, dict):
        raise _undecodable(kind, meta, "metadata of type v1.ObjectMeta")
    for field, value in list(meta.items()):
        fits, go_type = _SHAPES.get(field, _ANY_SHAPE)
        if value is None:
            del meta[field]
        elif not fits(value):
            parent = "ObjectMeta.metadata" if is_builtin(kind) else "ObjectMeta"
            raise _undecodable(kind, value, f"{parent}.{field} of type {go_type}")
    return meta


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_string_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_string_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_object_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_anything(_value: object) -> bool:
    return True


_ANY_SHAPE = (_is_anything, "any")
_TEXTS = ("name", "generateName", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
_SHAPES: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(_TEXTS, (_is_string, "string")),
    "labels": (_is_string_map, "string"),
    "annotations": (_is_string_map, "string"),
    "finalizers": (_is_string_list, "string"),
    "ownerReferences": (_is_object_list, "v1.OwnerReference"),
    "managedFields": (_is_object_list, "v1.ManagedFieldsEntry"),
    "generation": (_is_integer, "int64"),
    "deletionGracePeriodSeconds": (_is_integer, "int64"),
}


def _undecodable(kind: ServedKind, value: object, target: str) -> ApiError:
    found = {dict: "object", list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    if isinstance(value, dict | list):
        parts = list(value.values()) if isinstance(value, dict) else value
        odd = next((part for part in parts if not isinstance(part, str)), None)
        found = found if odd is None else {dict: "object", list: "array", bool: "bool"}.get(type(odd), "number")
    return bad_request(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        f"json: cannot unmarshal {found} into Go struct field {target}"
    )


def wipe_system_fields(meta: Obj) -> None:
    """Drop what only the server may say about a new object."""
    for field in _SYSTEM_FIELDS:
        meta.pop(field, None)
    meta.pop("deletionGracePeriodSeconds", None)


def keep_system_fields(meta: Obj, old: Obj) -> None:
    """Carry over what an update can neither set nor remove; a foreign uid stays for validation to refuse."""
    for field in _KEPT_FIELDS:
        if field == "uid" and meta.get("uid"):
            continue
        if field in old:
            meta[field] = old[field]
        else:
            meta.pop(field, None)


def settle_namespace(kind: ServedKind, meta: Obj, namespace: str) -> None:
    """Make the object's namespace the request's, or refuse when they differ."""
    expected = namespace if kind.namespaced else ""
    found = meta.get("namespace") or ""
    if found and found != expected:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if expected:
        meta["namespace"] = expected
    else:
        meta.pop("namespace", None)


def finalizer_warnings(meta: Obj) -> list[str]:
    """Return the server's advice about finalizers without a domain."""
    return [
        f"metadata.finalizers: {quoted(each)}: prefer a domain-qualified finalizer name to avoid accidental "
        "conflicts with other finalizer writers"
        for each in meta.get("finalizers", ())
        if "/" not in each and each not in BUILTIN_FINALIZERS
    ]


def drop_empty_metadata(meta: Obj) -> None:
    """Leave out empty maps and lists, as Go's omitempty does."""
    for field in ("labels", "annotations", "finalizers", "ownerReferences", "generateName"):
        if field in meta and not meta[field]:
            del meta[field]
