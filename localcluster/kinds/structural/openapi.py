"""A schema as OpenAPI v3, with the x-kubernetes extensions that kubectl and server-side apply read."""

from typing import Any

from localcluster.kinds.structural.scalars import QUANTITY_PATTERN
from localcluster.kinds.structural.types import Schema

_LIMITS = {
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "max_properties": "maxProperties",
    "minimum": "minimum",
    "maximum": "maximum",
}


def to_openapi(schema: Schema) -> dict[str, Any]:
    """Describe the schema as an OpenAPI v3 schema object."""
    described = _describe_type(schema)
    if schema.properties:
        described["properties"] = {key: to_openapi(child) for key, child in schema.properties.items()}
    if schema.required:
        described["required"] = list(schema.required)
    if schema.values is not None:
        described["additionalProperties"] = to_openapi(schema.values)
    if schema.type == "array":
        described |= _describe_list(schema)
    if schema.is_atomic:
        described["x-kubernetes-map-type"] = "atomic"
    if schema.preserve_unknown:
        described["x-kubernetes-preserve-unknown-fields"] = True
    if schema.nullable:
        described["nullable"] = True
    if schema.default is not None:
        described["default"] = schema.default
    if schema.enum:
        described["enum"] = list(schema.enum)
    if schema.pattern:
        described["pattern"] = schema.pattern
    if schema.format:
        described["format"] = schema.format
    return described | {name: limit for field, name in _LIMITS.items() if (limit := getattr(schema, field)) is not None}


def _describe_type(schema: Schema) -> dict[str, Any]:
    match schema.type:
        case "any":
            return {}
        case "quantity":
            return _int_or_string() | {"pattern": QUANTITY_PATTERN}
        case "int-or-string":
            return _int_or_string()
        case _:
            return {"type": schema.type}


def _int_or_string() -> dict[str, Any]:
    return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}


def _describe_list(schema: Schema) -> dict[str, Any]:
    described: dict[str, Any] = {
        "items": to_openapi(schema.items) if schema.items is not None else {},
        "x-kubernetes-list-type": schema.list_type,
    }
    if schema.list_keys:
        described["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    return described
