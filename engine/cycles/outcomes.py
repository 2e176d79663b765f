"""All the ways through what Kueue leaves to chance.

Something that has to pick among equals asks a `Choices` object. Trying it again with every other answer gives all
possible outcomes; equal outcomes count once, so that a tie that decides nothing is no ambiguity.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

from engine.search.ties import Choices

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcomes(Generic[T]):
    """Distinct outcomes, the first being the one that comes of always picking the first."""

    possible: tuple[T, ...]
    is_exhaustive: bool


def explore(attempt: Callable[[Choices], T], limit: int, *, sample: int | None = None) -> Outcomes[T]:
    """Try all ways through the ties that `attempt` meets, at most `limit` of them.

    `attempt` must leave no trace and depend on nothing but its choices. With `sample`, where the first attempt shows
    that there are more ways than the limit, only so many are tried: if not all, a few are as good as many.
    """
    distinct: list[T] = []
    scripts: list[tuple[int, ...]] = [()]
    tried = 0
    while scripts and tried < limit:
        script = scripts.pop()
        choices = Choices(script)
        outcome = attempt(choices)
        tried += 1
        if outcome not in distinct:
            distinct.append(outcome)
        scripts.extend(choices.other_ways(len(script)))
        if sample is not None and tried == 1 and prod(choices.options) > limit:
            limit = min(limit, sample)
    return Outcomes(tuple(distinct), not scripts)
