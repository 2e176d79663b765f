"""The orders in which unlike pods may come to their cycles: Kubernetes guarantees none."""

from collections.abc import Iterator, Sequence
from math import comb
from typing import Final, TypeVar

T = TypeVar("T")

MOST_ORDERS: Final = 24


def possible_orders(alike: Sequence[Sequence[T]]) -> tuple[list[tuple[T, ...]], bool]:
    """Return the orders in which these may come, and whether these are all; those that are alike keep theirs."""
    if _number_of_orders([len(each) for each in alike]) <= MOST_ORDERS:
        return list(_interleaved([tuple(each) for each in alike])), True
    first = tuple(each for those in alike for each in those)
    return [first, tuple(each for those in reversed(alike) for each in those)], False


def _number_of_orders(sizes: Sequence[int]) -> int:
    number, total = 1, 0
    for size in sizes:
        total += size
        number *= comb(total, size)
    return number


def _interleaved(alike: Sequence[tuple[T, ...]]) -> Iterator[tuple[T, ...]]:
    waiting = [each for each in alike if each]
    if not waiting:
        yield ()
    for index, (first, *rest) in enumerate(waiting):
        others = [*waiting]
        others[index] = tuple(rest)
        for order in _interleaved(others):
            yield (first, *order)
