"""Words for writing schemas down, so that a kind's definition reads like a table of its fields."""

from collections.abc import Mapping
from typing import Any

from localcluster.kinds.structural.types import Schema, SchemaRule

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUALIFIED_NAME = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)


def obj(
    fields: Mapping[str, Schema],
    *,
    required: tuple[str, ...] = (),
    open_ended: bool = False,
    atomic: bool = False,
    default: Any = None,
    invariants: tuple[SchemaRule, ...] = (),
) -> Schema:
    """Describe an object by its fields; an open-ended one keeps fields that are not listed."""
    return Schema(
        "object",
        properties=fields,
        required=required,
        preserve_unknown=open_ended,
        is_atomic=atomic,
        default=default,
        invariants=invariants,
    )


def preserved() -> Schema:
    """Describe an object of which nothing is known and everything is kept."""
    return Schema("object", preserve_unknown=True)


def anything() -> Schema:
    """Describe a value of any type."""
    return Schema("any", preserve_unknown=True)


def map_of(values: Schema, *, most: int | None = None, atomic: bool = False) -> Schema:
    """Describe a map with free keys."""
    return Schema("object", values=values, max_properties=most, is_atomic=atomic)


def list_of(
    items: Schema,
    *,
    keys: tuple[str, ...] = (),
    unique: bool = False,
    least: int | None = None,
    most: int | None = None,
    invariants: tuple[SchemaRule, ...] = (),
) -> Schema:
    """Describe a list: keyed entries merge by key, unique ones form a set, otherwise the list is one value."""
    list_type = "map" if keys else "set" if unique else "atomic"
    return Schema(
        "array",
        items=items,
        list_type=list_type,
        list_keys=keys,
        min_items=least,
        max_items=most,
        invariants=invariants,
    )


def string(
    *,
    pattern: str = "",
    least: int | None = None,
    most: int | None = None,
    default: str | None = None,
    invariants: tuple[SchemaRule, ...] = (),
) -> Schema:
    """Describe text with limits on its length."""
    return Schema("string", pattern=pattern, min_length=least, max_length=most, default=default, invariants=invariants)


def one_of(*choices: str, default: str | None = None) -> Schema:
    """Describe a closed set of strings."""
    return Schema("string", enum=choices, default=default)


def subdomain(*, least: int | None = None) -> Schema:
    """Describe the name of an object: a DNS subdomain."""
    return string(pattern=DNS_SUBDOMAIN, least=least, most=253)


def timestamp() -> Schema:
    """Describe a point in time, RFC 3339."""
    return Schema("string", format="date-time")


def boolean(*, default: bool | None = None) -> Schema:
    """Describe true or false."""
    return Schema("boolean", default=default)


def int32(*, least: int | None = None, most: int | None = None, default: int | None = None) -> Schema:
    """Describe a 32-bit number."""
    return Schema("integer", format="int32", minimum=least, maximum=most, default=default)


def int64(*, least: int | None = None, default: int | None = None) -> Schema:
    """Describe a 64-bit number."""
    return Schema("integer", format="int64", minimum=least, default=default)


def quantity(*, default: int | None = None) -> Schema:
    """Describe an amount of a resource, such as 500m or 1Gi."""
    return Schema("quantity", default=default)


def int_or_string() -> Schema:
    """Describe a number or a string, such as a percentage."""
    return Schema("int-or-string")
