"""What a composition wants to know of one kind: which objects, in which form, and whom to tell about changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from workerclient.cache import Index, Unreadable
from workerclient.codec import Identity, Raw
from workerclient.errors import printable
from workerclient.kind import ApiKind, Key

Value = TypeVar("Value")

_SHAPE_ERRORS: Final = (ArithmeticError, AttributeError, LookupError, TypeError)
"""What an object of unforeseen shape can provoke in a projection; no such object may end the connection."""


def tell_nobody(_key: Key) -> None:
    """Take no interest in changes."""


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[Value]):
    """One kind to keep a cache of."""

    kind: ApiKind
    project: Callable[[Raw], Value]
    """Makes the value to keep, holding no more than is needed; raises `ValueError` for what it cannot read."""
    label_selector: str = ""
    """Our own writes are put into the cache as they are: write only objects that this selects."""
    namespace: str = ""
    required: bool = True
    """Without a required kind the cluster does not count as connected; others may be missing on a cluster."""
    indexes: Mapping[str, Index[Value]] = field(default_factory=dict)
    on_change: Callable[[Key], None] = tell_nobody
    """Called after a watch or a list changed the cache, and must return quickly. Our own writes are not told, unless
    the watch was faster than the answer."""

    def read(self, identity: Identity, raw: Raw) -> Value | Unreadable:
        """Return the value to keep; an object that makes no sense is kept as such."""
        try:
            return self.project(raw)
        except ValueError as error:
            return Unreadable(identity, printable(str(error)))
        except _SHAPE_ERRORS as error:
            return Unreadable(identity, printable(f"it has an unforeseen shape: {type(error).__name__}: {error}"))
