"""What the local API server knows about one kind: its names, schema, columns and rules.

A kind is data. The server asks it to default, prune and validate; it never branches on a kind's name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from localcluster.schema import FieldError, Schema

Obj = dict[str, Any]
"""A raw Kubernetes object as decoded JSON."""

Rule = Callable[[Obj, Obj | None], Sequence[FieldError]]
"""Cross-field validation: (new object, stored object or None on create) → errors."""


def no_rule(_new: Obj, _old: Obj | None) -> Sequence[FieldError]:
    """Accept everything that the schema accepts."""
    return ()


def no_defaults(_obj: Obj) -> None:
    """Leave the object as the schema's own defaults made it."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of `kubectl get`; priority 0 is always shown, 1 only with `-o wide`."""

    name: str
    type: str
    value: Callable[[Obj], object]
    priority: int = 0
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A served kind. `validate` sees writes of the main resource, `validate_status` those of /status."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    schema: Schema
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    has_status: bool = False
    columns: tuple[Column, ...] = ()
    selectable_fields: Mapping[str, Callable[[Obj], str]] | None = None
    """Field selectors beyond metadata.name and metadata.namespace: path → value of the object."""
    set_defaults: Callable[[Obj], None] = no_defaults
    """Mutating defaults that a schema cannot express (webhooks, strategies); runs after schema defaults."""
    validate: Rule = no_rule
    validate_status: Rule = no_rule

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`: the core group has no prefix."""
        return f"{self.group}/{self.version}" if self.group else self.version
