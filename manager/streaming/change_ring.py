"""The last changes of all rows, in order and in bounded memory; a viewer is a position in it."""

from collections import deque
from typing import Final, NamedTuple

_MOST_CHANGES: Final = 20_000
_MOST_BYTES: Final = 8 << 20


class RowChange(NamedTuple):
    """A row that is new, has changed, or is gone (`row` is None)."""

    number: int
    topic: str
    key: str
    row: bytes | None

    @property
    def size(self) -> int:
        """Return about how much memory it takes."""
        return len(self.key) + len(self.row or b"")


class ChangeRing:
    """Numbers changes from 1 on; the oldest make room for new ones."""

    def __init__(self, most: int = _MOST_CHANGES, most_bytes: int = _MOST_BYTES) -> None:
        self._changes: deque[RowChange] = deque()
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        self.last = 0
        """The number of the newest change."""

    def append(self, topic: str, key: str, row: bytes | None) -> None:
        """Take a change."""
        self.last += 1
        change = RowChange(self.last, topic, key, row)
        self._changes.append(change)
        self._bytes += change.size
        while len(self._changes) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._changes.popleft().size

    def holds_all_after(self, number: int) -> bool:
        """Tell whether nothing that followed a change has been lost."""
        return self.last - len(self._changes) <= number <= self.last

    def after(self, number: int, topics: frozenset[str]) -> list[RowChange]:
        """Return the newest change of each row of these topics since then, in order."""
        found: dict[tuple[str, str], RowChange] = {}
        for change in reversed(self._changes):
            if change.number <= number:
                break
            if change.topic in topics:
                found.setdefault((change.topic, change.key), change)
        return list(reversed(found.values()))
