"""How a cost gets to the Workload, and from there to Kueue's boost."""

from typing import Any

import pytest

from engine.cost.propagation import BRIDGED_BOOST, bridged_boost, copied_cost, has_foreign_boost
from tests.unit.engine.cost.cases import BOOST, COST, a_job, a_workload

COPIES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str | None]]] = {
    "R13 nothing to copy": ({}, {}, {}),
    "R13 missing": ({COST: "3"}, {"a": "b"}, {COST: "3"}),
    "R13 different": ({COST: "3"}, {COST: "2"}, {COST: "3"}),
    "R13 equal": ({COST: "3"}, {COST: "3"}, {}),
    "R13 removed from the Job": ({"a": "b"}, {COST: "3"}, {COST: None}),
}
BRIDGES: dict[str, tuple[dict[str, str], dict[str, str], dict[str, str | None]]] = {
    "no cost": ({}, {}, {}),
    "a cost of 0 needs no boost": ({COST: "0"}, {}, {}),
    "a cost": ({COST: "3"}, {}, {BOOST: "3", BRIDGED_BOOST: "3"}),
    "written in another way": ({COST: "+03"}, {}, {BOOST: "3", BRIDGED_BOOST: "3"}),
    "up to date": ({COST: "3"}, {BOOST: "3", BRIDGED_BOOST: "3"}, {}),
    "another cost": ({COST: "4"}, {BOOST: "3", BRIDGED_BOOST: "3"}, {BOOST: "4", BRIDGED_BOOST: "4"}),
    "no cost any more": ({}, {BOOST: "3", BRIDGED_BOOST: "3"}, {BOOST: None, BRIDGED_BOOST: None}),
    "an invalid cost": ({COST: "dear"}, {BOOST: "3", BRIDGED_BOOST: "3"}, {BOOST: None, BRIDGED_BOOST: None}),
    "another client's boost": ({COST: "3"}, {BOOST: "9"}, {}),
    "a boost that another client changed": ({COST: "3"}, {BOOST: "9", BRIDGED_BOOST: "3"}, {}),
    "a boost that another client removed": ({COST: "3"}, {BRIDGED_BOOST: "3"}, {BOOST: "3"}),
}


@pytest.mark.parametrize(("job", "workload", "want"), COPIES.values(), ids=COPIES)
def test_copies(job: dict[str, str], workload: dict[str, str], want: dict[str, Any]) -> None:
    assert copied_cost(job, workload) == want


@pytest.mark.parametrize(("job", "workload", "want"), BRIDGES.values(), ids=BRIDGES)
def test_bridge(job: dict[str, str], workload: dict[str, str], want: dict[str, Any]) -> None:
    assert bridged_boost(a_job(annotations=job), a_workload(annotations=workload)) == want


@pytest.mark.parametrize(("job", "workload", "want"), BRIDGES.values(), ids=BRIDGES)
def test_the_bridge_knows_its_own_work(job: dict[str, str], workload: dict[str, str], want: dict[str, Any]) -> None:
    after = {key: value for key, value in {**workload, **want}.items() if value is not None}
    assert bridged_boost(a_job(annotations=job), a_workload(annotations=after)) == {}
    assert has_foreign_boost(a_workload(annotations=after)) == (after.get(BOOST) == "9")
