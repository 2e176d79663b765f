"""Equal values kept once, and no longer than they are held.

Pods of one template differ in little but their names; a cluster's worth of them should not hold the rest as often as
there are pods, nor hold on to what the last of them took away.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedValues(Generic[T]):
    """Counts the holders of each distinct value."""

    __slots__ = ("_held", "_identify")

    def __init__(self, identify: Callable[[T], Hashable]) -> None:
        """Values are the same when `identify` returns the same for them."""
        self._identify = identify
        self._held: dict[Hashable, tuple[T, int]] = {}

    def take(self, value: T) -> T:
        """Return the one instance of this value and count a holder."""
        identity = self._identify(value)
        kept, holders = self._held.get(identity, (value, 0))
        self._held[identity] = (kept, holders + 1)
        return kept

    def drop(self, value: T) -> None:
        """Count a holder less, and forget the value with its last."""
        identity = self._identify(value)
        kept, holders = self._held[identity]
        if holders > 1:
            self._held[identity] = (kept, holders - 1)
        else:
            del self._held[identity]

    def find(self, value: T) -> T:
        """Return the one instance of this value if it is held, else the value itself; no holder is counted."""
        return self._held.get(self._identify(value), (value, 0))[0]

    def copy(self) -> "SharedValues[T]":
        """Return an independent count of the same values."""
        twin = SharedValues(self._identify)
        twin._held = self._held.copy()
        return twin

    def __len__(self) -> int:
        """Return how many distinct values are held."""
        return len(self._held)
