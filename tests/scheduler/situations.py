"""Scenarios by profile and seed, as the line protocol has them."""

from collections.abc import Callable, Iterator
from random import Random

from tests.differential.dice import dice
from tests.support.builders import Json
from tests.support.odd_pod_situations import odd_situation
from tests.support.pod_situations import Situation, random_situation

PROFILES: dict[str, Callable[[Random], Situation]] = {"plain": random_situation, "odd": odd_situation}


def scenario(profile: str, seed: int) -> Json:
    """Return the scenario of one seed."""
    situation = PROFILES[profile](dice(profile, seed))
    return {"name": f"{profile}/{seed}", "tags": [profile], "input": situation.as_input}


def many(profile: str, first_seed: int, count: int) -> Iterator[Json]:
    """Yield the scenarios of consecutive seeds."""
    return (scenario(profile, first_seed + number) for number in range(count))
