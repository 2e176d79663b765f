"""Validation of `metadata`, the same for every kind but for the format of its names."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from config.api.meta import Obj
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.names import NameFormat, explain_label_key, explain_label_value, explain_name
from localcluster.kinds.schema import SchemaError
from localcluster.kinds.structural import errors

ANNOTATION_SIZE_LIMIT: Final = 256 * 1024
_URL_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_IMMUTABLE: Final = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def validate_metadata(kind: ServedKind, new: Obj, old: Obj | None = None) -> list[SchemaError]:
    """Return what is wrong with an object's metadata; names are expected to have been generated already."""
    metadata = new.get("metadata") or {}
    found = _check_identity(kind, metadata) if old is None else _check_update(metadata, old["metadata"])
    found.extend(check_labels(metadata.get("labels") or {}, "metadata.labels"))
    found.extend(check_annotations(metadata.get("annotations") or {}, "metadata.annotations"))
    found.extend(_check_owners(metadata.get("ownerReferences") or ()))
    if old is None:
        found.extend(_check_finalizers(metadata.get("finalizers") or []))
    return found


def check_labels(labels: Mapping[str, str], field: str) -> list[SchemaError]:
    """Return what is wrong with a map of labels."""
    found: list[SchemaError] = []
    for key, value in labels.items():
        found.extend(errors.invalid(field, key, problem) for problem in explain_label_key(key))
        found.extend(errors.invalid(field, value, problem) for problem in explain_label_value(value))
    return found


def check_annotations(annotations: Mapping[str, str], field: str) -> list[SchemaError]:
    """Return what is wrong with annotations: keys regardless of case, and the size of all together."""
    found = [errors.invalid(field, key, problem) for key in annotations for problem in explain_label_key(key.lower())]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > ANNOTATION_SIZE_LIMIT:
        found.append(errors.too_long(field, ANNOTATION_SIZE_LIMIT))
    return found


def check_label_name(name: str, field: str) -> list[SchemaError]:
    """Return what is wrong with a single label key or another qualified name."""
    return [errors.invalid(field, name, problem) for problem in explain_label_key(name)]


def check_domain_prefixed_path(path: str, field: str) -> list[SchemaError]:
    """Return what is wrong with the name of a controller or a gate, such as `example.com/name`; at most 63 bytes."""
    domain, _, rest = path.partition("/")
    if not domain or not rest:
        return [errors.invalid(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    found = [errors.invalid(field, domain, problem) for problem in explain_name(domain, NameFormat.SUBDOMAIN)]
    if _URL_PATH.fullmatch(rest) is None:
        found.append(errors.invalid(field, rest, f"Invalid path (regex used for validation is '{_URL_PATH.pattern}')"))
    if len(path) > 63:
        found.append(errors.too_long(field, 63))
    return found


def _check_identity(kind: ServedKind, metadata: Mapping[str, Any]) -> list[SchemaError]:
    found: list[SchemaError] = []
    prefix, name = metadata.get("generateName") or "", metadata.get("name") or ""
    if prefix:
        problems = explain_name(prefix, kind.name_format, is_prefix=True)
        found.extend(errors.invalid("metadata.generateName", prefix, problem) for problem in problems)
    if not name:
        found.append(errors.required("metadata.name", "name or generateName is required"))
    else:
        found.extend(errors.invalid("metadata.name", name, problem) for problem in explain_name(name, kind.name_format))
    namespace = metadata.get("namespace") or ""
    if kind.namespaced and not namespace:
        found.append(errors.required("metadata.namespace"))
    elif kind.namespaced:
        problems = explain_name(namespace, NameFormat.LABEL)
        found.extend(errors.invalid("metadata.namespace", namespace, problem) for problem in problems)
    elif namespace:
        found.append(errors.forbidden("metadata.namespace", "not allowed on this type"))
    return found


def _check_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[SchemaError]:
    found: list[SchemaError] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            names = ", ".join(errors.render(name) for name in added)
            found.append(
                errors.forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{names}}}",
                )
            )
    found.extend(
        errors.invalid(f"metadata.{field}", new.get(field), errors.FIELD_IS_IMMUTABLE)
        for field in _IMMUTABLE
        if new.get(field) != old.get(field)
    )
    return found


def _check_owners(references: Sequence[Mapping[str, Any]]) -> list[SchemaError]:
    field = "metadata.ownerReferences"
    found: list[SchemaError] = []
    controller = ""
    for reference in references:
        found.extend(_check_owner(reference, field))
        if reference.get("controller"):
            current = f"{reference.get('kind')}/{reference.get('name')}"
            if controller:
                complaint = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {current}'
                )
                found.append(errors.invalid(field, list(references), complaint))
            controller = controller or current
    return found


def _check_owner(reference: Mapping[str, Any], field: str) -> list[SchemaError]:
    found: list[SchemaError] = []
    api_version = reference.get("apiVersion") or ""
    if not api_version or api_version.count("/") > 1 or api_version.endswith("/"):
        found.append(errors.invalid(f"{field}.apiVersion", api_version, "version must not be empty"))
    found.extend(
        errors.invalid(f"{field}.{part}", "", "must not be empty")
        for part in ("kind", "name", "uid")
        if not reference.get(part)
    )
    if api_version == "v1" and reference.get("kind") == "Event":
        found.append(errors.invalid(field, dict(reference), "/v1, Kind=Event is disallowed from being an owner"))
    return found


def _check_finalizers(finalizers: Sequence[str]) -> list[SchemaError]:
    field = "metadata.finalizers"
    found = [error for finalizer in finalizers for error in check_label_name(finalizer, field)]
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        complaint = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        found.append(errors.invalid(field, list(finalizers), complaint))
    return found
