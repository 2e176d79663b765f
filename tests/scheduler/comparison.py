"""Does the engine list exactly what real kube-scheduler does?

Every outcome that the scheduler shows must be listed. The converse takes patience: a rare branch of a tie may not show
in a few runs, so what is listed but not seen is asked again with many more.
"""

import json
from collections import Counter
from collections.abc import Iterable

from tests.support.builders import Json

Answer = frozenset[str]


def answer(outcomes: Iterable[Json], release: str, *, is_order_open: bool = False) -> Answer:
    """Return a set of outcomes in a form that can be compared.

    1.36 takes members in an order of chance, and any release may where `is_order_open`: then it only counts how many
    of them are where.
    """
    counts = is_order_open or release == "1.36"
    return frozenset(_written(outcome, counts=counts) for outcome in outcomes)


def _written(outcome: Json, *, counts: bool) -> str:
    places = [_places(outcome.get(field) or {}, counts=counts) for field in ("nominated", "bound")]
    return json.dumps([outcome["result"], sorted(outcome.get("victims") or ()), *places])


def _places(pods: dict[str, str], *, counts: bool) -> list[tuple[str, str | int]]:
    return sorted(Counter(pods.values()).items() if counts else pods.items())


def is_complete(line: Json, release: str) -> bool:
    """Return whether the engine says that it lists everything; it gives up where ties of many kinds multiply."""
    return bool(line["expect"][release].get("complete", True))


def outcomes_of(line: Json, release: str) -> list[Json]:
    """Return the outcomes of one line of answer, or fail with what it says instead."""
    if "expect" not in line:
        raise AssertionError(f"{line.get('name')} has no answer: {json.dumps(line)}")
    outcomes: list[Json] = line["expect"][release]["outcomes"]
    return outcomes
