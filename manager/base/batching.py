"""Long work in small pieces, between which other things go on."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield items in pieces."""
    rest = iter(items)
    while piece := list(islice(rest, size)):
        yield piece
