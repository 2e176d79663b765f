"""How much of one cluster is held in memory: how many objects, and what their JSON weighs, over all kinds of a client.

The cluster decides how many objects it returns. One that returns far more than expected is broken or hostile,
and is rejected before it exhausts the memory.
Invariant: what the shares hold together never exceeds the limits that were in force when something was added.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from config.api.meta import ObjectKey
from workerclient.base.errors import Operation, Overfull


def too_many_objects(limit: int) -> str:
    """Say that a cluster has more objects than may be cached."""
    return f"the cluster has more than {limit} objects, which is the limit"


def too_many_bytes(limit: int) -> str:
    """Say that a cluster's objects are larger than what may be cached."""
    return f"the cluster's objects have more than {limit} bytes in total, which is the limit"


@dataclass(frozen=True, slots=True)
class HoldingLimits:
    """The most that is held of one cluster."""

    objects: int
    bytes: int


def unlimited() -> None:
    """Hold whatever a cluster returns: it is trusted."""


class Holdings:
    """What all kinds of one client hold together; without limits nothing is too much."""

    def __init__(self, limits: Callable[[], HoldingLimits | None]) -> None:
        self._limits = limits
        self._shares: list[Share] = []

    def share(self) -> "Share":
        """Return the part of one more kind."""
        made = Share(self)
        self._shares.append(made)
        return made

    def check(self, operation: Operation, replaced: "Share", objects: int, size: int) -> None:
        """Raise `Overfull` if this many objects in so many bytes, in place of one share, make it too much."""
        limits = self._limits()
        if limits is None:
            return
        others = [share for share in self._shares if share is not replaced]
        objects += sum(len(share.sizes) for share in others)
        size += sum(share.bytes for share in others)
        if objects > limits.objects:
            raise Overfull(operation, too_many_objects(limits.objects))
        if size > limits.bytes:
            raise Overfull(operation, too_many_bytes(limits.bytes))


@dataclass(slots=True)
class Share:
    """What one kind holds."""

    _holdings: Holdings
    _in_place_of: "Share | None" = None
    sizes: dict[ObjectKey, int] = field(default_factory=dict)
    bytes: int = 0

    def put(self, operation: Operation, key: ObjectKey, size: int) -> None:
        """Take note of an object of that size, or raise `Overfull`."""
        grown = self.bytes + size - self.sizes.get(key, 0)
        objects = len(self.sizes) + (key not in self.sizes)
        self._holdings.check(operation, self._in_place_of or self, objects, grown)
        self.sizes[key] = size
        self.bytes = grown

    def remove(self, key: ObjectKey) -> None:
        """Take note that an object is gone."""
        self.bytes -= self.sizes.pop(key, 0)

    def begin_list(self) -> "Share":
        """Return what a list on its way is counted in; until it is complete, what is held stays."""
        return Share(self._holdings, self)

    def finish_list(self, listed: "Share") -> None:
        """Hold what a complete list held."""
        self.sizes, self.bytes = listed.sizes, listed.bytes
