"""What the local API server knows about one kind: its names, schema, columns and rules.

A kind is data. The server asks it to default, prune and validate; it never branches on a kind's name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from config.api.meta import Obj
from localcluster.kinds.names import NameFormat
from localcluster.kinds.schema import Schema, SchemaError

Rule = Callable[[Obj, Obj | None], Sequence[SchemaError]]
"""Cross-field validation: (new object, stored object or None on create) → errors.

A rule may rely on an object that its schema accepts: ask it only when the schema had no objection.
"""

Lookup = Callable[[str, str], Iterable[Obj]]
"""Stored objects of a cluster-scoped kind, by group and plural: (group, plural) → objects."""

Admission = Callable[[Obj, Obj | None, Lookup], str | None]
"""Admission that reads other objects: may fill in fields of the new object; returns why the write is forbidden."""


def no_rule(_new: Obj, _old: Obj | None) -> Sequence[SchemaError]:
    """Accept everything that the schema accepts."""
    return ()


def no_defaults(_obj: Obj) -> None:
    """Leave the object as the schema's own defaults made it."""


def admit_all(_new: Obj, _old: Obj | None, _lookup: Lookup) -> str | None:
    """Let every write pass."""
    return None


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """One column of `kubectl get`; priority 0 is always shown, 1 only with `-o wide`.

    The server puts NAME first unless the kind has a column `Name` of its own. In a column of type `date` it prints the
    time since a timestamp, and any other value as it is.
    """

    name: str
    type: str
    value: Callable[[Obj], object]
    priority: int = 0
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Validation by a component beside the API server: it is asked last and refuses with 403, not with 422."""

    name: str
    rule: Rule
    sees_status: bool = False
    """Whether writes of /status pass here too."""

    def denial(self, new: Obj, old: Obj | None) -> str | None:
        """Return the message of the 403 answer, None if the write may pass."""
        found = [f"{error.field}: {error.message}" for error in self.rule(new, old)]
        if not found:
            return None
        reasons = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        return f'admission webhook "{self.name}" denied the request: {reasons}'


@dataclass(frozen=True, slots=True)
class Alias:
    """A second spelling of a stored kind: objects are kept as the other kind and translated on the way in and out."""

    group: str
    version: str
    plural: str
    to_stored: Callable[[Obj], Obj]
    from_stored: Callable[[Obj], Obj]


@dataclass(frozen=True, slots=True)
class ServedKind:
    """A served kind. `validate` sees writes of the main resource, `validate_status` those of /status.

    A write passes these steps: prune and default by the schema, `set_defaults`, on create `prepare_create`, `admit`
    (403), metadata and schema and `validate` or `validate_status` (422), `webhook` (403).
    """

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
    columns: tuple[PrinterColumn, ...] = ()
    selectable_fields: Mapping[str, Callable[[Obj], str]] | None = None
    """Field selectors beyond metadata.name and metadata.namespace: path → value of the object."""
    set_defaults: Callable[[Obj], None] = no_defaults
    """Defaults that a schema cannot express; they run on every write, after the schema's own."""
    prepare_create: Callable[[Obj], None] = no_defaults
    """What happens only to a new object, once it has its name and uid and has lost the client's status."""
    admit: Admission = admit_all
    validate: Rule = no_rule
    validate_status: Rule = no_rule
    webhook: Webhook | None = None
    name_format: NameFormat = NameFormat.SUBDOMAIN
    alias: Alias | None = None

    @property
    def api_version(self) -> str:
        """Return the value of `apiVersion`: the core group has no prefix."""
        return f"{self.group}/{self.version}" if self.group else self.version
