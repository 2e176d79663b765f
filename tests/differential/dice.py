"""Seeded choices for scenario generation: equal seeds give equal scenarios."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Dice(Random):
    """The draws that generators need, by the words they use."""

    #: How many times as often as usual the unusual happens.
    oddness: float = 1

    def chance(self, probability: float) -> bool:
        """Return True that often."""
        return self.random() < probability

    def rarely(self, probability: float) -> bool:
        """Return True that often in an ordinary scenario, and more often in an odd one."""
        return self.random() < probability * self.oddness

    def weighted(self, weights: Mapping[T, float]) -> T:
        """Return one of the keys, in proportion to its weight."""
        return self.choices(list(weights), list(weights.values()))[0]

    def some(self, items: Sequence[T]) -> list[T]:
        """Return a random, non-empty part of the items, in random order."""
        return self.sample(items, self.randint(1, len(items)))


def dice(*seed: object, oddness: float = 1) -> Dice:
    """Return the dice of one seed."""
    dice = Dice("/".join(map(str, seed)))
    dice.oddness = oddness
    return dice
