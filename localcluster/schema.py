"""Structural schemas: what a kind's fields are, and pruning, defaulting and validation by them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Cause(StrEnum):
    """Reasons that Kubernetes gives in `status.details.causes[].reason`."""

    REQUIRED = "FieldValueRequired"
    INVALID = "FieldValueInvalid"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    DUPLICATE = "FieldValueDuplicate"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"
    TYPE_INVALID = "FieldValueTypeInvalid"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation error; `message` reads as the API server prints it after the field path."""

    cause: Cause
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A node of a structural schema.

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
    minimum: int | None = None
    maximum: int | None = None
