"""What a client says about a write beside the object, and what it is answered."""

from dataclasses import dataclass

from localcluster.store.admission import FieldValidation
from localcluster.store.ledger import Version


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a client says about a write beside the object itself."""

    manager: str = "localcluster"
    dry_run: bool = False
    field_validation: FieldValidation = FieldValidation.WARN
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write; `version` of a dry run was never stored."""

    version: Version
    created: bool = False
    warnings: tuple[str, ...] = ()
