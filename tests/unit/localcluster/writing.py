"""Writes as a server makes them, without a server: the steps that `ServedKind` documents, in their order."""

from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from config.api.meta import Obj
from localcluster.catalogue.registry import all_kinds
from localcluster.kinds.kinds import ServedKind
from localcluster.kinds.metadata import validate_metadata
from localcluster.kinds.schema import SchemaError, apply_defaults, prune, validate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a write: the object as it would be stored, and why it is refused."""

    obj: Obj
    dropped: list[str]
    errors: list[SchemaError]
    denial: str | None

    @property
    def complaints(self) -> list[str]:
        """Return the errors as `field: message`, or the denial."""
        if self.denial is not None:
            return [self.denial]
        return [f"{error.field}: {error.message}" for error in self.errors]


def find_kind(name: str, group: str | None = None, version: str | None = None) -> ServedKind:
    """Return the served kind of this name."""
    return next(
        kind
        for kind in all_kinds()
        if kind.kind == name and group in (None, kind.group) and version in (None, kind.version)
    )


def as_received(obj: Obj) -> Obj:
    """Return the object as a server decodes it, sharing nothing with the original."""
    decoded: Obj = orjson.loads(orjson.dumps(obj))
    return decoded


def write(
    kind: ServedKind, obj: Obj, stored: Obj | None = None, *, status: bool = False, others: Iterable[Obj] = ()
) -> Outcome:
    """Create the object, or with `stored` update it or its status."""
    new = as_received(obj)
    if kind.namespaced:
        new.setdefault("metadata", {}).setdefault("namespace", "default")
    dropped = prune(kind.schema, new)
    apply_defaults(kind.schema, new)
    if not status:
        kind.set_defaults(new)
    if stored is None:
        if kind.has_status:
            new.pop("status", None)
        new["metadata"].setdefault("uid", "11111111-2222-3333-4444-555555555555")
        kind.prepare_create(new)
    denial = kind.admit(new, stored, lambda _group, _plural: others)
    errors: list[SchemaError] = []
    if denial is None:
        errors = [*validate_metadata(kind, new, stored), *validate(kind.schema, new, stored)]
        errors = errors or [*(kind.validate_status if status else kind.validate)(new, stored)]
    if denial is None and not errors and kind.webhook is not None and (kind.webhook.sees_status or not status):
        denial = kind.webhook.denial(new, stored)
    return Outcome(new, dropped, errors, denial)
