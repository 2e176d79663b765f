"""What a composition wants to know of one kind: which objects, in which form, and what to call on changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from config.api.meta import Obj, ObjectKey
from workerclient.base.errors import excerpt
from workerclient.base.kind import ApiKind
from workerclient.objects.cache import Index, Unreadable
from workerclient.wire import codec
from workerclient.wire.codec import Identity

Value = TypeVar("Value")


def ignore_change(_key: ObjectKey) -> None:
    """Take no interest in changes."""


@dataclass(frozen=True, slots=True)
class WatchedKind(Generic[Value]):
    """One kind to keep a cache of."""

    kind: ApiKind
    project: Callable[[Obj], Value]
    """Makes the value to keep, holding no more than is needed; raises `ValueError` for what it cannot read."""
    label_selector: str = ""
    """Our own writes are put into the cache as they are: write only objects that this selects."""
    namespace: str = ""
    most_values: int | None = None
    """An object that holds more of them is kept as unreadable, where projecting each of them takes time."""
    required: bool = True
    """Without a required kind the cluster does not count as connected; others may be missing on a cluster."""
    indexes: Mapping[str, Index[Value]] = field(default_factory=dict)
    on_change: Callable[[ObjectKey], None] = ignore_change
    """Called after a watch or a list changed the cache; must return quickly. Our own writes are not reported, unless
    the watch was faster than the answer."""

    def read(self, identity: Identity, raw: Obj, size: int | None = None) -> Value | Unreadable:
        """Return the value to keep; an object that cannot be read, or not be indexed, is kept as such.

        `size` is that of the JSON that the object came in, if known; more may have come with it.
        """
        try:
            self._check_extent(raw, size)
            value = self.project(raw)
            for index in self.indexes.values():
                frozenset(index(value))
        except ValueError as error:
            return Unreadable(identity, excerpt(str(error)))
        except Exception as error:  # noqa: BLE001 - whatever an object provokes, it must not end the connection
            return Unreadable(identity, excerpt(f"it has an unexpected structure: {type(error).__name__}: {error}"))
        return value

    def _check_extent(self, raw: Obj, size: int | None) -> None:
        if self.most_values is None or (size is not None and size <= self.most_values):
            return
        metadata = {name: value for name, value in raw["metadata"].items() if name != "managedFields"}
        if codec.values_in(codec.encode({**raw, "metadata": metadata})) > self.most_values:
            raise ValueError(f"it holds more than {self.most_values} values")
