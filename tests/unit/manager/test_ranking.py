"""Which Workloads a live view shows first."""

import pytest

from config.api.meta import ObjectKey
from manager.serving.ranking import RankedWorkload, RankRequest, WorkloadOrder, ranked

KNOWN = [
    RankedWorkload(ObjectKey("a", "runs"), "Admitted", 900, 1),
    RankedWorkload(ObjectKey("a", "old"), "Pending", 0, 2),
    RankedWorkload(ObjectKey("b", "new"), "Queued", 0, 9),
    RankedWorkload(ObjectKey("b", "urgent"), "Pending", 100, 8),
]
CASES: dict[str, tuple[RankRequest, list[str], int]] = {
    "waiting first, by priority, then by age": (RankRequest(), ["urgent", "old", "new", "runs"], 4),
    "by age": (RankRequest(order=WorkloadOrder.AGE), ["runs", "old", "urgent", "new"], 4),
    "by name": (RankRequest(order=WorkloadOrder.NAME), ["old", "runs", "new", "urgent"], 4),
    "of one namespace": (RankRequest(namespace="b"), ["urgent", "new"], 2),
    "by a part of the name": (RankRequest(contains="b/u"), ["urgent"], 1),
    "no more than asked for": (RankRequest(limit=1), ["urgent"], 4),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_of_an_order(case: str) -> None:
    asked, names, total = CASES[case]
    found = ranked(KNOWN, asked)
    assert ([each.key.name for each in found.first], found.total) == (names, total)
    assert sum(found.phases.values()) == total
