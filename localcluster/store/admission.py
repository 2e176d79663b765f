"""What happens to an object between decoding and storing: pruned, defaulted, validated.

In this order, because defaults may fill what validation requires, and rules may rely on what the schema accepts.
"""

from enum import StrEnum
from functools import cache

from config.api.meta import Obj
from localcluster.kinds.api_errors import ApiError, bad_request, invalid, quoted
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.metadata import validate_metadata
from localcluster.kinds.schema import Cause, Schema, SchemaError, apply_defaults, prune, validate
from localcluster.kinds.structural import errors
from localcluster.kinds.traits import is_builtin
from localcluster.store.object_meta import METADATA, finalizer_warnings


class FieldValidation(StrEnum):
    """What to do about fields that a kind does not have."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


@cache
def _status_schema(schema: Schema) -> Schema:
    """Return the part of a schema that a write of /status has to satisfy: all else was checked when it was stored."""
    status = {field: child for field, child in schema.properties.items() if field == "status"}
    return Schema("object", properties=status, preserve_unknown=True, invariants=schema.invariants)


def _schema_for(kind: ServedKind, subresource: str) -> Schema:
    return _status_schema(kind.schema) if subresource == "status" else kind.schema


def prune_unknown(
    kind: ServedKind, obj: Obj, policy: FieldValidation, subresource: str = "", patch: str | None = None
) -> list[str]:
    """Drop fields that the kind does not have; return warnings, or refuse under the strict policy.

    The strict refusal of a patch is worded differently from that of an object, so `patch` is its text.
    """
    dropped = _prune(_schema_for(kind, subresource), obj)
    if not dropped or policy is FieldValidation.IGNORE:
        return []
    complaints = [f"unknown field {quoted(path)}" for path in dropped]
    if policy is FieldValidation.WARN:
        return complaints
    why = f"strict decoding error: {', '.join(complaints)}"
    if patch is not None:
        raise invalid("", "", "", [errors.invalid("patch", patch, why)])
    raise undecodable(kind, why)


def undecodable(kind: ServedKind, why: str) -> ApiError:
    """Return the refusal of a body that is not of the kind it claims to be."""
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def _prune(schema: Schema, obj: Obj) -> list[str]:
    dropped = prune(schema, obj)
    meta = obj["metadata"]
    for field in [field for field in meta if field not in METADATA.properties]:
        del meta[field]
        dropped.append(f"metadata.{field}")
    return dropped


def refuse_undeclared(kind: ServedKind, configuration: Obj) -> None:
    """Refuse an applied configuration with fields that cannot be owned, and blame the server, as the real one does."""
    dropped = _prune(kind.schema, configuration)
    if dropped:
        meta = configuration["metadata"]
        subject = f"{meta.get('namespace', '')}/{meta.get('name', '')}; {kind.api_version}, Kind={kind.kind}"
        complaints = "\n".join(f".{path}: field not declared in schema" for path in dropped)
        raise ApiError(500, "", f"failed to create typed patch object ({subject}): {complaints}")


def fill_defaults(kind: ServedKind, obj: Obj, subresource: str = "") -> None:
    """Fill in what the client left out, first by the schema, then, in the main resource, by the kind's own habit."""
    apply_defaults(_schema_for(kind, subresource), obj)
    if not subresource:
        kind.set_defaults(obj)


def check(kind: ServedKind, new: Obj, old: Obj | None, subresource: str = "") -> None:
    """Refuse an object that breaks its schema, its kind's rules or its webhook."""
    found: list[SchemaError] = []
    if subresource != "status" or is_builtin(kind):
        # A custom resource's metadata cannot be written through /status, so it is as it was stored.
        found.extend(validate_metadata(kind, new, old))
    found.extend(validate(_schema_for(kind, subresource), new, old))
    if not found and subresource in ("", "status"):
        rule = kind.validate_status if subresource else kind.validate
        found.extend(rule(new, old))
    mistyped = next((error for error in found if error.cause is Cause.TYPE_INVALID), None)
    if mistyped is not None and is_builtin(kind):
        # A built-in kind does not get as far as validation: it cannot even be decoded.
        raise undecodable(kind, f"{mistyped.field}: {mistyped.message}")
    if found:
        raise invalid(kind.kind, kind.group, new["metadata"].get("name", ""), found)
    if kind.webhook is not None and (not subresource or kind.webhook.sees_status):
        denial = kind.webhook.denial(new, old)
        if denial is not None:
            raise ApiError(403, "Forbidden", denial)


def warnings_about(new: Obj, old: Obj | None) -> list[str]:
    """Return advice that does not stop the write."""
    if old is not None and new["metadata"].get("finalizers") == old["metadata"].get("finalizers"):
        return []
    return finalizer_warnings(new["metadata"])
