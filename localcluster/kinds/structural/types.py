"""The values that describe a schema and its violations; they hold no behaviour."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Cause(StrEnum):
    """Reasons that Kubernetes gives in `status.details.causes[].reason`."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    NOT_FOUND = "FieldValueNotFound"
    FORBIDDEN = "FieldValueForbidden"
    DUPLICATE = "FieldValueDuplicate"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"


@dataclass(frozen=True, slots=True)
class SchemaError:
    """One validation error; `message` reads as the API server prints it after the field path."""

    cause: Cause
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class SchemaRule:
    """A rule over one node's value, what CEL is to a CustomResourceDefinition.

    `holds` gets the value and, for a transition rule, the stored value of the same node. A transition rule is asked
    only when the node existed before.
    """

    message: str
    holds: Callable[[Any, Any], bool]
    is_transition: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A node of a structural schema; two nodes are equal only if they are the same node.

    `type` is one of object, array, string, integer, number, boolean, quantity, int-or-string, any. An object has
    either `properties` or `values` (a map). `list_type` is atomic, set or map (with `list_keys`), as server-side
    apply needs it.
    """

    type: str
    properties: Mapping[str, "Schema"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    values: "Schema | None" = None
    items: "Schema | None" = None
    list_type: str = "atomic"
    list_keys: tuple[str, ...] = ()
    is_atomic: bool = False
    """An object that server-side apply owns as a whole (x-kubernetes-map-type: atomic)."""
    preserve_unknown: bool = False
    nullable: bool = False
    default: Any = None
    enum: tuple[str, ...] = ()
    pattern: str = ""
    format: str = ""
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    max_properties: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    invariants: tuple[SchemaRule, ...] = ()
